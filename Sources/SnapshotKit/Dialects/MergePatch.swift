// RFC 7396. A merge patch cannot say null, which means "remove" there, and replaces arrays as a whole; where a null would have to be
// said there is no lossless patch.

/// Appends the merge patch between two accepted values; false if there is none that is lossless, and then anything may have been
/// appended. O(n log n) in the members.
func appendMergePatch(
    from old: UnsafeRawBufferPointer, to new: UnsafeRawBufferPointer, into writer: inout JSONWriter
) -> Bool {
    var cursor = JSONCursor(new.baseAddress!)
    guard cursor.byte == UInt8(ascii: "{"), old.first == UInt8(ascii: "{") else { return false }
    return appendObjectPatch(from: JSONCursor(old.baseAddress!), to: &cursor, into: &writer)
}

private func appendObjectPatch(from old: JSONCursor, to new: inout JSONCursor, into writer: inout JSONWriter) -> Bool {
    var before = JSONMembers(old)
    writer.append(byte: UInt8(ascii: "{"))
    var list = JSONList()
    if new.enter() {
        repeat {
            let name = new.takeName()
            let start = new.at
            new.skipValue()
            let value = UnsafeRawBufferPointer(start: start, count: new.at - start)
            let previous = before.take(name)
            if let previous, sameValue(previous, value, ignoring: .none) { continue }
            list.separate(&writer)
            writer.append(name: name)
            var inner = JSONCursor(start)
            if let previous, previous.first == UInt8(ascii: "{"), inner.byte == UInt8(ascii: "{") {
                guard appendObjectPatch(from: JSONCursor(previous.baseAddress!), to: &inner, into: &writer) else { return false }
            } else {
                if saysNull(&inner) { return false }
                writer.append(value)
            }
        } while new.takesComma()
    }
    for name in before.left {
        list.separate(&writer)
        writer.append(name: name)
        writer.append("null")
    }
    writer.append(byte: UInt8(ascii: "}"))
    return true
}

/// Whether a value, or a member at any depth of objects alone, is null. Takes the value.
private func saysNull(_ cursor: inout JSONCursor) -> Bool {
    switch cursor.byte {
    case UInt8(ascii: "n"): return true
    case UInt8(ascii: "{"):
        guard cursor.enter() else { return false }
        repeat {
            _ = cursor.takeName()
            if saysNull(&cursor) { return true }
        } while cursor.takesComma()
        return false
    default:
        cursor.skipValue()
        return false
    }
}

/// The members of an object, to be taken by name.
struct JSONMembers {
    struct Member {
        var name: JSONString
        var value: UnsafeRawBufferPointer
        var isTaken = false
    }

    private(set) var members: [Member] = []
    /// Room for members of another object that this one has not.
    var arrivals: [Member] = []
    private var order: [(mark: UInt64, index: Int)] = []
    private var expected = 0

    /// No members yet.
    init() {}

    init(_ object: JSONCursor) { load(object) }

    /// Lists the members of an object, in place of any other's.
    mutating func load(_ object: JSONCursor) {
        members.removeAll(keepingCapacity: true)
        arrivals.removeAll(keepingCapacity: true)
        order.removeAll(keepingCapacity: true)
        expected = 0
        var cursor = object
        guard cursor.enter() else { return }
        repeat {
            let name = cursor.takeName()
            let start = cursor.at
            cursor.skipValue()
            members.append(Member(name: name, value: UnsafeRawBufferPointer(start: start, count: cursor.at - start)))
        } while cursor.takesComma()
    }

    /// The value of a member, which is then no longer left. Members asked for in their own order cost O(1), others O(log n).
    mutating func take(_ name: JSONString) -> UnsafeRawBufferPointer? {
        guard let index = find(name) else { return nil }
        members[index].isTaken = true
        expected = index + 1
        return members[index].value
    }

    /// Names that were not taken, in their order.
    var left: some Sequence<JSONString> { members.lazy.filter { !$0.isTaken }.map(\.name) }

    private mutating func find(_ name: JSONString) -> Int? {
        if expected < members.count, members[expected].name == name { return expected }
        if order.isEmpty {
            for (index, member) in members.enumerated() { order.append((fingerprint(of: member.name, by: .process), index)) }
            order.sort { $0.mark < $1.mark }
        }
        let mark = fingerprint(of: name, by: .process)
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            if order[middle].mark < mark { low = middle + 1 } else { high = middle }
        }
        guard low < order.count, members[order[low].index].name == name else { return nil }
        return order[low].index
    }
}

extension JSONWriter {
    /// A member's name and its colon.
    mutating func append(name: JSONString) {
        append(name.start - 1, name.count + 2)
        append(byte: UInt8(ascii: ":"))
    }
}
