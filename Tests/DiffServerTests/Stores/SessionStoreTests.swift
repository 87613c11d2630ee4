import Foundation
import HTTPCore
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSQLite
@testable import DiffSessions
@testable import DiffStores

/// What every store promises.
@Suite struct SessionStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `a session that was never made is not there`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        #expect(try await store.opened("a") == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `what was created is found, by later processes too`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let text = #"""
            {"sections":[{"id":1,"content":{"z":1.50,"a":"\u00e9"},"expanded":false,"items":["x",{"id":"y",
            "kind":"k","content":[1e400]}]},
            {"id":"\u0074","items":[{"id":"p","expanded":false,"items":[7]}]}]}
            """#
        let session = try store.first(
            "a", text, ttl: .seconds(777), ignoring: ["/a"], shape: .pointers(idAt: JSONPointer("/k")))
        _ = try await store.created("a", session)
        store = try fixture.later(than: store)
        let found = try #require(try await store.opened("a")).session
        #expect(found.head.revision == session.head.revision)
        #expect(found.head.snapshot.documentJSON() == session.head.snapshot.documentJSON())
        #expect(found.settings == session.settings)
    }

    @Test(arguments: StoreKind.allCases)
    func `what is waited for is timed`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let slot = try await store.created("a", try store.first("a", #"["x"]"#))
        let read = try #require(try await store.opened("a")).session
        _ = try await store.committed(try store.next("a", read, #"["y"]"#), to: slot, after: read)
        let before = store.table.storeTimes.values
        store = try fixture.later(than: store)
        _ = try await store.opened("a")
        let after = store.table.storeTimes.values
        guard kind != .memory else {
            #expect(before.isEmpty && after.isEmpty)
            return
        }
        #expect(before.first { $0.operation == .commit }?.times.counts.reduce(0, +) == 2)
        #expect(after.map(\.operation) == [.load])
        #expect(after[0].times.sum > 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `one of two creations succeeds`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        _ = try await store.created("a", try store.first("a", #"["x"]"#))
        await #expect(throws: StoreFailure.conflict) {
            _ = try await store.created("a", try store.first("a", #"["y"]"#))
        }
        #expect(try await store.opened("a")?.session.head.snapshot.rowCount == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `settings that changed are found, and no write loses them`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let one = try store.first("a", #"[{"id":"x","content":{"m0":0,"n":1}}]"#)
        let slot = try await store.created("a", one)
        let read = try #require(try await store.opened("a")).session
        var settings = one.settings
        settings.ignored = [JSONPointer("/n")!]
        let settled = store.writing("a").session(read, settled: settings)
        let two = try await store.committed(settled, to: slot, after: read)
        #expect(two.settings.ignored == settings.ignored && two.head.revision == one.head.revision)
        // Each was computed before the change of settings, which kept the revision.
        settings.ignored = []
        settings.timeToLive = .seconds(7)
        for late in [
            store.writing("a").session(read, settled: settings), try store.next("a", read, #"["y"]"#),
        ] {
            await #expect(throws: StoreFailure.conflict) { try await store.committed(late, to: slot, after: read) }
        }
        settings = two.settings
        (settings.timeToLive, settings.keepsExpanded, settings.isPublic) = (.seconds(77), true, true)
        var three = try await store.committed(store.writing("a").session(two, settled: settings), to: slot, after: two)
        for turn in 0..<2 {
            store = try fixture.later(than: store)
            let found = try #require(try await store.opened("a"))
            #expect(found.session.settings == settings && found.session.head.revision == three.head.revision)
            let state = { (member: Int, ignored: Int) in
                #"[{"id":"x","content":{"m\#(member)":0,"n":\#(ignored)}}]"#
            }
            #expect(try store.next("a", found.session, state(turn, 2)) === found.session)
            let next = try store.next("a", found.session, state(turn + 1, 1))
            three = try await store.committed(next, to: found.slot, after: found.session)
            #expect(three.head.revision.sequence == next.head.revision.sequence && three.settings == settings)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a commit at an old revision changes nothing`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        let one = try store.first("a", #"["x"]"#)
        let slot = try await store.created("a", one)
        let two = try store.next("a", one, #"["x","y"]"#)
        try await store.committed(two, to: slot, after: one)
        let other = try store.next("a", one, #"["z"]"#)
        await #expect(throws: StoreFailure.conflict) { try await store.committed(other, to: slot, after: one) }
        #expect(try await store.opened("a")?.session.head.revision == two.head.revision)
    }

    @Test(arguments: StoreKind.allCases)
    func `of many writers at one revision one gets through`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        let one = try store.first("a", #"["x"]"#)
        let slot = try await store.created("a", one)
        let winners = try await withThrowingTaskGroup(of: Revision?.self) { group in
            for writer in 0..<32 {
                group.addTask {
                    let next = try store.next("a", one, #"["x",\#(writer)]"#)
                    do {
                        try await store.committed(next, to: slot, after: one)
                        return next.head.revision
                    } catch StoreFailure.conflict { return nil }
                }
            }
            return try await group.reduce(into: [Revision]()) { if let revision = $1 { $0.append(revision) } }
        }
        #expect(winners.count == 1)
        #expect(try await store.opened("a")?.session.head.revision == winners.first)
    }

    @Test(arguments: StoreKind.allCases)
    func `a session goes only at the revision that was named`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        let one = try store.first("a", #"["x"]"#)
        let slot = try await store.created("a", one)
        let two = try store.next("a", one, #"["y"]"#)
        try await store.committed(two, to: slot, after: one)
        await #expect(throws: StoreFailure.conflict) { try await store.dropped(slot, one, at: one.head.revision) }
        try await store.dropped(slot, two, at: two.head.revision)
        #expect(try await store.opened("a") == nil)
        _ = try await store.created("a", one)
        #expect(try await store.opened("a")?.session.head.revision == one.head.revision)
    }

    @Test(arguments: StoreKind.allCases)
    func `a remembered revision is a base, for later processes too`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let states = [
            #"[{"id":"a","content":1},"b"]"#, #"["b",{"id":"a","content":1}]"#, #"["b",{"id":"a","content":2},"c"]"#,
        ]
        var session = try store.first("s", states[0])
        let base = session.head.revision
        let slot = try await store.created("s", session)
        for state in states.dropFirst() {
            let next = try store.next("s", session, state)
            session = try await store.committed(next, to: slot, after: session)
        }
        store = try fixture.later(than: store)
        let reading = try #require(try await store.opened("s"))
        guard case .past(let place, _) = reading.resumePoint(base) else { throw Missing() }
        let past = try #require(reading.session.state(at: place))
        #expect(past.snapshot.documentJSON() == (try Snapshot(json: states[0]).documentJSON()))
        let changes = Changeset(from: past.snapshot, to: reading.session.head.snapshot, shared: past.shared).json(
            .keyed)
        let expected = Changeset(from: try Snapshot(json: states[0]), to: try Snapshot(json: states[2])).json(.keyed)
        #expect(String(decoding: changes, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
    }

    private struct Missing: Error {}

    /// The log of a node that only follows once grew forever; when such a node wrote, it found the log too long, and
    /// started it over without its past.
    @Test(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
    func `who has followed for long keeps no more than the log, and writes on in it`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let (writer, follower) = (try fixture.store(), try fixture.store())
        let state = { (changed: Int) in
            "[\((0..<30).map { #"{"id":\#($0),"content":\#($0 == 7 ? changed : 0)}"# }.joined(separator: ","))]"
        }
        var session = try writer.first("s", state(0))
        let slot = try await writer.created("s", session)
        for commit in 1...250 {
            let next = try writer.next("s", session, state(commit))
            session = try await writer.committed(next, to: slot, after: session)
            _ = try await follower.opened("s")
        }
        let followed = try #require(try await follower.opened("s"))
        #expect(followed.session.head.revision == session.head.revision)
        #expect(followed.session.log.entries.map(\.id) == session.log.entries.map(\.id))
        #expect(followed.session.log.covered == session.log.covered)
        let next = try follower.next("s", followed.session, state(0))
        try await follower.committed(next, to: followed.slot, after: followed.session)
        let read = try #require(try await fixture.later(than: writer).opened("s"))
        #expect(read.session.history.entries.map(\.revision) == next.history.entries.map(\.revision))
        #expect(read.session.history.entries.count == 64)
    }

    @Test(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
    func `a change as large as the state reaches a node that has the session, and its readers`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let store = try fixture.store()
        let state = { (letter: String) in
            let content = String(repeating: letter, count: 40)
            let rows = (0..<20).map { #"{"id":"\#(letter)\#($0)","content":"\#(content)"}"# }
            return "[\(rows.joined(separator: ","))]"
        }
        var session = try store.first("s", state("a"))
        let slot = try await store.created("s", session)
        let other = try fixture.store()
        let there = try #require(try await other.opened("s")).slot
        let reader = Listener()
        _ = there.add(reader, limit: 10)
        for letter in ["b", "c"] {
            session = try await store.committed(try store.next("s", session, state(letter)), to: slot, after: session)
            let found = try #require(try await other.opened("s"))
            #expect(found.session.head.revision == session.head.revision)
            #expect(there.session?.head.revision == session.head.revision, "what the table has follows")
        }
        #expect(reader.counts.withLock { $0 } == [2, 0])
        let past = try #require(there.session?.state(at: 0)).snapshot
        #expect(past.documentJSON() == (try Snapshot(json: state("a")).documentJSON()))
    }

    @Test(arguments: StoreKind.allCases)
    func `history keeps its bounds`(_ kind: StoreKind) async throws {
        var bounds = SessionTable.Bounds()
        bounds.history.revisions = 3
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store(bounds: bounds)
        var session = try store.first("s", "[0]")
        let slot = try await store.created("s", session)
        for state in 1...9 {
            let next = try store.next("s", session, "[\(state)]")
            session = try await store.committed(next, to: slot, after: session)
        }
        store = try fixture.later(than: store)
        let reading = try #require(try await store.opened("s"))
        #expect(reading.session.history.entries.map(\.revision.sequence) == [7, 8, 9])
        for place in 0..<3 {
            let document = String(decoding: reading.session.state(at: place)!.snapshot.documentJSON(), as: UTF8.self)
            #expect(document.contains("\"id\":\(6 + place)"))
        }
        // The log is no longer than the history, but for the entry that made the oldest state.
        if kind != .memory { #expect(reading.session.log.entries.count <= 3 + 1 + 3) }
    }

    @Test(arguments: StoreKind.allCases)
    func `answered keys and marks are remembered by later processes`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let one = try store.first("s", #"["a","b"]"#)
        let slot = try await store.created("s", one)
        let key = ReplayWindow.Key(writer: "w", key: "k")
        let write = ChangeSession(
            PostedBody(json: #"{"edits":[{"op":"reload","items":["a"]}]}"#, one.settings),
            condition: WriteCondition(), key: key, fingerprint: RequestFingerprint(value: 9))
        guard case .swap(let two, _) = try write.decide(one, by: store.writing("s")) else { throw Missing() }
        try await store.committed(two, to: slot, after: one)
        store = try fixture.later(than: store)
        let found = try #require(try await store.opened("s")).session
        #expect(found.head.marks == two.head.marks)
        #expect(found.head.maker == RequestFingerprint(value: 9))
        #expect(found.head.parent == one.head.revision)
        #expect(found.replays.entry(key, at: .now)?.before == one.head.revision)
    }

    @Test(arguments: StoreKind.allCases)
    func `an unused session ends in its time`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        _ = try await store.created("s", try store.first("s", "[0]", ttl: .milliseconds(300)))
        try await letPass(.milliseconds(400), "the session's ttl")
        store.sweep()
        #expect(try await store.opened("s") == nil)
        store = try fixture.later(than: store)
        #expect(try await store.opened("s") == nil)
        _ = try await store.created("s", try store.first("s", "[1]"))
    }

    @Test(arguments: StoreKind.allCases)
    func `readers hear of commits and of the end`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        let one = try store.first("s", "[0]")
        let slot = try await store.created("s", one)
        let reader = Listener()
        _ = slot.add(reader, limit: 10)
        store.watch(slot)
        let two = try store.next("s", one, "[1]")
        try await store.committed(two, to: slot, after: one)
        #expect(reader.counts.withLock { $0 } == [1, 0])
        try await store.dropped(slot, two, at: nil)
        #expect(reader.counts.withLock { $0 } == [1, 1])
    }

    @Test func `no session in a database ends early, though not each use of it is written down`() async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        var store = try fixture.store()
        _ = try await store.created("s", try store.first("s", "[0]", ttl: .seconds(3200)))
        store = try fixture.later(than: store)
        let start = Instant.now
        _ = try #require(try await store.opened("s"))
        // Used after 9 seconds, which the table does not report to the store yet: that is less than 1/32 of the time to
        // live.
        _ = store.table.slot("s", at: start + .seconds(9))
        #expect(store.table.usedSinceStored(at: start + .seconds(9)).isEmpty)
        store.close()
        let row = try #require(try SQLiteDatabase(path: fixture.database).session(named: "s"))
        #expect(WallClock().moment(milliseconds: row.expires) >= start + .seconds(9 + 3200))
        #expect(WallClock().moment(milliseconds: row.expires) <= .now + .seconds(3200 + 300))
    }

    @Test func `a commit writes an end down only where it comes near, and each other time to live`() async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        let store = try fixture.store()
        var session = try store.first("s", "[0]", ttl: .seconds(320_000))
        let slot = try await store.created("s", session)
        let file = try SQLiteDatabase(path: fixture.database)
        let end = { try #require(try file.session(named: "s")).expires }
        let (first, began) = (try end(), WallClock().milliseconds(.now))
        session = try await store.committed(try store.next("s", session, "[1]"), to: slot, after: session)
        #expect(try end() == first)
        for (left, isEnough) in [(349_500, true), (330_000, false)] {
            let written = WallClock().milliseconds(.now) + left * 1000
            try file.execute("UPDATE session SET expires = \(written)")
            let next = try store.next("s", session, "[\(left)]")
            session = try await store.committed(next, to: slot, after: session)
            #expect(try (end() == written) == isEnough)
        }
        let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
        let anew = store.writing("s").firstSession(
            try Snapshot(json: "[2]"), settings: settings, after: session, maker: nil)
        session = try await store.committed(anew, to: slot, after: session)
        #expect((60_000..<600_000).contains(try end() - began))
        for seconds in [7000, 30] {
            var settings = session.settings
            settings.timeToLive = .seconds(seconds)
            let settled = store.writing("s").session(session, settled: settings)
            let before = WallClock().milliseconds(.now)
            session = try await store.committed(settled, to: slot, after: session)
            let end = try end()
            #expect(end - before >= seconds * 950)
            #expect(end - WallClock().milliseconds(.now) < seconds * 1100)
        }
    }
}
