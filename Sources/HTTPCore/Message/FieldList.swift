// List-valued fields (RFC 9110 §5.6.1): elements separated by commas, over all lines of a name. A comma inside quotes
// belongs to its element. A backslash inside quotes is not special here: in an entity tag it is a character like any
// other (§8.8.3), and none of the fields read here has commas in quoted pairs. Empty elements are dropped, but count
// towards the limit: 30 KB of commas are a long list, too.

/// The elements of one line of a list-valued field, trimmed, empty ones included.
struct ListElements: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer?

    init(_ value: UnsafeRawBufferPointer) { rest = value }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard let value = rest else { return nil }
        var isQuoted = false
        let comma = value.firstIndex { octet in
            if octet == UInt8(ascii: "\"") { isQuoted.toggle() }
            return octet == UInt8(ascii: ",") && !isQuoted
        }
        rest = comma.map { value.slice($0 + 1, value.count) }
        return value.slice(0, comma ?? value.count).trimmed
    }
}

/// List-valued fields as text.
public enum FieldList {
    /// How many elements of a request's list are read; longer lists are to be refused. Browsers send fewer than ten.
    public static let maxElements = 100

    /// The elements of one line that are not empty.
    public static func elements(_ value: String) -> [String] {
        var value = value
        return value.withUTF8 { octets in
            ListElements(UnsafeRawBufferPointer(octets)).filter { !$0.isEmpty }.map {
                String(decoding: $0, as: UTF8.self)
            }
        }
    }

    /// Without blanks at either end.
    public static func trimmed(_ text: Substring) -> Substring {
        let octets = text.utf8
        guard let first = octets.firstIndex(where: { !$0.isBlank }) else { return text[text.endIndex...] }
        return text[first...octets.lastIndex { !$0.isBlank }!]
    }
}

extension RequestHead {
    /// The elements of a list-valued field, in order, at most `FieldList.maxElements`.
    public func list(_ name: String) -> [String] {
        var elements: [String] = []
        var seen = 0
        forEach(name) { value in
            for element in ListElements(value) where seen < FieldList.maxElements {
                seen += 1
                if !element.isEmpty { elements.append(String(decoding: element, as: UTF8.self)) }
            }
            return seen < FieldList.maxElements
        }
        return elements
    }

    /// The elements of a field with weights, such as Accept. Malformed ones are dropped.
    public func weightedList(_ name: String) -> [Preference] { list(name).compactMap(Preference.init) }

    /// The name of a list-valued field with more elements than are read, among those that this library or a service
    /// reads.
    public var overlongList: String? {
        // In most requests the fields with names of these lengths have too few bytes, which saves the search.
        var bytes = 0
        parts.withBytes { _, fields in
            for field in fields where Self.listNameLengths >> UInt64(field.nameEnd - field.nameStart) & 1 == 1 {
                bytes += Int(field.valueEnd - field.valueStart)
            }
        }
        guard bytes >= FieldList.maxElements else { return nil }
        return Self.listNames.first { name in
            var commas = 0
            forEach(name) { value in
                commas += value.count { $0 == UInt8(ascii: ",") }
                return commas < FieldList.maxElements
            }
            return commas >= FieldList.maxElements
        }
    }

    private static let listNames = ["accept", "accept-encoding", "prefer", "if-match", "if-none-match"]
    /// A bit for the length of each of them.
    private static let listNameLengths = listNames.reduce(UInt64(0)) { $0 | 1 << UInt64($1.utf8.count) }
}
