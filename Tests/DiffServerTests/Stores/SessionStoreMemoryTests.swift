import HTTPCore
import SnapshotKit
import Testing

@testable import DiffRedis
@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// What stores do when memory runs short.
@Suite struct SessionStoreMemoryTests {
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
        // Waiters are told before the memory is released.
        let isFree = await eventually {
            fixture.records.allSatisfy { $0.inUse == 0 }
        }
        #expect(isFree)
    }

    @Test(arguments: StoreKind.allCases.filter { $0 != .memory })
    func `a large session that was read counts until it has been used, and the next one waits`(
        _ kind: StoreKind
    ) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store(bounds: SessionTable.Bounds(bytes: 16 << 20))
        let state = "[{\"id\":0,\"content\":\"\(String(repeating: "x", count: 2_000_000))\"}]"
        for name in ["s", "t"] { _ = try await store.created(name, try store.first(name, state)) }
        let later = try fixture.later(than: store)
        let records = later.table.account.records
        var view = try await later.opened("s")
        #expect(view?.share != nil && records.inUse >= 2_000_000)
        let next = Task { try await later.opened("t")?.session.rows }
        let waits = await eventually { records.waiterCount == 1 }
        #expect(waits)
        view = nil
        #expect(try await next.value == 1)
        let isFree = await eventually { records.inUse == 0 && records.waiterCount == 0 }
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
        // A session read before its eviction still serves for a write, which brings it back and wakes its reader.
        var two = try store.next("s", reading.session, "[1]")
        two = try await store.committed(two, to: reading.slot, after: reading.session)
        #expect(reader.counts.withLock { $0 } == [1, 0])
        // A late validation of a watched session may have brought it back once.
        let isAway = { await eventually { (try? await store.opened("other")) != nil && slot.session == nil } }
        #expect(await isAway())
        // Read again, the session is back in its reader's slot, and no news to the reader.
        let again = try #require(try await store.opened("s"))
        #expect(again.slot === slot && slot.session != nil && again.session.head.revision == two.head.revision)
        #expect(reader.counts.withLock { $0 } == [1, 0])
        #expect(try again.isUsable(.revision(one.head.revision), #require(Projection(of: .anyone, in: nil))))
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
    /// All bytes that Redis has ever sent.
    fileprivate func bytesOfRedis() async throws -> Int {
        let reply = try await TestClient("unix:\(redis?.socket ?? "")").send("INFO", "stats").get()
        let line = reply.text?.split(separator: "\r\n").first { $0.hasPrefix("total_net_output_bytes:") }
        return try #require(line?.split(separator: ":").last.flatMap { Int($0) })
    }
}
