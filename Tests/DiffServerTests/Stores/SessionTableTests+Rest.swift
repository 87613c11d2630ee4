import Dispatch
import HTTPCore
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// States at rest: packed, and unpacked for use.
extension SessionTableTests {
    @Test func `those that nobody used of late rest, and are as they were`() throws {
        let table = table(.init(awake: 2))
        let names = ["a", "b", "c", "d", "e"]
        var sessions: [String: Session] = [:]
        for name in names {
            sessions[name] = try session(name, bytes: 500)
            _ = try table.create(name, sessions[name]!).get()
        }
        let slots = try names.map { try #require(table.slot($0)) }
        #expect(slots.map { $0.awakeSession != nil } == [false, false, false, true, true])
        let awake = sessions["a"]!.footprint
        #expect(table.size.bytes < 5 * awake)
        for (name, slot) in zip(names, slots) {
            let found = try #require(table.view(name)).session
            #expect(slot.awakeSession === found)
            let before = sessions[name]!
            #expect(found.head.revision == before.head.revision && found.settings == before.settings)
            #expect(found.head.snapshot.documentJSON() == before.head.snapshot.documentJSON())
            #expect(found.head.fingerprints.digest(salt: name) == before.head.revision.digest)
        }
        #expect(slots.map { $0.awakeSession != nil } == [false, false, false, true, true])
    }

    @Test func `what a resting session holds is what is charged for it`() throws {
        let table = table(.init(awake: 1))
        let one = try session("a", bytes: 500)
        _ = try table.create("a", one).get()
        #expect(table.size.bytes == one.footprint)
        let two = try session("b", bytes: 500)
        _ = try table.create("b", two).get()
        // The allocator may round the same array up by 16 bytes more at another time.
        #expect(abs(table.size.bytes - two.footprint - CompactSession(one).footprint) <= 64)
        #expect(CompactSession(one).footprint < one.footprint)
        let woken = try #require(table.view("a")).session
        #expect(abs(table.size.bytes - woken.footprint - CompactSession(two).footprint) <= 64)
        for name in ["a", "b"] { _ = table.drop(try #require(table.slot(name)), at: nil) }
        #expect(table.size == (0, 0))
    }

    @Test func `whoever was used since it woke rests later`() throws {
        let table = table(.init(awake: 3))
        for name in ["a", "b", "c"] { _ = try table.create(name, session(name)).get() }
        _ = table.slot("a")
        _ = try table.create("d", session("d")).get()
        #expect(
            try ["a", "b", "c", "d"].map { try #require(table.slot($0)).awakeSession != nil } == [
                true, false, true, true,
            ])
    }

    @Test func `a commit finds a resting session, its past and its answered keys`() throws {
        let table = table(.init(awake: 1))
        var one = try session("a")
        let slot = try table.create("a", one).get()
        var replays = ReplayWindow()
        let entry = ReplayWindow.Entry(fingerprint: .init(value: 1), made: false, before: nil, done: .now)
        replays.remember(entry, by: .init(writer: "", key: "k"))
        let next = writing("a").session(after: one, try Snapshot(json: "[1]"), maker: nil).0.with(replays: replays)
        _ = try table.commit(next, to: slot, after: one).get()
        one = next
        _ = try table.create("b", session("b")).get()
        #expect(slot.awakeSession == nil)
        let two = writing("a").session(after: one, try Snapshot(json: "[2]"), maker: nil).0.with(
            replays: ReplayWindow())
        #expect(throws: Never.self) { try table.commit(two, to: slot, after: one).get() }
        #expect(slot.awakeSession?.replays.entries.map(\.key.key) == ["k"])
        #expect(slot.awakeSession?.history.entries.map(\.revision.sequence) == [1, 2])
        _ = table.peek("b").flatMap { table.session(in: $0.slot) }
        #expect(slot.awakeSession == nil)
        #expect(slot.version == two.version)
        #expect(table.commit(two, to: slot, after: one).isConflict)
    }

    @Test func `of sessions that left a cache only those that somebody holds are remembered`() throws {
        let bounds = SessionTable.Bounds(sessions: 1, awake: 1)
        let table = SessionTable(
            bounds: bounds, maxBody: 1024, hash: nil)
        var held: SessionSlot? = try table.create("a", session("a")).get()
        for name in ["b", "c", "d"] { _ = try table.create(name, session(name)).get() }
        _ = table.sweep(at: .now)
        #expect(table.registry.withLock { Array($0.evicted.keys) } == ["a"])
        #expect(table.evictedSlot("a") === held)
        held = nil
        _ = table.sweep(at: .now)
        #expect(table.registry.withLock { $0.evicted.isEmpty })
    }

    @Test func `a session that does not exist is placeholder in a slot that it comes into`() throws {
        let table = table(.init(sessions: 2))
        let reader = Reader()
        var placeholder = table.slotToAwait("a")
        #expect(placeholder?.add(reader, limit: 1) == .added)
        #expect(placeholder?.isPlaceholder == true && placeholder?.revision == nil && placeholder?.version == nil)
        #expect(table.slotToAwait("a") === placeholder)
        #expect(table.slot("a") == nil && !table.holds("a") && !table.isInUse("a"))
        #expect(table.readWhileAway().isEmpty)
        // Not more placeholders than there may be sessions.
        let other = table.slotToAwait("b")
        #expect(table.slotToAwait("c") == nil)
        withExtendedLifetime(other) {}
        let slot = try table.create("a", session("a")).get()
        #expect(slot === placeholder && !slot.isPlaceholder)
        #expect(reader.lines == ["changed"])
        table.remove(reader, from: slot)
        placeholder = nil
        _ = table.sweep(at: .now)
        #expect(table.slotToAwait("a") === slot)
        #expect(table.slotToAwait("c") != nil)
    }

    @Test func `many hands wake and write more sessions than may be awake, and lose nothing`() async throws {
        let table = table(.init(awake: 3))
        let names = (0..<12).map { "s\($0)" }
        for name in names { _ = try table.create(name, session(name, ttl: .seconds(3600))).get() }
        let written = await withTaskGroup(of: Int.self) { group in
            for hand in 0..<4 {
                group.addTask {
                    var written = 0
                    for turn in 0..<600 {
                        let name = names[(turn * (hand + 5) + hand) % names.count]
                        guard let reading = table.view(name),
                            let state = try? Snapshot(json: "[\(hand * 1000 + turn)]")
                        else {
                            continue
                        }
                        let next = self.writing(name).session(after: reading.session, state, maker: nil).0
                        if case .success = table.commit(next, to: reading.slot, after: reading.session) {
                            written += 1
                        }
                    }
                    return written
                }
            }
            return await group.reduce(0, +)
        }
        let sequences = try names.map { try #require(table.view($0)).session.head.revision.sequence }
        #expect(sequences.reduce(0, +) == UInt64(written + names.count))
        #expect(try names.filter { try #require(table.slot($0)).awakeSession != nil }.count <= 3)
    }
}
