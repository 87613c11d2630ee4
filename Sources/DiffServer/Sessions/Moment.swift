import Glibc

/// A moment on the monotonic clock, for what has to age.
struct Moment: Comparable, Sendable {
    private var nanoseconds: Int64

    static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// A moment that was written down, in milliseconds since 1970 by the calendar's clock.
    init(wallMilliseconds: Int) {
        self.init(nanoseconds: Self.now.nanoseconds &+ (Int64(wallMilliseconds) &- Self.wallClock) &* 1_000_000)
    }

    private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The moment as others can read it, in milliseconds since 1970.
    var wallMilliseconds: Int { Int(Self.wallClock - (Self.now.nanoseconds - nanoseconds) / 1_000_000) }

    /// The same for many moments: what to add to each.
    static var wallOffset: Int { Int(wallClock) - Int(now.nanoseconds / 1_000_000) }

    func wallMilliseconds(by offset: Int) -> Int { Int(nanoseconds / 1_000_000) + offset }

    private static var wallClock: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    static func < (one: Moment, other: Moment) -> Bool { one.nanoseconds < other.nanoseconds }

    static func - (one: Moment, other: Moment) -> Duration { .nanoseconds(one.nanoseconds - other.nanoseconds) }

    static func + (one: Moment, span: Duration) -> Moment {
        let (seconds, attoseconds) = span.components
        return Moment(nanoseconds: one.nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

/// A moment of the calendar, for what is told to others.
struct WallTime: Sendable, Comparable {
    /// Since 1970.
    var seconds: Int64

    static var now: WallTime { WallTime(seconds: Int64(time(nil))) }

    static func < (one: WallTime, other: WallTime) -> Bool { one.seconds < other.seconds }

    func adding(_ span: Duration) -> WallTime { WallTime(seconds: seconds + span.components.seconds) }

    /// RFC 3339 in UTC, such as `2026-01-31T12:00:00Z`.
    var text: String {
        var stamp = time_t(seconds)
        var parts = tm()
        gmtime_r(&stamp, &parts)
        var room = [CChar](repeating: 0, count: 32)
        let count = strftime(&room, room.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: room[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
