/// A table in Markdown, printed when it is full; remembers whether every limit was kept.
struct Table {
    private let title: String
    private var rows: [[String]]
    nonisolated(unsafe) static var breaches: [String] = []

    init(_ title: String, _ columns: String...) {
        self.title = title
        rows = [columns]
    }

    mutating func add(_ cells: String...) { rows.append(cells) }

    /// A figure beside its limit.
    static func atMost(_ limit: Double?, _ value: Double, _ name: String) -> String {
        guard let limit else { return "" }
        if value > limit { breaches.append("\(name): \(value.short) is more than \(limit.short)") }
        return "≤ \(limit.short)"
    }

    /// A figure beside its limit.
    static func atLeast(_ limit: Double?, _ value: Double, _ name: String) -> String {
        guard let limit else { return "" }
        if value < limit { breaches.append("\(name): \(value.short) is less than \(limit.short)") }
        return "≥ \(limit.short)"
    }

    func show() {
        print("\n### \(title)\n")
        for (index, row) in rows.enumerated() {
            print("| " + row.joined(separator: " | ") + " |")
            if index == 0 { print("|--" + String(repeating: "|--:", count: row.count - 1) + "|") }
        }
    }
}

extension Double {
    /// Three digits that matter.
    var short: String {
        if self >= 100 || self == rounded() { return String(Int(rounded())) }
        let scale = self >= 10 ? 10.0 : 100.0
        return String((self * scale).rounded() / scale)
    }
}

extension Int {
    /// With commas between the thousands.
    var grouped: String {
        var digits = String(self)
        var at = digits.count - 3
        while at > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: at))
            at -= 3
        }
        return digits
    }
}
