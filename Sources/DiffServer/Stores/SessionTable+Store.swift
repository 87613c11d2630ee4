import HTTPCore
import SnapshotKit

/// Sessions that live in this process and end with it: every call is done at once.
extension SessionTable: SessionStore {
    var table: SessionTable { self }

    var hash: KeyedHash {
        guard let ownHash else { preconditionFailure("a store makes the digests of what it keeps") }
        return ownHash
    }

    var isSole: Bool { true }
    var isReady: Bool { true }

    func pending(_ name: String) -> Session? { nil }

    func expected(_ name: String) -> SessionView? { nil }

    func load(_ name: String, again: Bool, on loop: EventLoop) -> Stored<SessionView?> { .done(.success(view(name))) }

    func swap(_ before: SessionView?, named name: String, for next: Session, on loop: EventLoop) -> Stored<SessionSlot>
    {
        guard let before else { return .done(create(name, next)) }
        return .done(commit(next, to: before.slot, after: before.session).map { before.slot })
    }

    func delete(_ session: SessionView, at revision: Revision?, on loop: EventLoop) -> Stored<Void> {
        .done(drop(session.slot, at: revision))
    }

    /// Nothing to do: every session in memory can be read.
    func discard(_ name: String, on loop: EventLoop) -> Stored<Void> { .done(.success(())) }

    func list(_ range: SessionRange) -> Stored<SessionPage> { .done(.success(page(range))) }

    func revokeTokens(of name: String, upTo moment: Int, on loop: EventLoop) -> Stored<Void> {
        revocations.add(name, upTo: moment)
        return .done(.success(()))
    }

    func watch(_ slot: SessionSlot) {}

    func sweep() { _ = sweep(at: .now) }

    func close() {}
}
