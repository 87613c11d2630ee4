import Dispatch
import HTTPCore
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

@Suite struct SessionTableTests {
    let hash = KeyedHash.digests("tests")
    let start = Instant.now

    /// Counts its calls.
    final class Reader: SessionReader {
        private let told = Locked<[String]>([])
        var lines: [String] { told.withLock { $0 } }
        func sessionChanged() { told.withLock { $0.append("changed") } }
        func sessionEnded(_ end: SessionEnd) { told.withLock { $0.append("\(end)") } }
        func serverEnds(after time: Duration) { told.withLock { $0.append("\(time)") } }
    }

    func table(_ bounds: SessionTable.Bounds) -> SessionTable {
        SessionTable(bounds: bounds, maxBody: 1024, hash: hash)
    }

    func writing(_ name: String) -> SessionTransition {
        SessionTransition(name: name, bounds: .init(), hash: hash, now: .now)
    }

    func session(_ name: String, bytes: Int = 1, ttl: Duration = .seconds(60)) throws -> Session {
        let snapshot = try Snapshot(json: #"[{"id":"a","content":"\#(String(repeating: "x", count: bytes))"}]"#)
        return writing(name).firstSession(
            snapshot, settings: .init(timeToLive: ttl, ignored: []), after: nil, maker: nil)
    }

    func names(_ table: SessionTable, _ all: String) -> String {
        String(all.filter { table.holds(String($0)) })
    }

    @Test func `what can be fetched again goes before others, and is half of them at most`() throws {
        let table = table(.init(sessions: 4))
        table.isFetched = { "fgh".contains($0) }
        for name in ["f", "a", "b", "g"] { _ = try table.create(name, session(name)).get() }
        _ = table.slot("f")
        _ = try table.create("h", session("h")).get()
        #expect(names(table, "abfgh") == "abfh")
        _ = try table.create("c", session("c")).get()
        #expect(names(table, "abcfgh") == "abch")
        _ = try table.create("d", session("d")).get()
        #expect(names(table, "abcdfgh") == "abcd")
        _ = try table.create("e", session("e")).get()
        #expect(names(table, "abcdefgh") == "bcde")
    }

    @Test func `a change that is kept for its grace time goes before another session does`() throws {
        var bounds = SessionTable.Bounds()
        (bounds.bytes, bounds.history.bytes) = (500_000, 1000)
        let table = table(bounds)
        _ = try table.create("b", session("b", bytes: 100_000)).get()
        let one = try session("a", bytes: 150_000)
        let slot = try table.create("a", one).get()
        let content = String(repeating: "y", count: 150_000)
        let transition = SessionTransition(name: "a", bounds: bounds.history, hash: hash, now: .now)
        let two = transition.session(
            after: one, try Snapshot(json: #"[{"id":"a","content":"\#(content)"}]"#), maker: nil
        ).0
        #expect(two.history.isOversize(bounds.history))
        try table.commit(two, to: slot, after: one).get()
        #expect(names(table, "ab") == "ab")
        #expect(table.size.bytes < bounds.bytes)
    }

    @Test func `readers of all sessions are dismissed one after another, and stay until then`() throws {
        let table = table(.init())
        let readers = (0..<150).map { _ in Reader() }
        for name in ["a", "b"] { _ = try table.create(name, session(name)).get() }
        let slots = try [
            #require(table.peek("a")).slot, #require(table.peek("b")).slot, #require(table.slotToAwait("c")),
        ]
        for (index, reader) in readers.enumerated() {
            #expect(slots[index % 3].add(reader, limit: 1000) == .added)
        }
        #expect(table.dismissReaders(within: .seconds(5)) == .milliseconds(150))
        let times = Set((0..<150).map { "\(Duration.milliseconds($0))" })
        #expect(Set(readers.flatMap(\.lines)) == times)
        #expect(slots.map(\.readerCount) == [50, 50, 50])
    }

    @Test func `a session that is evicted while it is replaced does not stay in the table without its state`() throws {
        let bounds = SessionTable.Bounds(sessions: 1)
        let table = SessionTable(
            bounds: bounds, maxBody: 1024, hash: nil)
        let (one, other) = (try session("a"), try session("b"))
        let slot = try #require(table.adopt(one, as: "a", inPlaceOf: nil))
        let lost = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            for _ in 0..<60_000 {
                if thread == 0 {
                    // Waits at random, or it would always come between two commits.
                    for _ in 0..<Int.random(in: 0..<64) { _ = table.holds("c") }
                    _ = table.adopt(other, as: "b", inPlaceOf: nil)
                } else {
                    _ = table.commit(one, to: slot, after: one)
                }
                let isWhole = table.registry.withLock { $0.slots.values.allSatisfy { $0.sessionInMemory != nil } }
                if !isWhole { lost.withLock { $0 += 1 } }
            }
        }
        #expect(lost.withLock { $0 } == 0)
    }

    @Test func `what is read leaves last, though it can be fetched again`() throws {
        let table = table(.init(sessions: 2))
        table.isFetched = { "fg".contains($0) }
        let slot = try table.create("f", session("f")).get()
        let reader = Reader()
        #expect(slot.add(reader, limit: 1) == .added)
        _ = try table.create("a", session("a")).get()
        _ = try table.create("b", session("b")).get()
        #expect(names(table, "abf") == "bf")
    }

    @Test func `the least recently used goes first`() throws {
        let table = table(.init(sessions: 3))
        for name in ["a", "b", "c"] { _ = try table.create(name, session(name)).get() }
        _ = table.slot("a")
        _ = try table.create("d", session("d")).get()
        #expect(names(table, "abcd") == "acd")
        let slot = try #require(table.slot("c"))
        let kept = try #require(slot.session)
        _ = table.commit(kept, to: slot, after: kept)
        _ = try table.create("e", session("e")).get()
        #expect(names(table, "abcde") == "cde")
        #expect(table.counters.values.evictions == 2)
    }

    @Test func `one with readers goes last, and they are told`() throws {
        let table = table(.init(sessions: 2))
        let readers = ["a": Reader(), "b": Reader()]
        for name in ["a", "b"] { _ = try table.create(name, session(name)).get().add(readers[name]!, limit: 1) }
        _ = try table.create("c", session("c")).get()
        #expect(names(table, "abc") == "bc")
        #expect(readers["a"]!.lines == ["evicted"])
        _ = try table.create("d", session("d")).get()
        #expect(names(table, "abcd") == "bd")
        #expect(readers["b"]!.lines.isEmpty)
    }

    @Test func `bytes make room as sessions do, and the newcomer stays`() throws {
        let table = table(.init(bytes: 30_000))
        for name in ["a", "b", "c"] { _ = try table.create(name, session(name, bytes: 5000)).get() }
        #expect(names(table, "abc") == "abc")
        _ = try table.create("d", session("d", bytes: 20_000)).get()
        #expect(names(table, "abcd").hasSuffix("d"))
        #expect(table.size.bytes <= 30_000)
        let large = try session("e", bytes: 30_000)
        #expect(throws: StoreFailure.capacity) { try table.create("e", large).get() }
        #expect(names(table, "abcde").hasSuffix("d"))
    }

    @Test(arguments: [30_000, 15_000])
    func `a past larger than it may be is held for seconds, and refuses no write`(_ room: Int) throws {
        let bounds = History.Bounds(bytes: 100)
        var all = SessionTable.Bounds(bytes: room)
        all.history = bounds
        let table = table(all)
        let one = try session("a", bytes: 8000)
        let slot = try table.create("a", one).get()
        let transition = SessionTransition(name: "a", bounds: bounds, hash: hash, now: .now)
        let state = try Snapshot(json: #"[{"id":"a","content":"\#(String(repeating: "y", count: 8000))"}]"#)
        let two = transition.session(after: one, state, maker: nil).0
        _ = try table.commit(two, to: slot, after: one).get()
        let now = Instant.now
        #expect(slot.awakeSession?.history.entries.count == (room > 20_000 ? 1 : 0))
        _ = table.sweep(at: now + .seconds(3))
        #expect(slot.awakeSession?.history.entries.count == (room > 20_000 ? 1 : 0))
        _ = table.sweep(at: now + .seconds(6))
        #expect(slot.awakeSession?.history.entries.isEmpty == true)
        #expect(slot.awakeSession?.head.revision == two.head.revision)
        #expect(table.size.bytes == slot.awakeSession?.footprint)
    }

    @Test(arguments: [(59, true), (60, false), (61, false)])
    func `a session lives for its time since its last use`(_ seconds: Int, _ lives: Bool) throws {
        let table = table(.init())
        _ = try table.create("a", session("a")).get()
        // The session was created a moment after `start`, so a use at a known moment is measured.
        _ = table.slot("a", at: start + .seconds(5))
        #expect((table.slot("a", at: start + .seconds(5 + seconds)) != nil) == lives)
        #expect(table.counters.values.expirations == (lives ? 0 : 1))
    }

    @Test func `one that is read lives on, whatever the time`() throws {
        let table = table(.init())
        let slot = try table.create("a", session("a")).get()
        let reader = Reader()
        _ = slot.add(reader, limit: 1)
        #expect(table.sweep(at: start + .seconds(1000)).isEmpty)
        slot.remove(reader)
        #expect(table.sweep(at: start + .seconds(1059)).isEmpty)
        #expect(table.sweep(at: start + .seconds(1061)).map(\.name) == ["a"])
    }

    @Test func `of more than a stride each one ends in its time`() throws {
        let table = table(.init())
        for number in 0..<3000 { _ = try table.create("\(number)", session("\(number)")).get() }
        for number in stride(from: 0, to: 3000, by: 7) {
            table.slot("\(number)")?.recency.expires = start + .seconds(200)
        }
        #expect(table.sweep(at: start + .seconds(100)).count == 2571)
        #expect(table.sweep(at: start + .seconds(201)).count == 429)
        #expect(table.size == (0, 0))
    }

    @Test func `a name is free as soon as its session is gone`() async throws {
        let table = table(.init())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<2000 {
                        guard let session = try? self.session("a") else { return }
                        _ = table.create("a", session)
                        // A slot that is found has a session, unless that was dropped after the look-up.
                        if let slot = table.slot("a"), slot.session == nil { #expect(table.slot("a") !== slot) }
                        if let slot = table.slot("a") { _ = table.drop(slot, at: nil) }
                    }
                }
            }
        }
        if let slot = table.slot("a") { _ = table.drop(slot, at: nil) }
        #expect(table.size == (0, 0))
    }

