// The fields that `indexed` and `staged` share: an object with `sections` and `items`, each with up to four lists.
// Lists, and objects, that would be empty are left out.

/// Writes one such object, list by list.
struct IndexLists {
    enum Group: Int {
        case sections, items

        var name: StaticString { self == .sections ? "\"sections\":{" : "\"items\":{" }
    }

    enum Operation: Int {
        case deleted, inserted, moved, updated

        var name: StaticString {
            switch self {
            case .deleted: "\"deleted\":["
            case .inserted: "\"inserted\":["
            case .moved: "\"moved\":["
            case .updated: "\"updated\":["
            }
        }
    }

    private var group: Group?
    private var operation: Operation?
    private var isEmpty: Bool

    /// `follows`: the object has other members already.
    init(follows: Bool) { isEmpty = !follows }

    /// Whether nothing was listed so far.
    var wroteNothing: Bool { group == nil }

    /// Starts the next element of a list; calls come in the order of groups and operations.
    mutating func next(_ group: Group, _ operation: Operation, _ writer: inout JSONWriter) {
        if self.group != group {
            close(&writer)
            if !isEmpty { writer.append(byte: UInt8(ascii: ",")) }
            isEmpty = false
            writer.append(group.name)
            writer.append(operation.name)
        } else if self.operation != operation {
            writer.append("],")
            writer.append(operation.name)
        } else {
            writer.append(byte: UInt8(ascii: ","))
        }
        (self.group, self.operation) = (group, operation)
    }

    /// Ends the list and the group that are open.
    mutating func close(_ writer: inout JSONWriter) {
        if group != nil { writer.append("]}") }
    }
}

extension JSONWriter {
    /// `[section,row]`.
    @inline(__always)
    mutating func append(path section: Int, _ row: Int) {
        append(byte: UInt8(ascii: "["))
        append(section)
        append(byte: UInt8(ascii: ","))
        append(row)
        append(byte: UInt8(ascii: "]"))
    }
}
