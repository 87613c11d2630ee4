import HTTPCore
import SnapshotKit
import Synchronization
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// Operations run on a scripted store.
@Suite struct TransactionTests {
    private let hash = KeyedHash.digests("tests")

    /// A store that answers like a table, except where a script differs; and a record of its calls.
    private final class ScriptedStore: SessionStore {
        let table: SessionTable
        let hash: KeyedHash
        let isSole: Bool
        let availability = StoreAvailability.whole
        /// Whether the store answers later, on a separate thread.
        private let isLate: Bool
        /// The failure of each call, in turn; nil for success.
        private let failures: Locked<[StoreFailure?]>
        private let asked = Locked<[String]>([])
        /// The session on which a write is tried.
        let stale: Locked<Session?> = Locked(nil)

        init(_ hash: KeyedHash, _ failures: [StoreFailure?] = [], isLate: Bool, isSole: Bool = false) {
            table = SessionTable(bounds: .init(), maxBody: 1024, hash: hash)
            (self.hash, self.isLate, self.isSole) = (hash, isLate, isSole)
            self.failures = Locked(failures)
        }

        var calls: [String] { asked.withLock { $0 } }

        private func answer<Value>(
            _ name: String, _ value: @escaping @Sendable () -> Result<Value, StoreFailure>
        ) -> Stored<Value> {
            asked.withLock { $0.append(name) }
            let failure = failures.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard isLate else { return .done(failure.map(Result.failure) ?? value()) }
            return .of { done in
                SystemThread.start(named: "store") { done(failure.map(Result.failure) ?? value()) }
            }
        }

        func pending(_ name: String) -> Session? { nil }

        func expected(_ name: String) -> SessionView? {
            guard let session = stale.withLock({ $0 }), let slot = table.slot(name) else { return nil }
            return SessionView(slot, session, of: table, isHead: false)
        }

        func load(_ name: String, again: Bool, on executor: any WorkExecutor) -> Stored<SessionView?> {
            answer(again ? "load again" : "load") { [table] in .success(table.view(name)) }
        }

        func swap(
            _ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor
        ) -> Stored<SessionSlot> {
            answer("swap") { [table] in
                guard let before else { return table.create(name, next) }
                return table.commit(next, to: before.slot, after: before.session).map { before.slot }
            }
        }

        func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void> {
            answer("delete") { [table] in table.drop(session.slot, at: revision) }
        }

        func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void> {
            answer("discard") { .success(()) }
        }

        func list(_ range: SessionRange) -> Stored<SessionPage> { .done(.success(table.page(range))) }
        func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void> {
            .done(.success(()))
        }
        func watch(_ slot: SessionSlot) {}
        func sweep() {}
        func close() {}
    }

    private func call(_ store: ScriptedStore) throws -> Call {
        let journal = Journal(format: .text, logsRequests: false)
        let service = DiffService(
            settings: ServiceSettings(), store: store,
            access: Authenticator(
                keys: KeyRing(keys: []), isLocal: true, secrets: TokenSecrets([Array(repeating: 7, count: 32)]),
                origins: []),
            journal: journal, workers: Workers(count: 2))
        let head = try RequestHead(parsing: "GET /v1/sessions/s HTTP/1.1\r\nHost: a\r\n\r\n")
        guard case .found(let route, let captures) = routes.match(head) else { throw Missing() }
        return Call(
            head: head, loop: .ofTests, route: route, captures: captures, session: "s", identity: .anyone,
            peer: Peer(remote: .v4(address: 0x7F00_0001, port: 1)), projection: Projection(of: .anyone, in: "s"),
            parameters: try Parameters([], known: []), acceptance: Acceptance(head), service: service)
    }

    private struct Missing: Error {}

    private func session(_ state: String, after before: Session? = nil) throws -> Session {
        let transition = SessionTransition(name: "s", bounds: .init(), hash: hash, now: .now)
        let settings = Session.Settings(timeToLive: .seconds(3600), ignored: [])
        let snapshot = try Snapshot(json: state)
        if let before { return transition.session(after: before, snapshot, maker: nil).0 }
        return transition.firstSession(snapshot, settings: settings, after: nil, maker: nil)
    }

