import HTTPCore

// When sessions end has to be written down as times of some clock, and the machine's may be wrong: a machine boots in
// 1970 and hears of today a minute later, or somebody sets it ten years ahead and back. So a store has a clock of its
// own. While a process runs, it goes on as the monotonic clock does, whatever the calendar's is set to. From one
// process to the next it goes on by what the calendar's clock did, if that can have been an outage: forwards, and by no
// more than a session may live. Else it stands still for as long, which ends nothing that should live, and keeps
// nothing longer than its time from then on.

/// A clock that goes on from where the process before left it, in milliseconds, near those since 1970.
struct StoreClock: Sendable {
    /// What two clocks said at one moment, as it is written down.
    struct Mark: Sendable, Equatable {
        /// The machine's calendar.
        var wall: Int
        /// The store's clock.
        var own: Int
    }

    private let calendar: WallClock
    /// How far it is ahead of `calendar`.
    private let lead: Int

    /// - Parameters:
    ///   - mark: what the process before wrote down last; nil in a new store.
    ///   - wall: the machine's calendar as it is at the start.
    init(after mark: Mark?, wall: WallClock, at now: Instant = .now) {
        calendar = wall
        guard let mark else {
            lead = 0
            return
        }
        let outage = wall.milliseconds(now) - mark.wall
        let isCredible = (0...Options.maxTimeToLive * 1000).contains(outage)
        lead = mark.own + (isCredible ? outage : 0) - wall.milliseconds(now)
    }

    func milliseconds(_ moment: Instant) -> Int { calendar.milliseconds(moment) + lead }

    func moment(milliseconds: Int) -> Instant { calendar.moment(milliseconds: milliseconds - lead) }

    /// - Parameter wall: the machine's calendar as it is now.
    func mark(wall: WallClock, at now: Instant = .now) -> Mark {
        Mark(wall: wall.milliseconds(now), own: milliseconds(now))
    }
}

extension StoreClock.Mark {
    var text: String { "\(wall) \(own)" }

    /// Nil for what nobody wrote, times beyond 30,000 years among it.
    init?(_ text: String) {
        let parts = text.split(separator: " ").map { Int($0) }
        guard parts.count == 2, let wall = parts[0], let own = parts[1], abs(wall) < 1 << 50, abs(own) < 1 << 50 else {
            return nil
        }
        self.init(wall: wall, own: own)
    }
}

extension SQLiteDatabase {
    /// Sets the clock by what the process before wrote down.
    ///
    /// Whatever would end later than it may live was written under a wrong clock, and lives that long from now.
    func startClock(wall: WallClock) throws(Failure) {
        var mark: StoreClock.Mark?
        try run("SELECT value FROM setting WHERE name = 'clock'") { mark = StoreClock.Mark($0.text(0)) }
        clock = StoreClock(after: mark, wall: wall)
        // Twice, since not each use of a session is written down.
        let latest = clock.milliseconds(.now + .seconds(2 * Options.maxTimeToLive))
        try run("UPDATE session SET expires = ? WHERE expires > ?", [.integer(latest), .integer(latest)])
        try keepClock(wall: wall)
    }

    /// Writes down how late it is, for the process that comes next.
    func keepClock(wall: WallClock) throws(Failure) {
        try run("INSERT OR REPLACE INTO setting VALUES ('clock', ?)", [.text(clock.mark(wall: wall).text)])
    }
}
