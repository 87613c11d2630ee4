import SnapshotKit
import Testing

@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// Replies of a store that arrive after the table has changed.
extension SessionTableTests {
    @Test func `a session that came and went while a store was asked does not come back`() throws {
        let table = SessionTable(bounds: .init(), maxBody: 1024, hash: nil)
        let (old, reader) = (try session("a"), Reader())
        #expect(try #require(table.slotToAwait("a")).add(reader, limit: 1) == .added)
        let known = table.known("a")
        // Created and deleted while the reply is under way.
        let slot = try table.create("a", old).get()
        _ = try table.drop(slot, at: nil).get()
        #expect(table.adopt(old, as: "a", inPlaceOf: known) == nil)
        // An earlier reply found the session gone.
        let later = table.known("a")
        #expect(table.foundNothing(of: "a", at: nil))
        #expect(table.adopt(old, as: "a", inPlaceOf: later) == nil)
        #expect(!table.holds("a"))
        // Other names do not matter.
        let last = table.known("a")
        _ = try table.create("b", old).get()
        #expect(table.adopt(old, as: "a", inPlaceOf: last) != nil)
        // A late reply that there is none.
        #expect(!table.foundNothing(of: "a", at: nil))
        #expect(table.registry.withLock { $0.generations["a"]?.askers } == 3)
        withExtendedLifetime((known, later, last)) {}
    }

    @Test func `whoever has asked leaves nothing behind`() throws {
        let table = SessionTable(bounds: .init(), maxBody: 1024, hash: nil)
        for name in ["a", "b", "a"] {
            let (one, other) = (table.known(name), table.known(name))
            #expect(table.registry.withLock { $0.generations[name]?.askers } == 2)
            withExtendedLifetime((one, other)) {}
        }
        #expect(table.registry.withLock { $0.generations.isEmpty })
    }

    @Test func `a session made again with the same revision is another one`() throws {
        let table = SessionTable(bounds: .init(), maxBody: 1024, hash: nil)
        let lives = try (0..<3).map { _ in
            LogCommit(try session("a"), after: nil, id: 1, revisions: 10, by: hash).session
        }
        #expect(Set(lives.map(\.head.revision)).count == 1 && Set(lives.map(\.version)).count == 3)
        let slot = try #require(table.adopt(lives[0], as: "a", inPlaceOf: nil))
        let first = table.known("a")
        #expect(table.adopt(lives[1], as: "a", inPlaceOf: first) != nil)
        // A late reply about the first session, and a late write based on it.
        #expect(table.adopt(lives[2], as: "a", inPlaceOf: first) == nil)
        #expect((try? table.commit(lives[2], to: slot, after: lives[0]).get()) == nil)
        #expect((try? table.drop(slot, .version(lives[0].version)).get()) == nil)
        #expect(!table.foundNothing(of: "a", at: lives[0].version))
        #expect(table.view("a")?.session.version == lives[1].version)
        // And a correct one.
        #expect(table.foundNothing(of: "a", at: lives[1].version))
        #expect(!table.holds("a") && slot.add(Reader(), limit: 1) == .gone)
        #expect(table.foundNothing(of: "a", at: lives[1].version))
    }
}