    private func post(_ state: String) -> ChangeSession {
        ChangeSession(
            PostedBody(json: state, Session.Settings(timeToLive: .seconds(3600), ignored: [])),
            condition: WriteCondition(), key: nil, fingerprint: nil)
    }

    /// The result of an operation: the revision of the head afterwards, or the problem.
    private func run<Operation: SessionOperation>(
        _ operation: Operation, on store: ScriptedStore
    ) async throws -> String {
        let transaction = Transaction(operation, for: try call(store))
        do {
            let done = try await transaction.run().value
            return done.slot?.revision.map { "at \($0.sequence)" } ?? "gone"
        } catch let failure as TransactionFailure { return Problem(failure, of: "s").type.name }
    }

    /// A reader whose session's source has answered before the reader begins to wait.
    private final class LateReader: TransactionContext {
        let store: any SessionStore
        let executor: any WorkExecutor = EventLoop.ofTests
        let session = "s"
        let token: (any RevocableToken)? = nil
        let scanCount = 1
        let takesLongWork = true
        nonisolated(unsafe) var cost = WorkCost.none
        nonisolated(unsafe) var conflicts = 0
        private let bring: @Sendable () -> Void

        init(_ store: any SessionStore, _ bring: @escaping @Sendable () -> Void) {
            (self.store, self.bring) = (store, bring)
        }

        func runLong(_ work: @escaping @Sendable () -> Void) { work() }
        func readiness(sessionExists: Bool) -> DiffClock.Progress<Void, SourceFailure>? {
            bring()
            return .done(.success(()))
        }
        func countConflict() {}
        func count(_ failure: StoreFailure) {}
    }

    @Test(arguments: [true, false])
    func `what a source has brought before one waits for it is read`(_ isLate: Bool) async throws {
        let store = ScriptedStore(hash, isLate: isLate)
        let fetched = try session("[1]")
        let reader = LateReader(store) { _ = store.table.create("s", fetched) }
        let found = try await Transaction(FindSession(), for: reader).run().value
        #expect(found.outcome?.head.revision == fetched.head.revision)
    }

    // MARK: What follows what

    @Test(arguments: [true, false])
    func `whatever a store fails with, it comes to an end`(_ isLate: Bool) async throws {
        let conflict = StoreFailure.conflict
        let rows: [([StoreFailure?], String, [String])] = [
            ([], "at 2", ["load", "swap"]), ([nil, conflict], "at 2", ["load", "swap", "load again", "swap"]),
            (
                [nil, conflict, nil, conflict], "at 2",
                ["load", "swap", "load again", "swap", "load again", "swap"]
            ),
            ([.unavailable("x")], "store-unavailable", ["load"]), ([nil, .capacity], "capacity", ["load", "swap"]),
            ([.damaged("s")], "internal", ["load"]),
            ([nil, conflict, .unavailable("x")], "store-unavailable", ["load", "swap", "load again"]),
        ]
        for (failures, expected, calls) in rows {
            let store = ScriptedStore(hash, failures, isLate: isLate)
            _ = store.table.create("s", try session("[1]"))
            #expect(try await run(post("[1,2]"), on: store) == expected)
            #expect(store.calls == calls)
        }
    }

