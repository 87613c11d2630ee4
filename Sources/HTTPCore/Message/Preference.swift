/// One element of a field like Accept: a value and how much it is wanted (RFC 9110 §12.4.2).
public struct Preference: Sendable, Hashable {
    /// The value in lower case, without parameters and blanks.
    public var value: String
    /// The weight in thousandths, 0 to 1000; 0 means not at all.
    public var weight: Int

    /// The elements of the lines of one field, in order. One whose weight is malformed is left out.
    public static func list(_ lines: [String]) -> [Preference] {
        lines.flatMap { line in
            line.split(separator: ",").compactMap { element in
                let parts = element.split(separator: ";", omittingEmptySubsequences: false).map { trimmed($0) }
                guard let value = parts.first, !value.isEmpty else { return nil }
                var weight = 1000
                for part in parts.dropFirst() where part.hasPrefix("q=") {
                    guard let parsed = thousandths(part.dropFirst(2)) else { return nil }
                    weight = parsed
                }
                return Preference(value: value, weight: weight)
            }
        }
    }

    /// The weight of the first of `values` that the list names, or of `*`; nil if it names neither.
    public static func weight(of values: [String], in list: [Preference]) -> Int? {
        list.first { values.contains($0.value) }?.weight ?? list.first { $0.value == "*" }?.weight
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text.lowercased()
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
        let lines = values(of: "accept-encoding")
        guard !lines.isEmpty else { return false }
        let list = Preference.list(lines)
        guard let gzip = Preference.weight(of: ["gzip", "x-gzip"], in: list), gzip > 0 else { return false }
        return gzip >= list.first { $0.value == "identity" }?.weight ?? 0
    }
}
