import HTTPCore
import SnapshotKit

/// What an operation on a session is carried out for: a request, or a list that the server fetches by itself. An
/// object, since all that is done for it holds on to it.
protocol Errand: AnyObject, Sendable {
    var service: DiffService { get }
    /// The session's name.
    var session: String { get }
    /// Where it lives.
    var loop: EventLoop { get }
    var identity: Identity { get }
    /// Whether what is done takes so long that no loop should wait for it. Written only by whoever carries the errand
    /// on, before it is handed to the next one.
    var isLong: Bool { get set }
    /// How often the contents of the session are looked through.
    var passes: Int { get }
    /// How long it waits for the session's source where there is a session already.
    var patience: Duration { get }
}

extension Errand {
    var patience: Duration { SourcedList.patience }

    /// Computes sessions that follow others, now.
    var transition: SessionTransition {
        SessionTransition(
            name: session, bounds: service.table.bounds.history, hash: service.store.hash, now: .now,
            isLogged: service.table.isCache)
    }

    /// Goes on where the errand lives, or with a worker if it takes long: a store's thread has more to do than to
    /// compare states.
    func goOn(_ work: @escaping @Sendable () -> Void) {
        if isLong { return service.workers.run(work) }
        loop.perform(work)
    }
}
