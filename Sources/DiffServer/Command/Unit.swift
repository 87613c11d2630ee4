/// Amounts in the notation of options.
enum Unit {
    private static let sizes = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    private static let times = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]

    /// `16MiB`, `16 MiB`, or bytes.
    static func bytes(_ text: String) -> Int? {
        for (unit, size) in sizes where text.hasSuffix(unit) {
            let (bytes, overflows) = (Int(text.dropLast(3).trimmed) ?? -1).multipliedReportingOverflow(by: size)
            return overflows || bytes < 0 ? nil : bytes
        }
        return Int(text)
    }

    static func bytes(_ count: Int) -> String {
        for (unit, size) in sizes where count >= size && count % size == 0 { return "\(count / size) \(unit)" }
        return "\(count)"
    }

    /// `500ms`, `10s`, `5m`, `1h`, `7d`, or seconds.
    static func time(_ text: String) -> Duration? {
        if let seconds = Int(text) { return seconds < 1 << 40 ? .seconds(seconds) : nil }
        for (unit, size) in times where text.hasSuffix(unit) {
            if let count = Int(text.dropLast(unit.count)), count >= 0, count < 1 << 30 {
                return .milliseconds(count * size)
            }
        }
        return nil
    }

    static func time(_ time: Duration) -> String {
        let milliseconds =
            Int(time.components.seconds) * 1000 + Int(time.components.attoseconds / 1_000_000_000_000_000)
        for (unit, size) in times.reversed() where milliseconds >= size && milliseconds % size == 0 {
            return "\(milliseconds / size)\(unit)"
        }
        return "0s"
    }
}