    @Test(arguments: [true, false])
    func `a write is tried on what is expected, and nothing else is believed of that`(_ isLate: Bool) async throws {
        let one = try session("[1]")
        let two = try session("[1,2]", after: one)
        let store = { @Sendable [hash] () -> ScriptedStore in
            let store = ScriptedStore(hash, isLate: isLate)
            _ = store.table.create("s", two)
            store.stale.withLock { $0 = one }
            return store
        }
        // The store refuses a write that is based on a past state.
        let written = store()
        #expect(try await run(post("[1,2,3]"), on: written) == "at 3")
        #expect(written.calls == ["swap", "load again", "swap"])
        // An attempt that changes nothing is final only on the head.
        let unchanged = store()
        #expect(try await run(post("[1]"), on: unchanged) == "at 3")
        #expect(unchanged.calls == ["load again", "swap"])
        // So is a refusal.
        let condition = WriteCondition(match: RevisionTags(isAny: false, texts: [two.head.revision.text]))
        let refused = store()
        #expect(try await run(RemoveSession(condition: condition), on: refused) == "gone")
        #expect(refused.calls == ["load again", "delete"])
        // A reader is not given the expected session.
        let read = store()
        #expect(try await run(ReadSession(), on: read) == "at 2")
        #expect(read.calls == ["load"])
    }

    @Test func `however often others are faster, a write that waits takes no more room for it`() async throws {
        let failures: [StoreFailure?] = [nil] + Array(repeating: [.conflict, nil], count: 5_000).flatMap { $0 }
        let store = ScriptedStore(hash, failures, isLate: true)
        _ = store.table.create("s", try session("[1]"))
        #expect(try await run(post("[1,2]"), on: store) == "at 2")
        #expect(store.calls.count == 10_002)
    }

    @Test func `no answer about a large session is written on the loop`() async throws {
        let store = ScriptedStore(hash, isLate: false)
        let content = String(repeating: "x", count: WorkCost.iteration.bytes)
        _ = store.table.create("s", try session(#"[{"id":1,"content":"\#(content)"}]"#))
        let loop = EventLoop.ofTests
        for _ in 0..<200 {
            let call = try call(store)
            let isLater = await withCheckedContinuation { continuation in
                loop.execute {
                    guard case .later? = try? call.respond(GetSession(call), []) else {
                        return continuation.resume(returning: false)
                    }
                    continuation.resume(returning: true)
                }
            }
            #expect(isLater)
        }
    }

    @Test func `a store that is one process's own is asked anew behind a conflict`() async throws {
        let store = ScriptedStore(hash, [nil, .conflict], isLate: false, isSole: true)
        _ = store.table.create("s", try session("[1]"))
        #expect(try await run(post("[1,2]"), on: store) == "at 2")
        #expect(store.calls == ["load", "swap", "load", "swap"])
    }

    @Test func `what cannot be read goes only for those who take whatever is there`() async throws {
        let store = ScriptedStore(hash, [.damaged("s")], isLate: true)
        let put = ReplaceSession(
            state: try Snapshot(json: "[1]"), settings: Session.Settings(timeToLive: .seconds(3600), ignored: []),
            condition: WriteCondition())
        #expect(try await run(put, on: store) == "at 1")
        #expect(store.calls == ["load", "discard", "load", "swap"])
        // A store may find the damage only when it writes.
        let written = ScriptedStore(hash, [nil, .damaged("s")], isLate: true)
        _ = written.table.create("s", try session("[0]"))
        #expect(try await run(put, on: written) == "at 2")
        #expect(written.calls == ["load", "swap", "discard", "load", "swap"])
        let careful = ScriptedStore(hash, [.damaged("s")], isLate: true)
        let condition = WriteCondition(noneMatch: RevisionTags(isAny: true, texts: ["*"]))
        let settle = ReplaceSession(state: nil, settings: put.settings, condition: WriteCondition())
        #expect(try await run(settle, on: ScriptedStore(hash, [.damaged("s")], isLate: true)) == "internal")
        let create = ReplaceSession(state: put.state, settings: put.settings, condition: condition)
        #expect(try await run(create, on: careful) == "internal")
        #expect(careful.calls == ["load"])
    }

    @Test func `many writers of one session each get through`() async throws {
        let store = ScriptedStore(hash, isLate: true)
        _ = store.table.create("s", try session("[0]"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...16 {
                group.addTask {
                    let outcome = try await run(post("[\(writer)]"), on: store)
                    #expect(outcome.hasPrefix("at "))
                }
            }
            try await group.waitForAll()
        }
        #expect(store.table.view("s")?.session.head.revision.sequence == 17)
    }
}
