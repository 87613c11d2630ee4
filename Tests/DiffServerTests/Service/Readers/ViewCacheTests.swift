import HTTPCore
import SnapshotKit
import SnapshotViews
import Testing

@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// Commits advance what views show, as long as the views are held and fit into memory.
@Suite struct ViewCacheTests {
    private static let rows = 2_000
    private let account: MemoryAccount
    private let table: SessionTable
    private let slot: SessionSlot
    private let odd: [StateView]

    init() throws { try self.init(memory: 256 << 20) }

    private init(memory: Int) throws {
        let hash = KeyedHash.digests("tests")
        account = MemoryAccount(limit: memory, maxBody: 1024)
        table = SessionTable(bounds: .init(), account: account, hash: hash, caches: AnswerCaches(account))
        odd = [
            try StateView(
                json: #"{"where":[{"at":"/content/odd","is":1}],"order":[{"at":"/content/n","descending":true}]}"#)
        ]
        let state = "[" + (0..<Self.rows).map { Self.row($0, $0) }.joined(separator: ",") + "]"
        let transition = SessionTransition(name: "s", bounds: .init(), hash: hash, now: .now)
        let first = transition.firstSession(
            try Snapshot(json: state), settings: .init(timeToLive: .seconds(60), ignored: []), after: nil, maker: nil)
        slot = try table.create("s", first).get()
    }

    private static func row(_ id: Int, _ value: Int) -> String {
        #"{"id":"r\#(id)","content":{"n":\#(value),"odd":\#(id % 2)}}"#
    }

    private var view: SessionView {
        get throws { try #require(SessionView(slot, of: table)) }
    }

    private var projection: Projection { odd.reduce(Projection(of: .anyone, in: "s")!) { $0.through($1) } }

    /// Commits a new value for some rows.
    private func commit(_ ids: Int..., value: Int = -1) throws {
        let before = try #require(slot.session)
        let rows = ids.map { Self.row($0, value) }.joined(separator: ",")
        let batch = try EditBatch(json: #"[{"op":"update","items":[\#(rows)]}]"#)
        let transition = SessionTransition(name: "s", bounds: .init(), hash: .digests("tests"), now: .now)
        let edited = try before.head.snapshot.applying(batch)
        let (next, changeset) = transition.session(after: before, edited.snapshot, edited.shared, maker: nil)
        try withExtendedLifetime(changeset) { try table.commit(next, to: slot, after: before).get() }
    }

    private func expectIsRight(_ state: ViewVersion) throws {
        #expect(state.seen.snapshot.documentJSON() == (try view).session.head.snapshot.applying(odd[0]).documentJSON())
    }

    @Test func `a commit carries along what somebody holds`() throws {
        let held = try view.seen(of: projection)
        let first = try view.seen(through: odd).head
        try commit(7, 9, value: 5000)
        let (second, before) = try view.seen(through: odd)
        #expect(before === first && second !== first && held?.now === second)
        #expect(!second.isSame(since: first.revision))
        try expectIsRight(second)
        // The start of another window is kept for a moment.
        #expect(held?.state(at: first.revision) === first)
        table.answers.release()
        #expect(held?.state(at: first.revision) == nil && held?.now === second)
    }

    @Test func `what is not seen is known to be the same, over several commits`() throws {
        let first = try view.seen(through: odd).head
        let held = try view.seen(of: projection)
        for id in [2, 4, 6] {
            try commit(id)
            _ = try view.seen(through: odd)
        }
        let last = try view.seen(through: odd).head
        #expect(last.isSame(since: first.revision) && last.revision.sequence == 4)
        // A session that was created again has the same sequences.
        #expect(!last.isSame(since: Revision(sequence: 2, digest: first.revision.digest)))
        #expect(held?.state(at: first.revision) === last)
        try expectIsRight(last)
        try commit(1)
        #expect(try !view.seen(through: odd).head.isSame(since: last.revision))
    }

    @Test func `commits that nobody looked at between are one step`() throws {
        let held = try view.seen(of: projection)
        let first = try view.seen(through: odd).head
        for id in 0..<20 { try commit(id, value: 3000 - id) }
        let (last, before) = try view.seen(through: odd)
        #expect(before === first && held?.now === last)
        try expectIsRight(last)
    }

    @Test func `nobody holds what nobody reads`() throws {
        weak let state = try view.seen(through: odd).head
        #expect(state != nil)
        table.answers.release()
        #expect(state == nil)
    }

    @Test func `a sweep between a commit and its readers takes nothing from them`() throws {
        let held = try view.seen(of: projection)
        weak let first = try view.seen(through: odd).head
        try commit(7)
        table.answers.release()
        #expect(first != nil)
        // A reader that does not continue must not keep the old state alive forever.
        table.answers.release()
        #expect(first == nil && held?.now == nil)
        try expectIsRight(try view.seen(through: odd).head)
    }

    @Test func `a session that leaves memory takes along what its readers see`() throws {
        let held = try view.seen(of: projection)
        weak let first = try view.seen(through: odd).head
        _ = slot.compact()
        #expect(first == nil && held?.now == nil)
        try expectIsRight(try view.seen(through: odd).head)
    }

    @Test func `what is carried along is counted`() throws {
        let held = try view.seen(of: projection)
        _ = try view.seen(through: odd)
        let inUse = account.views.inUse
        // 4 bytes per passing item, and little else.
        #expect((Self.rows * 2...Self.rows * 2 + 4096) ~= inUse)
        table.answers.release()
        #expect(account.views.inUse == inUse && held?.isLetGo == false)
    }

    @Test func `what does not fit is made anew, and is the same`() throws {
        let small = try ViewCacheTests(memory: 32 * 1024)
        let held = try small.view.seen(of: projection, for: "a")
        for id in [1, 2, 3] {
            try small.expectIsRight(try small.view.seen(through: odd).head)
            #expect(held?.isLetGo == true && held?.now == nil && small.account.views.inUse == 0)
            try small.commit(id, value: 5000)
        }
        let counts = small.table.answers.views.counts
        #expect(counts.letGo == 1 && counts.madeAnew == 2)
    }

    /// Different views of equal size.
    private func views(_ limits: Range<Int>) throws -> [[StateView]] {
        try limits.map { [try StateView(json: #"{"where":[{"at":"/content/odd","is":1}],"limit":\#($0)}"#)] }
    }

    @Test func `whoever holds most lets go, and nobody for one who holds as much`() throws {
        // Room for fourteen.
        let small = try ViewCacheTests(memory: 512 * 1024)
        let states = small.slot.answers(in: small.table.answers).viewCache
        var held: [(client: String, views: [StateView], seen: MaterializedView)] = []
        let follow = { (client: String, views: [StateView]) in
            held.append((client, views, states.view(views, for: client)))
        }
        let look = {
            for each in held {
                let shown = try small.view.seen(through: each.views).head.seen.snapshot
                let head = try small.view.session.head.snapshot
                #expect(shown.documentJSON() == head.applying(each.views[0]).documentJSON())
            }
        }
        let kept = { (client: String) in held.count { $0.client == client && $0.seen.now != nil } }
        for views in try views(10..<30) { follow("a", views) }
        try look()
        let all = kept("a")
        #expect(Set(held.compactMap { $0.seen.now?.footprint }).count == 1)
        #expect((10...15) ~= all && small.table.answers.views.counts.letGo == 20 - all)
        // A single look takes no memory from views that are followed.
        _ = try small.view.seen(through: views(30..<31)[0])
        #expect(kept("a") == all)
        for views in try views(40..<43) { follow("b", views) }
        try look()
        #expect(kept("b") == 3 && kept("a") == all - 3)
        // Each commit advances the kept views, although both states of a view do not fit.
        for id in [1, 3, 2] {
            try small.commit(id, value: 7_000 + id)
            try look()
            #expect(kept("b") == 3 && kept("a") == all - 3)
            #expect(small.account.views.inUse <= small.account.views.limit + 8_192)
            small.table.answers.release()
        }
        // Two clients with equal shares leave each other's views alone.
        for views in try views(50..<70) { follow("b", views) }
        try look()
        #expect(abs(kept("a") - kept("b")) <= 1)
        let (one, other) = (kept("a"), kept("b"))
        try look()
        #expect(kept("a") == one && kept("b") == other)
        held = []
        for _ in 0..<3 { small.table.answers.release() }
        #expect(small.account.views.inUse == 0)
    }

    @Test func `views on top of one share its state`() throws {
        let tops = try (5..<25).map { odd + [try StateView(json: #"{"order":[{"at":"/content/n"}],"limit":\#($0)}"#)] }
        let states = slot.answers(in: table.answers).viewCache
        let held = tops.map { states.view($0, for: "a") }
        let look = {
            var bases: [SharedState?] = []
            for views in tops {
                let seen = try view.seen(through: views).head
                let wanted = try view.session.head.snapshot.applying(views[0]).applying(views[1])
                #expect(seen.seen.snapshot.documentJSON() == wanted.documentJSON())
                bases.append(seen.base)
            }
            #expect(bases.allSatisfy { $0 != nil && $0 === bases[0] })
            return bases[0]
        }
        let first = try look()
        let size = try #require(first).footprint
        #expect(account.views.inUse < 2 * size + 20 * (Self.rows * 2 + 2048))
        // Rows that the first view hides leave its state unchanged.
        try commit(2, 4)
        #expect(try look() === first)
        try commit(1, 5, value: 5000)
        #expect(try look() !== first)
        let last = try view.seen(through: tops[0]).head
        try commit(2, value: 6000)
        #expect(try view.seen(through: tops[0]).head.isSame(since: last.revision))
        for _ in 0..<2 { table.answers.release() }
        #expect(held.allSatisfy { !$0.isLetGo })
    }

    @Test func `a name through views says nothing of the digest`() throws {
        let session = try #require(slot.session)
        let revision = session.head.revision
        let odd = projection.names
        let name = session.name(of: revision, through: odd)
        #expect(name.sequence == revision.sequence && name.digest != revision.digest)
        #expect(session.name(of: Revision(sequence: 9, digest: revision.digest), through: odd).digest != name.digest)
        #expect(session.name(of: revision, through: odd + odd).digest != name.digest)
        #expect(session.name(of: revision, through: []) == revision)
    }
}
