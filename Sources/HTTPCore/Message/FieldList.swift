// Fields that are lists (RFC 9110 §5.6.1): elements with commas between them, over all lines of a name. A comma inside
// quotes belongs to its element. Empty elements are left out, but count: a list of 30 KB of commas is a long one too.

/// The elements of fields that are lists, as text without the blanks around it.
public enum FieldList {
    /// Elements of a list that are looked at; a request with a longer list is to be refused. Browsers send fewer than
    /// ten.
    public static let maxElements = 100

    /// The elements of the lines of one field, in order. O(length), but that it stops at `maxElements`.
    static func elements(of lines: [String]) -> [Substring] {
        var elements: [Substring] = []
        var seen = 0
        for line in lines {
            let octets = line.utf8
            var (start, isQuoted) = (octets.startIndex, false)
            var at = start
            while seen < maxElements {
                let octet = at < octets.endIndex ? octets[at] : UInt8(ascii: ",")
                if octet == UInt8(ascii: "\"") { isQuoted.toggle() }
                if at == octets.endIndex || octet == UInt8(ascii: ",") && !isQuoted {
                    seen += 1
                    let element = trimmed(line[start..<at])
                    if !element.isEmpty { elements.append(element) }
                    guard at < octets.endIndex else { break }
                    start = octets.index(after: at)
                }
                at = octets.index(after: at)
            }
        }
        return elements
    }

    /// Without blanks at either end.
    public static func trimmed(_ text: Substring) -> Substring {
        let isBlank = { (octet: UInt8) in octet == UInt8(ascii: " ") || octet == UInt8(ascii: "\t") }
        let octets = text.utf8
        guard let first = octets.firstIndex(where: { !isBlank($0) }) else { return text[text.endIndex...] }
        return text[first...octets.lastIndex { !isBlank($0) }!]
    }
}

extension RequestHead {
    /// The elements of a field that is a list, in order, at most `FieldList.maxElements`. None without such a field.
    public func list(_ name: String) -> [Substring] { FieldList.elements(of: values(of: name)) }

    /// The name of a list field with more elements than are looked at, of those that the library or a service reads.
    public var overlongList: String? {
        // Names as long as these have too few bytes of values in most requests, which spares a look at each field for
        // each name.
        var bytes = 0
        for field in parts.fields where Self.listNameLengths >> UInt64(field.nameEnd - field.nameStart) & 1 == 1 {
            bytes += Int(field.valueEnd - field.valueStart)
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
