import Foundation
import HTTPCore
import SnapshotKit
import Testing

@testable import diffserver

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
        // Each was computed before that, and the revision is what it was.
        settings.ignored = []
        settings.timeToLive = .seconds(7)
        for late in [
            store.writing("a").session(read, settled: settings), try store.next("a", read, #"["y"]"#),
        ] {
            await #expect(throws: StoreFailure.conflict) { try await store.committed(late, to: slot, after: read) }
        }
        settings = two.settings
        (settings.timeToLive, settings.keepsExpanded) = (.seconds(77), true)
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
        let changes = Changeset(from: past.snapshot, to: reading.session.head.snapshot, reused: past.reused).json(
            .keyed)
        let expected = Changeset(from: try Snapshot(json: states[0]), to: try Snapshot(json: states[2])).json(.keyed)
        #expect(String(decoding: changes, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
    }

    private struct Missing: Error {}

    /// The log of whoever only followed once grew for ever; and when such a node wrote, it took the log for too long,
    /// and began it anew without a past.
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
        // The log is no longer than that, but for the entry that made the oldest of them.
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
        let batch = try EditBatch(json: #"[{"op":"reload","items":["a"]}]"#)
        let write = ChangeSession(
            PostedBody(.edits(batch, StateLimits(), text: [])), condition: WriteCondition(), key: key,
            fingerprint: RequestFingerprint(value: 9))
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
        try await Task.sleep(for: .milliseconds(400))
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
        // Used after 9 seconds, of which the table says nothing to the store yet: that is less than a thirty-second of
        // its time.
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

    // MARK: Memory that is too small

    @Test(.enabled(if: RedisServer.isInstalled))
    func `a large session that many ask for at once comes once from Redis`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let store = try fixture.store()
        let state = "[{\"id\":0,\"content\":\"\(String(repeating: "x", count: 2_000_000))\"}]"
        _ = try await store.created("s", try store.first("s", state))
        let later = try fixture.later(than: store)
        let before = try await fixture.bytesOfRedis()
        let sessions = try await withThrowingTaskGroup(of: Session?.self) { group in
            for _ in 0..<50 { group.addTask { try await later.opened("s")?.session } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sessions.count == 50 && sessions.allSatisfy { $0 === sessions[0] && $0 != nil })
        let bytes = try await fixture.bytesOfRedis() - before
        #expect((2_000_000..<4_000_000).contains(bytes))
        // Who waited is told before the room is given back.
        let isFree = await eventually {
            later.table.messages.records.inUse == 0 && store.table.messages.records.inUse == 0
        }
        #expect(isFree)
    }

    @Test(arguments: StoreKind.allCases.filter { $0 != .memory })
    func `a session that left memory is nobody's loss`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store(bounds: SessionTable.Bounds(sessions: 1))
        let one = try store.first("s", "[0]")
        let slot = try await store.created("s", one)
        let reader = Listener()
        _ = slot.add(reader, limit: 10)
        store.watch(slot)
        let reading = try #require(try await store.opened("s"))
        _ = try await store.created("other", try store.first("other", "[0]"))
        #expect(slot.session == nil && slot.revision == one.head.revision)
        #expect(reader.counts.withLock { $0 } == [0, 0])
        // What was read before is still good for a write, which brings the session back and wakes its reader.
        var two = try store.next("s", reading.session, "[1]")
        two = try await store.committed(two, to: reading.slot, after: reading.session)
        #expect(reader.counts.withLock { $0 } == [1, 0])
        // A late validation of what is watched may have brought it back once.
        let isAway = { await eventually { (try? await store.opened("other")) != nil && slot.session == nil } }
        #expect(await isAway())
        // Read again it is in the slot where its reader is, to whom it is no news.
        let again = try #require(try await store.opened("s"))
        #expect(again.slot === slot && slot.session != nil && again.session.head.revision == two.head.revision)
        #expect(reader.counts.withLock { $0 } == [1, 0])
        #expect(again.isUsable(.revision(one.head.revision), Sight()))
        #expect(await isAway())
        try await store.dropped(slot, again.session, at: two.head.revision)
        #expect(reader.counts.withLock { $0 } == [1, 1])
        #expect(try await store.opened("s") == nil)
    }

    @Test(arguments: StoreKind.allCases.filter { $0 != .memory })
    func `history takes no room from the newest state`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let state = { (number: Int) in
            let letter = String(UnicodeScalar(UInt8(96 + number)))
            return #"[{"id":\#(number),"content":"\#(String(repeating: letter, count: 3000))"}]"#
        }
        let hash = KeyedHash.digests("tests")
        let one = SessionTransition(name: "s", bounds: .init(), hash: hash, now: .now).firstSession(
            try Snapshot(json: state(1)), settings: .init(timeToLive: .seconds(3600), ignored: []), after: nil,
            maker: nil)
        let store = try fixture.store(bounds: SessionTable.Bounds(bytes: one.footprint + 100))
        var (slot, session) = (try await store.created("s", one), one)
        for number in 2...20 {
            let next = try store.next("s", session, state(number))
            session = try await store.committed(next, to: slot, after: session)
        }
        #expect(session.footprint > store.table.bounds.bytes)
        _ = try await store.created("t", one)
        #expect(slot.session == nil)
        let reading = try #require(try await store.opened("s"))
        #expect(reading.session.head.revision.sequence == 20)
        slot = reading.slot
        let large = try store.next("s", reading.session, state(1).replacing("a", with: "aaa"))
        await #expect(throws: StoreFailure.capacity) {
            try await store.committed(large, to: slot, after: reading.session)
        }
    }

    @Test(arguments: StoreKind.allCases.filter { $0 != .memory })
    func `a session that is read while it is away does not end`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store(bounds: SessionTable.Bounds(sessions: 1))
        let start = Instant.now
        let slot = try await store.created("s", try store.first("s", "[0]", ttl: .seconds(3600)))
        let reader = Listener()
        _ = slot.add(reader, limit: 10)
        _ = try await store.created("other", try store.first("other", "[0]"))
        #expect(store.table.readWhileAway(at: start).isEmpty)
        #expect(store.table.readWhileAway(at: .now + .seconds(1800)).map(\.slot.name) == ["s"])
        #expect(store.table.isInUse("s") && !store.table.holds("s"))
        slot.remove(reader)
        #expect(store.table.readWhileAway(at: .now + .seconds(4000)).isEmpty && !store.table.isInUse("s"))
    }
}

