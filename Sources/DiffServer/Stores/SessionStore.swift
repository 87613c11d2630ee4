// Where sessions live. The wire contract does not depend on it: a store is asked for a session, is given the one that
// follows a revision, and says whether it was the next. Everything is computed elsewhere, from values; a store only
// keeps them.
//
// Every store has a `SessionTable`: the sessions in this process as parsed values, and the readers that wait for them.
// For `memory` the table is the store, and every call is done at once. For the others it is a cache, and they ensure
// that a value is used only while it is the head.

import HTTPCore
import SnapshotKit

/// Keeps sessions, and reports their next revisions.
///
/// Any thread may call. What a call has changed is in the table when it is done.
protocol SessionStore: AnyObject, Sendable {
    /// The sessions in this process, and their readers.
    var table: SessionTable { get }
    /// Makes the digests of revisions; all processes that share sessions share it.
    var hash: KeyedHash { get }
    /// Whether no other process writes to the sessions: then a session in the table is the head.
    var isSole: Bool { get }
    /// Whether the store can be reached and written, for `/readyz` and `/metrics`.
    var isReady: Bool { get }
    /// Loops of its own.
    var loops: [EventLoop] { get }

    /// What the writes under way make of a session; nil if there are none, or nothing can follow them. Does not count
    /// as use.
    func pending(_ name: String) -> Session?
    /// The session on which a write may be tried before the head is loaded; nil if it had better be loaded. Counts as
    /// use.
    func expected(_ name: String) -> SessionView?
    /// Loads the head of a session and its history; nil if there is none. Counts as use.
    ///
    /// - Parameters:
    ///   - again: whether a write was just tried on a session, and this one must not be older.
    ///   - loop: the request's; a store that answers on loops may answer on this one.
    func load(_ name: String, again: Bool, on loop: EventLoop) -> Stored<SessionView?>
    /// Puts `next` in place of the session that it was made of (nil: where there is none), or fails with `conflict`.
    func swap(_ before: SessionView?, named name: String, for next: Session, on loop: EventLoop) -> Stored<SessionSlot>
    /// Removes a session if it is at `revision` (nil: at any), or fails with `conflict`.
    func delete(_ session: SessionView, at revision: Revision?, on loop: EventLoop) -> Stored<Void>
    /// Removes an unreadable session.
    func discard(_ name: String, on loop: EventLoop) -> Stored<Void>
    /// Lists sessions. Takes long if there are many, so workers ask. Does not count as use.
    func list(_ range: SessionRange) -> Stored<SessionPage>
    /// Refuses tokens of a session, whether that exists or not, that were made up to a moment (milliseconds since
    /// 1970), and ends their readers. When it is done `table.revocations` knows; other processes that share the store
    /// know soon.
    func revokeTokens(of name: String, upTo moment: Int, on loop: EventLoop) -> Stored<Void>
    /// Takes the turn to do something for a session that only one process should do at a time.
    ///
    /// - Parameters:
    ///   - time: how long the turn lasts, unless the same process takes it again.
    ///   - isForced: whether it need not be due.
    func takeTurn(
        _ purpose: TurnPurpose, of name: String, for time: Duration, isForced: Bool, on loop: EventLoop
    ) -> Stored<SourceTurn>
    /// Gives a turn back, which is due again after `next`.
    func endTurn(
        _ purpose: TurnPurpose, of name: String, _ note: SourceNote?, next: Duration, on loop: EventLoop
    ) -> Stored<Void>
    /// Called when the first reader of a slot comes, or the last one leaves (see `slot.readerCount`): while it has
    /// readers, commits by other processes must reach the slot.
    func watch(_ slot: SessionSlot)
    /// Removes what was not used in time. Called each second.
    func sweep()
    /// Ends everything under way as the process goes down. What was answered is kept.
    func close()
}

extension SessionStore {
    var loops: [EventLoop] { [] }
}

/// The result of a store's work.
typealias Stored<Value: Sendable> = Progress<Value, StoreFailure>

typealias Completion<Value> = @Sendable (Result<Value, StoreFailure>) -> Void

/// Why a store did not do what it was asked to.
enum StoreFailure: Error, Equatable {
    /// The session exists already, no longer exists, or is no longer at the named revision.
    case conflict
    /// The session alone is larger than the budget.
    case capacity
    /// Too many wait for sessions to be loaded.
    case crowded
    /// The session of this name cannot be read.
    case damaged(String)
    /// The store cannot be reached, or is full or damaged. It may have done it nevertheless.
    case unavailable(String)

    init(_ failure: SessionRecord.Failure, of name: String) {
        switch failure {
        case .damaged: self = .damaged(name)
        case .format(let format): self = .unavailable("the record of \"\(name)\" has format \(format)")
        }
    }
}
