// DiffClock has what threads share, but neither loops nor connections, so that sessions and stores need no server to be
// built or tested. All of it is public: the compiler does not inline what is `package` across targets.

import CDiffSystem

/// A time of the monotonic clock, in nanoseconds.
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// The instant this many nanoseconds after the clock's start.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The current instant.
    public static var now: Instant { Instant(read(CLOCK_MONOTONIC)) }

    /// The time of the kernel's last tick: a few milliseconds ago at most, at a fraction of the cost.
    public static var lastTick: Instant { Instant(read(CLOCK_MONOTONIC_COARSE)) }

    /// Later than any deadline: 146 years.
    public static let never = Instant(nanoseconds: 1 << 62)

    /// Earlier than any other.
    public static let past = Instant(nanoseconds: -1 << 62)

    /// Seconds since 1970, at the kernel's last tick.
    public static var wallClockSeconds: Int { read(CLOCK_REALTIME_COARSE).tv_sec }

    private init(_ time: timespec) { nanoseconds = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }

    /// Whether `a` is earlier than `b`.
    public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The time from `b` to `a`.
    public static func - (a: Instant, b: Instant) -> Duration { .nanoseconds(a.nanoseconds &- b.nanoseconds) }
    /// The instant later by `span`, at most 146 years.
    public static func + (a: Instant, span: Duration) -> Instant { a + span.wholeNanoseconds }
    /// The instant later by this many nanoseconds.
    public static func + (a: Instant, nanoseconds: Int64) -> Instant {
        Instant(nanoseconds: a.nanoseconds &+ nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to 146 years.
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds.magnitude < 1 << 32 else { return seconds < 0 ? -(1 << 62) : 1 << 62 }
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
