/// One element of a field like Accept: a value and how much it is wanted (RFC 9110 §12.4.2).
public struct Preference: Sendable, Hashable {
    /// The value in lower case, without parameters and blanks.
    public var value: String
    /// The weight in thousandths, 0 to 1000; 0 means not at all.
    public var weight: Int

    /// An element with its weight; nil if that is malformed, or if there is no value.
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

    /// The weight of the first of `values` that the list names, or of `*`; nil if it names neither.
    public static func weight(of values: [String], in list: [Preference]) -> Int? {
        list.first { values.contains($0.value) }?.weight ?? list.first { $0.value == "*" }?.weight
    }

    /// `0`, `0.5`, `1.000`: at most three digits behind the point.
    private static func thousandths(_ text: Substring) -> Int? {
        let octets = Array(text.utf8)
        guard let first = octets.first, first == 0x30 || first == 0x31, octets.count <= 5 else { return nil }
        guard octets.count == 1 || octets[1] == UInt8(ascii: ".") else { return nil }
        var weight = Int(first - 0x30) * 1000
        var unit = 100
        for octet in octets.dropFirst(2) {
            guard octet.isDigit else { return nil }
            weight += Int(octet - 0x30) * unit
            unit /= 10
        }
        return weight <= 1000 ? weight : nil
    }
}

extension RequestHead {
    /// Whether an answer may be gzip: the client names it, or `*`, and does not like the plain form better.
    public var acceptsGzip: Bool {
        let list = weightedList("accept-encoding")
        guard let gzip = Preference.weight(of: ["gzip", "x-gzip"], in: list), gzip > 0 else { return false }
        return gzip >= list.first { $0.value == "identity" }?.weight ?? 0
    }
}
