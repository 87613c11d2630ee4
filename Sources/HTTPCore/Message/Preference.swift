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

    /// `0`, `0.5`, `1.000`: up to three decimal places.
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
    /// Whether an answer may be gzip: the client lists it, or `*`, and does not prefer `identity`.
    public var acceptsGzip: Bool {
        let list = weightedList("accept-encoding")
        guard let gzip = Preference.weight(of: ["gzip", "x-gzip"], in: list), gzip > 0 else { return false }
        return gzip >= list.first { $0.value == "identity" }?.weight ?? 0
    }
}
