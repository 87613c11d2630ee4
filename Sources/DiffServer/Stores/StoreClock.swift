import DiffClock
import DiffSessions

// The machine's clock may be wrong, so a store has its own. While a process runs, that follows the monotonic clock.
// Between processes it advances as the machine's clock did if that is a credible outage: forwards, and by no more than
// the longest time to live. Otherwise it stands still, so that no session expires early, and none outlives its time to
// live from then on.

/// A clock that continues where the previous process left it, in milliseconds, close to those since 1970.
public struct StoreClock: Sendable {
    /// Readings of the machine's clock and the store's own at one moment, for the record.
    public struct Mark: Sendable, Equatable { var wall, own: Int }

    private let wall: WallClock
    /// How far the store's clock is ahead of `wall`.
    private let lead: Int

    /// - Parameter mark: the last record of the previous process; nil in a new store.
    public init(after mark: Mark?, wall: WallClock, at now: Instant = .now) {
        self.wall = wall
        guard let mark else {
            lead = 0
            return
        }
        let outage = wall.milliseconds(now) - mark.wall
        let isCredible = (0...Session.Settings.maxTimeToLive * 1000).contains(outage)
        lead = mark.own + (isCredible ? outage : 0) - wall.milliseconds(now)
    }

    public func milliseconds(_ moment: Instant) -> Int { wall.milliseconds(moment) + lead }

    public func moment(milliseconds: Int) -> Instant { wall.moment(milliseconds: milliseconds - lead) }

    /// - Parameter wall: the machine's clock as it is now.
    public func mark(wall: WallClock, at now: Instant = .now) -> Mark {
        Mark(wall: wall.milliseconds(now), own: milliseconds(now))
    }
}

extension StoreClock.Mark {
    public var text: String { "\(wall) \(own)" }

    /// Parses a mark; nil if the text is malformed or a time is more than 30,000 years from 1970.
    public init?(_ text: String) {
        let parts = text.split(separator: " ").map { Int($0) }
        guard parts.count == 2, let wall = parts[0], let own = parts[1], abs(wall) < 1 << 50, abs(own) < 1 << 50 else {
            return nil
        }
        self.init(wall: wall, own: own)
    }
}