    @Test func `a commit keeps a key that was answered while it was computed`() throws {
        let table = table(.init())
        let one = try session("a")
        let slot = try table.create("a", one).get()
        var replays = one.replays
        replays.remember(
            .init(fingerprint: .init(value: 1), made: false, before: one.head.revision, done: start),
            by: .init(writer: "", key: "k"))
        let same = one.with(replays: replays)
        #expect(throws: Never.self) { try table.commit(same, to: slot, after: one).get() }
        let two = writing("a").session(after: one, try Snapshot(json: "[1]"), maker: nil).0
        #expect(throws: Never.self) { try table.commit(two, to: slot, after: one).get() }
        #expect(slot.session?.replays.entries.map(\.key.key) == ["k"])
    }

    @Test func `what was made of other settings is not put in their place`() throws {
        let table = table(.init())
        let one = try session("a")
        let slot = try table.create("a", one).get()
        let reader = Reader()
        _ = slot.add(reader, limit: 10)
        let answers = slot.answers(in: table.answers)
        var settings = one.settings
        settings.timeToLive = .seconds(7)
        let settled = writing("a").session(one, settled: settings)
        #expect(throws: Never.self) { try table.commit(settled, to: slot, after: one).get() }
        #expect(slot.recency.timeToLive == .seconds(7) && slot.recency.expires <= .now + .seconds(7))
        #expect(reader.lines.isEmpty && slot.answers(in: table.answers) !== answers)
        // Another change of settings, and a write: both were computed before the first.
        settings.keepsExpanded = true
        let other = writing("a").session(one, settled: settings)
        let two = writing("a").session(after: one, try Snapshot(json: "[1]"), maker: nil).0
        for next in [other, two] { #expect(table.commit(next, to: slot, after: one).isConflict) }
        #expect(slot.compact() != nil && table.commit(two, to: slot, after: one).isConflict)
        let next = writing("a").session(after: settled, try Snapshot(json: "[1]"), maker: nil).0
        #expect(throws: Never.self) { try table.commit(next, to: slot, after: settled).get() }
        #expect(slot.session?.settings == settled.settings && reader.lines == ["changed"])
    }

    @Test func `readers who are no longer admitted end once a session is public no more`() throws {
        let table = table(.init())
        var one = try session("a")
        let slot = try table.create("a", one).get()
        let (known, unknown) = (Listener(), Listener { false })
        for reader in [known, unknown] { _ = slot.add(reader, limit: 10) }
        var settings = one.settings
        for isPublic in [true, false, true] {
            settings.isPublic = isPublic
            let next = writing("a").session(one, settled: settings)
            _ = try table.commit(next, to: slot, after: one).get()
            one = next
            #expect(slot.isPublic == isPublic)
        }
        #expect(known.counts.withLock { $0 } == [1, 0] && unknown.counts.withLock { $0[1] } == 1)
    }

    @Test func `readers without credentials are at most half`() throws {
        let table = table(.init())
        let slot = try table.create("a", session("a")).get()
        let readers = (0..<4).map { Listener(isAnonymous: $0 < 3) }
        #expect(readers.map { slot.add($0, limit: 4) } == [.added, .added, .tooMany, .added])
        table.remove(readers[0], from: slot)
        #expect(slot.add(readers[2], limit: 4) == .added && slot.isFull(4, isAnonymous: true))
        #expect(!slot.isFull(4, isAnonymous: false) && slot.isFull(3, isAnonymous: false))
    }

    @Test func `what a session weighs is its newest state, not its past`() throws {
        let table = table(.init())
        var one = try session("a", bytes: 5000)
        let slot = try table.create("a", one).get()
        let weight = try #require(table.peek("a")).bytes
        for number in 0..<20 {
            let next = try Snapshot(json: #"[{"id":"\#(number)","content":"\#(String(repeating: "x", count: 5000))"}]"#)
            let after = writing("a").session(after: one, next, maker: nil).0
            _ = try table.commit(after, to: slot, after: one).get()
            one = after
        }
        let after = try #require(table.peek("a")).bytes
        #expect(table.size.bytes > weight + 2000 && after < weight + 500 && table.peek("b") == nil)
    }

    // MARK: Leaving

    @Test func `those with readers leave in order of use behind all others`() throws {
        let table = table(.init(sessions: 6))
        let reader = Reader()
        var slots: [String: SessionSlot] = [:]
        for name in ["a", "b", "c", "d", "e", "f"] { slots[name] = try table.create(name, session(name)).get() }
        for name in ["a", "c", "e"] { _ = slots[name]?.add(reader, limit: 1) }
        _ = table.slot("a")
        table.remove(reader, from: slots["c"]!)
        var left: [String] = []
        for new in ["1", "2", "3", "4", "5"] {
            _ = try table.create(new, session(new)).get()
            left += ["a", "b", "c", "d", "e", "f"].filter { !table.holds($0) && !left.contains($0) }
        }
        // The loss of its reader counted as a use of c. The new sessions follow.
        #expect(left == ["b", "d", "f", "c"])
        for new in ["6", "7", "8", "9"] { _ = try table.create(new, session(new)).get() }
        #expect(names(table, "ae") == "ae")
    }

    @Test func `each session ends in its second, however it was used`() throws {
        let table = table(.init())
        let times = [1, 3, 60, 1023, 1024, 1025, 5000, 100_000]
        for time in times { _ = try table.create("\(time)", session("a", ttl: .seconds(time))).get() }
        _ = try table.create("used", session("a", ttl: .seconds(60))).get()
        var ended: [Int] = []
        for second in stride(from: 0, through: 101_000, by: 1) {
            if second == 50 { _ = table.slot("used", at: start + .seconds(50)) }
            for slot in table.sweep(at: start + .seconds(second)) {
                // The clock has advanced a little between `start` and the creation.
                #expect(
                    slot.name == "used" ? abs(second - 110) <= 2 : abs(second - Int(slot.name)!) <= 2 + 1,
                    "\(slot.name) at \(second)")
                ended.append(second)
            }
        }
        #expect(ended.count == times.count + 1 && table.size == (0, 0))
    }

    @Test func `a sweep that comes late misses nobody`() throws {
        let table = table(.init())
        for number in 0..<3000 { _ = try table.create("\(number)", session("a", ttl: .seconds(1 + number))).get() }
        #expect(table.sweep(at: start + .seconds(1500)).count >= 1490)
        #expect(table.sweep(at: start + .seconds(90_000)).count <= 1510)
        #expect(table.size == (0, 0))
    }
}

extension Result where Failure == StoreFailure {
    var isConflict: Bool {
        if case .failure(.conflict) = self { return true }
        return false
    }
}
