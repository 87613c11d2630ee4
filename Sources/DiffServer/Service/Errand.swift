import HTTPCore
import SnapshotKit

/// What an operation on a session is carried out for: a request, or a list that fetches itself.
protocol Errand: AnyObject, Sendable {
    var service: DiffService { get }
    /// The session's name.
    var session: String { get }
    var loop: EventLoop { get }
    var identity: Identity { get }
    /// Whether the work is too long for a loop. Only written by the thread that works on the errand, before it hands it
    /// on.
    var isLong: Bool { get set }
    /// How often the work reads through the session's contents.
    var passes: Int { get }
    /// How long it waits for the session's source if there is a session already.
    var patience: Duration { get }
}

extension Errand {
    var patience: Duration { SourcedList.patience }

    var transition: SessionTransition {
        let store = service.store
        let table = store.table
        return SessionTransition(
            name: session, bounds: table.bounds.history, hash: store.hash, now: .now, isLogged: table.isCache)
    }

    /// Continues on the errand's loop, or on a worker's thread if that takes long. A store's thread must not do it.
    func goOn(_ work: @escaping @Sendable () -> Void) {
        if isLong { return service.workers.run(work) }
        loop.perform(work)
    }
}
