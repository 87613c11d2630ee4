import CDiffSystem
import DiffClock
import FoundationEssentials

/// Converts between instants of the monotonic clock and milliseconds since 1970. It compares the two clocks once, at
/// its creation, so that times written together agree.
public struct WallClock: Sendable {
    /// Nanoseconds since 1970 when the monotonic clock was at zero.
    let epoch: Int64

    public init() { self.init(epoch: Self.nanoseconds - Instant.now.nanoseconds) }

    public init(epoch: Int64) { self.epoch = epoch }

    /// Since 1970.
    fileprivate static var nanoseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    public func milliseconds(_ moment: Instant) -> Int { Int((epoch + moment.nanoseconds) / 1_000_000) }

    /// The instant of a past event. A time written under a clock that was ahead counts as now.
    func past(milliseconds: Int, at now: Instant = .now) -> Instant { min(moment(milliseconds: milliseconds), now) }

    /// Clamped to 70 years around 1970, so that differences fit into 64 bits of nanoseconds. In the middle of the
    /// millisecond: clocks compared at different times deviate a little, and each must write the same number again.
    public func moment(milliseconds: Int) -> Instant {
        let reach = 2_200_000_000_000
        return Instant(nanoseconds: Int64(min(max(milliseconds, -reach), reach)) * 1_000_000 + 500_000 - epoch)
    }
}

/// A date and time of day, as told to clients.
public struct WallTime: Sendable, Equatable {
    /// Since 1970.
    public var seconds: Int64

    public init(seconds: Int64) { self.seconds = seconds }

    public static var now: WallTime { WallTime(seconds: WallClock.nanoseconds / 1_000_000_000) }
    /// Now, since 1970.
    public static var milliseconds: Int { Int(WallClock.nanoseconds / 1_000_000) }

    public static func after(_ span: Duration) -> WallTime {
        let (seconds, attoseconds) = span.components
        let fraction = WallClock.nanoseconds + attoseconds / 1_000_000_000
        return WallTime(seconds: seconds + fraction / 1_000_000_000)
    }

    /// The current time with milliseconds: `2026-01-31T12:00:00.123Z`.
    public static var presentText: String {
        let milliseconds = milliseconds
        let text = WallTime(seconds: Int64(milliseconds / 1000)).text
        return "\(text.dropLast()).\(String(milliseconds % 1000 + 1000).dropFirst())Z"
    }

    /// RFC 3339 in UTC, such as `2026-01-31T12:00:00Z`.
    public var text: String { Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601) }
}
