import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffSessions
@testable import DiffStores

@Suite struct StoreClockTests {
    private static let decade = 10 * 365 * 86_400
    private static let start = Instant.now

    /// How far a store's clock advances if `seconds` passed between two processes by the machine's clock.
    private func goes(_ seconds: Int) -> Int {
        let wall = WallClock()
        let mark = StoreClock(after: nil, wall: wall, at: Self.start).mark(wall: wall, at: Self.start)
        let clock = StoreClock(after: mark, wall: wall.set(by: .seconds(seconds)), at: Self.start)
        return (clock.milliseconds(Self.start) - mark.own) / 1000
    }

    private static let week = 7 * 86_400

    @Test(arguments: [0, 1, 3600, week])
    func `an outage counts`(_ seconds: Int) { #expect(goes(seconds) == seconds) }

    @Test(arguments: [week + 1, decade, -1, -3600, -decade, -5 * decade])
    func `a jump does not`(_ seconds: Int) { #expect(goes(seconds) == 0) }

    @Test func `it never goes back, whatever the machine's clock does from process to process`() {
        var mark: StoreClock.Mark?
        var last = Int.min
        for number in 0..<1000 {
            let jump = number * 7_919_317 % (2 * Self.decade) - Self.decade
            let wall = WallClock().set(by: .seconds(number % 2 == 0 ? jump : jump % 86_400))
            let clock = StoreClock(after: mark, wall: wall, at: Self.start)
            #expect(clock.milliseconds(Self.start) >= last)
            #expect(abs((clock.moment(milliseconds: clock.milliseconds(Self.start)) - Self.start) / .seconds(1)) < 0.01)
            last = clock.milliseconds(Self.start)
            mark = clock.mark(wall: wall, at: Self.start)
        }
    }

    @Test(arguments: ["", "1", "1 x", "1 2 3", "9223372036854775807 1", "1 -9223372036854775807", "1125899906842624 1"])
    func `what nobody wrote is no mark`(_ text: String) { #expect(StoreClock.Mark(text) == nil) }

    @Test func `a mark is read as it was written`() {
        let mark = StoreClock.Mark(wall: 1_800_000_000_000, own: -5)
        #expect(StoreClock.Mark(mark.text) == mark)
    }

    @Test func `what was done under a clock that was ahead is done now`() {
        let calendar = WallClock()
        let written = calendar.set(by: .seconds(Self.decade)).milliseconds(Self.start)
        #expect(calendar.past(milliseconds: written, at: Self.start) == Self.start)
        let before = calendar.milliseconds(Self.start) - 5000
        #expect(Self.start - calendar.past(milliseconds: before, at: Self.start) >= .seconds(4))
    }

    @Test func `what one calendar reads another writes again`() {
        for milliseconds in 1_800_000_000_000..<1_800_000_000_020 {
            let moment = WallClock().moment(milliseconds: milliseconds)
            #expect(WallClock().milliseconds(moment) == milliseconds)
        }
    }

    // MARK: A store whose machine has a wrong clock

    /// The clock is wrong, right again, or wrong only later; each later process finds the session.
    @Test(arguments: [[0, decade], [0, -decade], [decade, 0], [-decade, 0], [0, decade, 0, -decade, 0]])
    func `no session is lost`(_ ahead: [Int]) async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        var store = try fixture.store(ahead: { ahead[0] })
        _ = try await store.created("a", try store.first("a", #"["x"]"#))
        for seconds in ahead.dropFirst() {
            store = try fixture.later(than: store, ahead: { seconds })
            // Nobody has read the session yet, so it is only in the database.
            store.sweep()
            #expect(try await store.opened("a") != nil)
        }
    }

    /// The machine's clock is set while the process runs; later processes find the sessions written before and after.
    @Test(arguments: [decade, -decade])
    func `a clock that is set while the process runs changes nothing`(_ jump: Int) async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        let ahead = Locked(0)
        var store = try fixture.store(ahead: { ahead.withLock { $0 } })
        _ = try await store.created("a", try store.first("a", #"["x"]"#))
        ahead.withLock { $0 = jump }
        _ = try await store.created("b", try store.first("b", #"["x"]"#))
        for later in [jump, 0] {
            store = try fixture.later(than: store, ahead: { later })
            store.sweep()
            #expect(try await store.opened("a") != nil)
            #expect(try await store.opened("b") != nil)
        }
    }

    /// A session made under a wrong clock ends once its time has passed under a right one.
    @Test(arguments: [0, decade, -decade])
    func `no session is kept for ever`(_ wrong: Int) async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        var store = try fixture.store(ahead: { wrong })
        _ = try await store.created("a", try store.first("a", #"["x"]"#))
        store = try fixture.later(than: store)
        store = try fixture.later(than: store, ahead: { 1800 })
        #expect(try await store.opened("a") != nil)
        store = try fixture.later(than: store, ahead: { 1800 + 4200 })
        #expect(try await store.opened("a") == nil)
    }
}
