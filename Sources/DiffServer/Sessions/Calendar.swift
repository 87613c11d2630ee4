import FoundationEssentials
import Glibc
import HTTPCore

/// What the calendar's clock says at moments: the same for all that is written down at once.
struct Calendar: Sendable {
    private let origin: Int64

    init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        origin = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - Instant.now.nanoseconds
    }

    private init(origin: Int64) { self.origin = origin }

    /// The same, set ahead or, by a negative span, back.
    func set(by span: Duration) -> Calendar { Calendar(origin: origin + span.components.seconds * 1_000_000_000) }

    /// Milliseconds since 1970.
    func milliseconds(_ moment: Instant) -> Int { Int((origin + moment.nanoseconds) / 1_000_000) }

    /// The same of something that is over; one that was written under a clock that was ahead is over now.
    func past(milliseconds: Int, at now: Instant = .now) -> Instant { min(moment(milliseconds: milliseconds), now) }

    /// The moment that was so many milliseconds behind 1970, or the nearest one within 70 years of that: the difference
    /// to any other fits into the clock's 64 bits. The middle of the millisecond: calendars differ by how long it took
    /// to read two clocks, and each is to write the same number again.
    func moment(milliseconds: Int) -> Instant {
        let reach = 2_200_000_000_000
        return Instant(nanoseconds: Int64(min(max(milliseconds, -reach), reach)) * 1_000_000 + 500_000 - origin)
    }
}

/// A moment of the calendar, for what is told to others.
struct WallTime: Sendable, Comparable {
    /// Since 1970.
    var seconds: Int64

    static var now: WallTime { WallTime(seconds: Int64(time(nil))) }
    /// The same in milliseconds.
    static var milliseconds: Int { Calendar().milliseconds(.now) }

    static func < (one: WallTime, other: WallTime) -> Bool { one.seconds < other.seconds }

    func adding(_ span: Duration) -> WallTime { WallTime(seconds: seconds + span.components.seconds) }

    /// RFC 3339 in UTC, such as `2026-01-31T12:00:00Z`.
    var text: String { Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601) }
}
