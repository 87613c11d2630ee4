import Foundation
import HTTPCore
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffRedis
@testable import DiffSQLite
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// The stores that the conformance suite tests.
enum StoreKind: String, CaseIterable, Sendable {
    case memory, sqlite, redis

    static let allCases: [StoreKind] = RedisServer.isInstalled ? [.memory, .sqlite, .redis] : [.memory, .sqlite]
}

/// A place for sessions, and the processes that use it.
final class StoreFixture {
    let kind: StoreKind
    private let folder: String
    /// Each process's memory for records.
    private(set) var records: [MemoryBudget] = []
    private var opened: [any SessionStore] = []
    private(set) var redis: RedisServer?
    var database: String { folder + "/sessions.db" }

    init(_ kind: StoreKind) throws {
        self.kind = kind
        folder = NSTemporaryDirectory() + "diffserver-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if kind == .redis { redis = try RedisServer() }
    }

    /// Closes the stores. Call it at the end of a test, however that ends.
    func close() {
        for store in opened { store.close() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The store of the first process.
    ///
    /// - Parameter ahead: how far the machine's clock is ahead of the right one, in seconds; asked each time.
    func store(
        bounds: SessionTable.Bounds = .init(), ahead: @escaping @Sendable () -> Int = { 0 }
    ) throws -> any SessionStore {
        let table = SessionTable(
            bounds: bounds, maxBody: ServiceSettings().maxBodyBytes, hash: kind == .memory ? .digests("tests") : nil)
        let store: any SessionStore
        switch kind {
        case .memory: store = table
        case .sqlite:
            store = try SQLiteStore(
                path: database, isDurable: true, digestKey: "tests", newKey: "new", table: table,
                wall: { WallClock().set(by: .seconds(ahead())) })
        case .redis:
            store = try RedisStore(
                .patient("unix:\(redis?.socket ?? "")"), hash: .digests("tests"), table: table,
                workers: Workers(count: 1))
        }
        opened.append(store)
        records.append(table.account.records)
        return store
    }

    /// The store of a later process, which has read none of the same sessions yet. For stores that end with their
    /// process, or that one process owns, the later process replaces the first.
    func later(
        than store: any SessionStore, ahead: @escaping @Sendable () -> Int = { 0 }
    ) throws -> any SessionStore {
        switch kind {
        case .memory: return store
        case .redis: return try self.store(bounds: store.table.bounds)
        case .sqlite:
            store.close()
            opened.removeAll { $0 === store }
            return try self.store(bounds: store.table.bounds, ahead: ahead)
        }
    }
}

extension SessionStore {
    func opened(_ name: String) async throws -> SessionView? {
        try await load(name, again: false, on: .ofTests).value
    }

    func created(_ name: String, _ session: Session) async throws -> SessionSlot {
        try await swap(nil, named: name, for: session, on: .ofTests).value
    }

    /// Commits, and returns the session as the store now has it.
    @discardableResult
    func committed(_ next: Session, to slot: SessionSlot, after before: Session) async throws -> Session {
        let view = SessionView(slot, before, of: table)
        return try #require(try await swap(view, named: slot.name, for: next, on: .ofTests).value.session)
    }

    func dropped(_ slot: SessionSlot, _ session: Session, at revision: Revision?) async throws {
        try await delete(SessionView(slot, session, of: table), at: revision, on: .ofTests).value
    }

    func writing(_ name: String) -> SessionTransition {
        SessionTransition(name: name, bounds: table.bounds.history, hash: hash, now: .now, isLogged: table.isCache)
    }

    /// A session's first state.
    func first(
        _ name: String, _ json: String, ttl: Duration = .seconds(3600), ignoring ignored: [String] = [],
        shape: StateShape? = nil
    ) throws -> Session {
        let settings = Session.Settings(
            timeToLive: ttl, ignored: ignored.compactMap { JSONPointer($0) }, shape: shape)
        return writing(name).firstSession(try Snapshot(json: json), settings: settings, after: nil, maker: nil)
    }

    /// The successor of a session.
    func next(_ name: String, _ before: Session, _ json: String) throws -> Session {
        writing(name).session(after: before, try Snapshot(json: json), maker: RequestFingerprint(value: 7)).0
    }
}

extension WallClock {
    /// A clock that is ahead of this one, or behind it by a negative span.
    func set(by span: Duration) -> WallClock { WallClock(epoch: epoch + span.components.seconds * 1_000_000_000) }
}

private let loopOfTests = try! EventLoop.standalone(polling: .preferred)

extension WorkExecutor where Self == EventLoop {
    /// The loop of requests that no connection sent.
    static var ofTests: EventLoop { loopOfTests }
}

extension DiffClock.Progress {
    /// Its result.
    var value: Value {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                whenDone { continuation.resume(with: $0.mapError { $0 as any Error }) }
            }
        }
    }
}
