import Glibc

/// A point of the monotonic clock in nanoseconds. What waits compares these; only the edge reads the clock.
struct Instant: Comparable, Sendable {
    var nanoseconds: Int64

    /// Behind all that anybody waits for: 146 years.
    static let never = Instant(nanoseconds: 1 << 62)

    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Seconds since 1970, from the kernel's last tick.
    static func wallClockSeconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return time.tv_sec
    }

    static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    static func + (a: Instant, b: Duration) -> Instant { Instant(nanoseconds: a.nanoseconds &+ b.wholeNanoseconds) }
    static func + (a: Instant, nanoseconds: Int64) -> Instant { Instant(nanoseconds: a.nanoseconds &+ nanoseconds) }
    static func - (a: Instant, b: Instant) -> Duration { .nanoseconds(a.nanoseconds &- b.nanoseconds) }
}

extension Duration {
    /// Clamped to what 63 bits hold: 292 years.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflows, abs(seconds) < 4_000_000_000 else { return seconds < 0 ? -(1 << 62) : 1 << 62 }
        return product + attoseconds / 1_000_000_000
    }
}
