import Glibc

/// A point of the monotonic clock in nanoseconds. What waits compares these; only the edge reads the clock.
public struct Instant: Comparable, Sendable {
    /// Since the clock began.
    public var nanoseconds: Int64

    /// The instant so many nanoseconds behind the clock's beginning.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// What the clock says.
    public static var now: Instant { Instant(read(CLOCK_MONOTONIC)) }

    /// What it said at the kernel's last tick, some milliseconds ago at most: a fraction of the cost.
    static var lastTick: Instant { Instant(read(CLOCK_MONOTONIC_COARSE)) }

    /// Behind all that anybody waits for: 146 years.
    static let never = Instant(nanoseconds: 1 << 62)

    /// Seconds since 1970, from the kernel's last tick.
    static var wallClockSeconds: Int { read(CLOCK_REALTIME_COARSE).tv_sec }

    private init(_ time: timespec) {
        self.init(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }

    /// The same in whole seconds.
    public var wholeSeconds: Int64 { nanoseconds / 1_000_000_000 }

    /// Whether `a` is earlier than `b`.
    public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The time from `b` to `a`.
    public static func - (a: Instant, b: Instant) -> Duration { .nanoseconds(a.nanoseconds &- b.nanoseconds) }
    /// The instant that is so much later; a span beyond 146 years counts as one of 146.
    public static func + (a: Instant, span: Duration) -> Instant { a + span.wholeNanoseconds }
    static func + (a: Instant, nanoseconds: Int64) -> Instant { Instant(nanoseconds: a.nanoseconds &+ nanoseconds) }
}

extension Duration {
    /// Clamped to 146 years.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds.magnitude < 1 << 32 else { return seconds < 0 ? -(1 << 62) : 1 << 62 }
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
