import Glibc

/// The Date field line in the only form that a server may write (RFC 9110 §5.6.7), formatted once a second.
struct DateField: Sendable {
    private var formatted: [UInt8] = []
    private var second: Int = .min

    /// The line for a time in seconds since 1970.
    @inline(__always)
    mutating func line(at now: Int) -> [UInt8] {
        if now != second { (second, formatted) = (now, Self.line(now)) }
        return formatted
    }

    /// English names of days and months, whatever the process's locale.
    private nonisolated(unsafe) static let locale = newlocale(1 << LC_TIME, "C", nil)

    static func line(_ seconds: Int) -> [UInt8] {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { line in
            let format = "Date: %a, %d %b %Y %H:%M:%S GMT\r\n"
            let count = strftime_l(line.baseAddress!, line.count, format, &parts, locale!)
            return line[..<count].map { UInt8(bitPattern: $0) }
        }
    }
}
