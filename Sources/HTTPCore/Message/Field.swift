/// A field line of an answer. Control characters such as CR, LF and NUL are written as spaces, so that a value from a
/// client cannot add a field or an answer.
public struct Field: Sendable, Hashable {
    /// The name as it is written.
    public var name: String
    /// The value without blanks around it.
    public var value: String

    /// A field line.
    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

/// The position of a field line in the bytes of a request's head. 32 bits suffice for a head within its limit.
struct FieldSpan: Sendable, Equatable {
    var nameStart: UInt32
    var nameEnd: UInt32
    var valueStart: UInt32
    var valueEnd: UInt32

    func name(in head: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer { head.slice(Int(nameStart), Int(nameEnd)) }

    func value(in head: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer { head.slice(Int(valueStart), Int(valueEnd)) }
}

// MARK: - Lists

/// The elements of one line of a list-valued field (RFC 9110 §5.6.1), trimmed, empty ones included.
///
/// A comma inside quotes belongs to its element. A backslash there is not special: in an entity tag it is a character
/// like any other (§8.8.3), and none of the fields read here has commas in quoted pairs.
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
    /// How many elements of a request's list are read; callers refuse longer ones. Browsers send fewer than ten.
    public static let maxElements = 100

    /// The elements of one line that are not empty.
    public static func elements(_ value: String) -> [String] {
        var value = value
        return value.withUTF8 {
            ListElements(UnsafeRawBufferPointer($0)).filter { !$0.isEmpty }.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The text without blanks at either end.
    public static func trimmed(_ text: Substring) -> Substring {
        let octets = text.utf8
        guard let first = octets.firstIndex(where: { !$0.isBlank }) else { return text[text.endIndex...] }
        return text[first...octets.lastIndex { !$0.isBlank }!]
    }
}

extension RequestHead {
    /// The elements of a list-valued field, in order, at most `FieldList.maxElements`. Empty ones are dropped, but
    /// count: 30 KB of commas are a long list, too.
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

    /// Whether an answer may be gzip: the client lists it, or `*`, and does not prefer `identity`.
    public var acceptsGzip: Bool {
        let list = weightedList("accept-encoding")
        guard let gzip = Preference.weight(of: ["gzip", "x-gzip"], in: list), gzip > 0 else { return false }
        return gzip >= list.first { $0.value == "identity" }?.weight ?? 0
    }

    /// The name of a list-valued field with more elements than are read, if this library or a service reads that field.
    public var overlongList: String? {
        // Fast path: in most requests, the fields with names of these lengths have too few bytes to search.
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
    /// A bit for the length of each of these names.
    private static let listNameLengths = listNames.reduce(UInt64(0)) { $0 | 1 << UInt64($1.utf8.count) }
}

/// An element of a field like Accept: a value and its weight (RFC 9110 §12.4.2).
public struct Preference: Sendable, Hashable {
    /// The value in lower case, without parameters.
    public var value: String
    /// The weight in thousandths, 0 to 1000; 0 means not acceptable.
    public var weight: Int

    /// Parses an element; nil if it has no value, or a malformed weight.
    public init?(_ element: String) {
        let parts = element.split(separator: ";", omittingEmptySubsequences: false)
        guard let value = parts.first.map({ FieldList.trimmed($0).lowercased() }), !value.isEmpty else { return nil }
        var weight = 1000
        for part in parts.dropFirst() {
            let parameter = FieldList.trimmed(part).lowercased()
            guard parameter.hasPrefix("q=") else { continue }
            guard let parsed = Self.thousandths(parameter.dropFirst(2)) else { return nil }
            weight = parsed
        }
        (self.value, self.weight) = (value, weight)
    }

    /// The weight of the first of `values` in the list, or else of `*`; nil if neither is in it.
    public static func weight(of values: [String], in list: [Preference]) -> Int? {
        list.first { values.contains($0.value) }?.weight ?? list.first { $0.value == "*" }?.weight
    }

    /// `0`, `0.5`, `1.000`: up to three decimals.
    private static func thousandths(_ text: Substring) -> Int? {
        let octets = Array(text.utf8)
        guard let first = octets.first, first.isDigit, octets.count <= 5,
            octets.count == 1 || octets[1] == UInt8(ascii: "."), octets.dropFirst(2).allSatisfy(\.isDigit)
        else { return nil }
        let digits = [first] + octets.dropFirst(2)
        let weight = zip(digits, [1000, 100, 10, 1]).reduce(0) { $0 + Int($1.0 - 0x30) * $1.1 }
        return weight <= 1000 ? weight : nil
    }
}
