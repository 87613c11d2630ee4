// Fields that are lists (RFC 9110 §5.6.1): elements with commas between them, over all lines of a name. A comma inside
// quotes belongs to its element. A backslash in quotes means nothing here: in an entity tag it is a character as any
// other (§8.8.3), and no field with quoted pairs that is read has commas in them. Empty elements are left out, but
// count: a list of 30 KB of commas is a long one too.

/// The elements of one line of a field that is a list, without the blanks around them; those that are empty too.
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

/// Fields that are lists, as text.
public enum FieldList {
    /// Elements of a list that are looked at; a request with a longer list is to be refused. Browsers send fewer than
    /// ten.
    public static let maxElements = 100

    /// Without blanks at either end.
    public static func trimmed(_ text: Substring) -> Substring {
        let octets = text.utf8
        guard let first = octets.firstIndex(where: { !$0.isBlank }) else { return text[text.endIndex...] }
        return text[first...octets.lastIndex { !$0.isBlank }!]
    }
}

extension RequestHead {
    /// The elements of a field that is a list, in order, at most `FieldList.maxElements`. None without such a field.
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

    /// The same of a field like Accept, whose elements have weights. Malformed ones are left out.
    public func weightedList(_ name: String) -> [Preference] { list(name).compactMap(Preference.init) }

    /// The name of a list field with more elements than are looked at, of those that the library or a service reads.
    public var overlongList: String? {
        // Names as long as these have too few bytes of values in most requests, which spares a look at each field for
        // each name.
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