extension StoreFixture {
    /// All that Redis has ever sent.
    fileprivate func bytesOfRedis() async throws -> Int {
        let client = RedisClient(RedisAddress("unix:\(redis?.socket ?? "")")!, RedisOptions(), on: .ofTests)
        defer { client.close() }
        let reply = try await withCheckedThrowingContinuation { continuation in
            client.send(RedisCommand("INFO", "stats")) { continuation.resume(with: $0.mapError { $0 as any Error }) }
        }
        let line = reply.text?.split(separator: "\r\n").first { $0.hasPrefix("total_net_output_bytes:") }
        return try #require(line?.split(separator: ":").last.flatMap { Int($0) })
    }
}

/// Counts what a reader hears: changes, and ends.
private final class Listener: SessionReader {
    let counts = Locked([0, 0])
    func sessionChanged() { counts.withLock { $0[0] += 1 } }
    func sessionEnded(_ problem: Problem) { counts.withLock { $0[1] += 1 } }

    // MARK: Tokens

    private static func token(_ session: String, made: Int) -> Token {
        Token(sessions: [session], scopes: [.read], expires: WallTime(seconds: 1), made: made)
    }

    @Test(arguments: StoreKind.allCases)
    func `tokens that were revoked stay so, with a session and without`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let now = WallTime.milliseconds
        _ = try await store.created("a", try store.first("a", "[]"))
        for (name, moment) in [("a", now), ("none", now + 1), ("a", now - 5), ("old", now - Revocations.life - 1)] {
            try await store.revokeTokens(of: name, upTo: moment, on: .ofTests).value
        }
        store = try fixture.later(than: store)
        // A node that shares the store hears of it when it asks for any session.
        _ = try await store.opened("b")
        let revocations = store.table.revocations
        #expect(revocations.refuse(Self.token("a", made: now)))
        #expect(!revocations.refuse(Self.token("a", made: now + 1)))
        #expect(revocations.refuse(Self.token("none", made: now + 1)))
        #expect(!revocations.refuse(Self.token("none", made: now + 2)))
        #expect(!revocations.refuse(Self.token("b", made: 0)))
    }

    @Test(.enabled(if: RedisServer.isInstalled))
    func `whoever reads or writes behind a revocation knows of it`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let (here, there) = (try fixture.store(), try fixture.store())
        var session = try here.first("a", "[]")
        let slot = try await here.created("a", session)
        for number in 0..<50 {
            let made = 1_800_000_000_000 + number
            try await there.revokeTokens(of: "s\(number)", upTo: made, on: .ofTests).value
            if number % 2 == 0 {
                _ = try await here.opened("a")
            } else {
                let next = try here.next("a", session, "[\(number)]")
                do {
                    session = try await here.committed(next, to: slot, after: session)
                } catch StoreFailure.conflict {
                    // It is known by now, so that to begin again is to be refused, or to succeed.
                    session = try await here.committed(next, to: slot, after: session)
                }
            }
            #expect(here.table.revocations.refuse(Self.token("s\(number)", made: made)))
        }
        #expect(here.table.revocations.count == 50)
    }

    @Test(.enabled(if: RedisServer.isInstalled))
    func `nodes hear of a revocation though they ask for nothing`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let (here, there) = (try fixture.store(), try fixture.store())
        try await there.revokeTokens(of: "a", upTo: 1_800_000_000_000, on: .ofTests).value
        #expect(await eventually { here.table.revocations.refuse(Self.token("a", made: 1_800_000_000_000)) })
    }

    @Test func `where revocations cannot be read any more, no older token is taken`() async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        let store = try fixture.store()
        let made = WallTime.milliseconds
        try await store.revokeTokens(of: "a", upTo: made, on: .ofTests).value
        store.close()
        let database = try SQLiteDatabase(path: fixture.database)
        try database.execute("DROP TABLE revocation")
        database.close()
        let revocations = try fixture.store().table.revocations
        #expect(revocations.refuse(Self.token("a", made: made)))
        #expect(revocations.refuse(Self.token("b", made: made)))
        #expect(!revocations.refuse(Self.token("b", made: made + 3_600_000)))
    }

    // MARK: Lists

    @Test(arguments: StoreKind.allCases)
    func `sessions are listed in the order of their names, some at a time`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let names = (0..<25).map { "team-\($0 % 2):\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names.shuffled() { _ = try await store.created(name, try store.first(name, #"["a","b","c"]"#)) }
        let slot = try #require(store.table.anySlot(names[3])), first = try #require(slot.session)
        let changed = try store.next(names[3], first, #"["a"]"#)
        try await store.committed(changed, to: slot, after: first)
        for isLater in [false, true] {
            if isLater { store = try fixture.later(than: store) }
            for prefix in ["", "team-1:", "none"] {
                let expected = names.filter { $0.hasPrefix(prefix) }
                var (listed, after): ([SessionEntry], String?) = ([], "")
                while let start = after {
                    let page = try await store.list(SessionRange(prefix: prefix, after: start, limit: 6)).value
                    #expect(page.entries.count <= 6)
                    #expect(page.next == nil || page.next == page.entries.last?.name)
                    listed += page.entries
                    after = page.next
                }
                #expect(listed.map(\.name) == expected)
                for entry in listed {
                    #expect(entry.rows == (entry.name == names[3] ? 1 : 3))
                    #expect(try #require(entry.bytes) > 10)
                    #expect(entry.revision.hasPrefix(entry.name == names[3] ? "2-" : "1-"))
                    #expect((3000...4000).contains(entry.expires.seconds - WallTime.now.seconds))
                }
            }
        }
        #expect(try await store.opened(names[3])?.session.head.revision == changed.head.revision)
        let dropped = try #require(try await store.opened(names[0]))
        try await store.dropped(dropped.slot, dropped.session, at: nil)
        let page = try await store.list(SessionRange(prefix: "", after: "", limit: 1)).value
        #expect(page.entries.map(\.name) == [names[1]])
        #expect(page.next == names[1])
    }

    @Test(arguments: StoreKind.allCases)
    func `to be listed is no use, and what has ended is not listed`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        _ = try await store.created("a", try store.first("a", "[]", ttl: .seconds(1)))
        _ = try await store.created("b", try store.first("b", "[]"))
        let range = SessionRange(prefix: "", after: "", limit: 10)
        #expect(await eventually { (try? await store.list(range).value.entries.map(\.name)) == ["b"] })
    }

    @Test func `a database of the format before is taken over`() async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        let store = try fixture.store()
        let session = try store.first("a", #"["x","y"]"#)
        _ = try await store.created("a", session)
        store.close()
        let database = try SQLiteDatabase(path: fixture.database)
        for statement in [
            "DROP TABLE revocation", "ALTER TABLE session DROP COLUMN rows", "ALTER TABLE session DROP COLUMN bytes",
            "PRAGMA user_version = 2",
        ] { try database.execute(statement) }
        database.close()
        let later = try fixture.store()
        let range = SessionRange(prefix: "", after: "", limit: 10)
        let entry = try #require(try await later.list(range).value.entries.first)
        #expect((entry.name, entry.revision) == ("a", session.head.revision.text))
        #expect((entry.rows, entry.bytes) == (nil, nil))
        #expect(!later.table.revocations.refuse(Self.token("a", made: 0)))
        let view = try #require(try await later.opened("a"))
        let next = try later.next("a", view.session, #"["x"]"#)
        try await later.committed(next, to: view.slot, after: view.session)
        #expect(try await later.list(range).value.entries.first?.rows == 1)
        try await later.revokeTokens(of: "a", upTo: 5, on: .ofTests).value
    }
}
