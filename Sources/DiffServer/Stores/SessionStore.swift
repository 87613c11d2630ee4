// Where sessions live. The wire contract knows nothing of it: a store is asked for a session, is given the one that is
// to follow a revision, and says whether it came to that. All that is computed is computed elsewhere, from values; a
// store only keeps them.
//
// Every store has a `SessionTable`: sessions that this process holds as parsed values, and the readers that wait for
// them. For `memory` the table is the store, and whatever it is asked is done at once. For the others it is a cache,
// and they see to it that a value is used only while it is the head.

import HTTPCore
import SnapshotKit

/// Keeps sessions, and tells of their next revisions.
///
/// A call may be made from any thread. What it changed is in the table when it is done.
protocol SessionStore: AnyObject, Sendable {
    /// The sessions that this process holds, and who waits for them.
    var table: SessionTable { get }
    /// Keys the digests of revisions; who shares sessions shares it.
    var hash: KeyedHash { get }
    /// Whether nobody else writes to the sessions: what the table holds is the head, and what it does not hold must be
    /// looked for once.
    var isSole: Bool { get }
    /// Whether the store can be reached and written. `/readyz` and `/metrics` say so.
    var isReady: Bool { get }

    /// What writes under way make of a session; nil if there are none, or nothing can follow them. No use.
    func pending(_ name: String) -> Session?
    /// What a write may be tried on before anybody is asked for the head; nil if there is nothing better. Counts as
    /// use.
    func expected(_ name: String) -> SessionView?
    /// The head of a session as it is now, with what is known of its past; nil if there is none. Counts as use.
    ///
    /// - Parameters:
    ///   - again: whether it must be no older than what a write was just tried on.
    ///   - loop: of the request; a store that answers on loops may answer on this one.
    func load(_ name: String, again: Bool, on loop: EventLoop) -> Stored<SessionView?>
    /// Puts `next` in place of the session that it was made of, or where there is none, else fails with `conflict`.
    func swap(_ before: SessionView?, named name: String, for next: Session, on loop: EventLoop) -> Stored<SessionSlot>
    /// Takes a session away if it is at `revision` (nil: whichever it is at), else fails with `conflict`.
    func delete(_ session: SessionView, at revision: Revision?, on loop: EventLoop) -> Stored<Void>
    /// Takes away what is there under a name and cannot be read.
    func discard(_ name: String, on loop: EventLoop) -> Stored<Void>
    /// Sessions as they are now. Takes long where there are many, so workers ask. No use of any.
    func list(_ range: SessionRange) -> Stored<SessionPage>
    /// Refuses tokens of a session, be it there or not, that were made up to a moment (milliseconds since 1970), and
    /// ends their readers: `table.revocations` has it when it is done, and that of all who share the store soon.
    func revokeTokens(of name: String, upTo moment: Int, on loop: EventLoop) -> Stored<Void>
    /// Takes the turn to do something for a session that only one of all who share the store should do at a time.
    ///
    /// - Parameters:
    ///   - time: after which it is nobody's again unless it is taken once more, by the same.
    ///   - isForced: whether it need not be due.
    func takeTurn(
        _ purpose: TurnPurpose, of name: String, for time: Duration, isForced: Bool, on loop: EventLoop
    ) -> Stored<SourceTurn>
    /// Gives a turn back that was taken, which is due again after `next`.
    func endTurn(
        _ purpose: TurnPurpose, of name: String, _ note: SourceNote?, next: Duration, on loop: EventLoop
    ) -> Stored<Void>
    /// Looks how many readers a slot has (`slot.readerCount`), whose first one came or last one left: while there are
    /// any, commits by others must reach the slot.
    func watch(_ slot: SessionSlot)
    /// Takes away what nobody used in time. Called each second.
    func sweep()
    /// Ends what is under way, as the process goes down: what was answered is kept.
    func close()
}

/// What a store comes to.
typealias Stored<Value: Sendable> = Progress<Value, StoreFailure>

/// How a store that waits for others is called back.
typealias Completion<Value> = @Sendable (Result<Value, StoreFailure>) -> Void

/// Why a store did not do what it was asked.
enum StoreFailure: Error, Equatable {
    /// It is there already, is there no longer, or is no longer at the revision that was named.
    case conflict
    /// It alone is larger than the budget.
    case capacity
    /// What is there under this name cannot be read.
    case damaged(String)
    /// The store is out of reach, full, or damaged. Whether it was done before is not known.
    case unavailable(String)
}
