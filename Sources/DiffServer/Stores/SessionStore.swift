// Where sessions live. The wire contract knows nothing of it: a store is asked for a session, is given the one that is
// to follow a revision, and says whether it came to that. All that is computed is computed here, from values; a store
// only keeps them.
//
// Every store has a `SessionTable`: sessions that this process holds as parsed values, and the readers that wait for
// them. For `memory` the table is the store. For the others it is a cache, and they see to it that a value is used only
// while it is the head.

import HTTPCore
import SnapshotKit

/// Keeps sessions, and tells of their next revisions.
///
/// A call may be made from any thread. Its completion is called once, on any thread, before the call returns or later;
/// what it changed is in the table by then.
protocol SessionStore: AnyObject, Sendable {
    /// The sessions that this process holds, and who waits for them.
    var table: SessionTable { get }
    /// Keys the digests of revisions; who shares sessions shares it.
    var hash: KeyedHash { get }
    /// Whether the table is all there is: what it holds is the head, and nothing has to be waited for.
    var isTable: Bool { get }
    /// Whether nobody else writes to the sessions: what the table holds is the head, and what it does not hold must be
    /// looked for once.
    var isSole: Bool { get }
    /// Whether the store can be reached and written. `/readyz` and `/metrics` say so.
    var isReady: Bool { get }

    /// What a write may be tried on before anybody is asked for the head; nil if there is nothing better. Counts as
    /// use.
    func expected(_ name: String) -> Reading?
    /// The head of a session as it is now, with what is known of its past; nil if there is none. Counts as use.
    ///
    /// - Parameter loop: of the request; a store that answers on loops may answer on this one.
    func open(_ name: String, on loop: EventLoop?, _ done: @escaping Completion<Reading?>)
    /// The same, no older than what a write was just tried on.
    func reopen(_ name: String, on loop: EventLoop?, _ done: @escaping Completion<Reading?>)
    /// Puts in a session under a name that has none, else fails with `conflict`.
    func create(_ name: String, _ session: Session, on loop: EventLoop?, _ done: @escaping Completion<SessionSlot>)
    /// Puts `next` in place of the session that it was made of and that was read as `before`, else fails with
    /// `conflict`.
    func commit(
        _ next: Session, to slot: SessionSlot, after before: Session, on loop: EventLoop?,
        _ done: @escaping Completion<SessionSlot>)
    /// Takes away a session that was read as `before` if it is at `revision` (nil: whichever it is at), else fails with
    /// `conflict`.
    func drop(
        _ slot: SessionSlot, after before: Session, at revision: Revision?, on loop: EventLoop?,
        _ done: @escaping Completion<Void>)
    /// Takes away what is there under a name and cannot be read.
    func discard(_ name: String, on loop: EventLoop?, _ done: @escaping Completion<Void>)
    /// Brings the skeleton of a past revision of a session that was read; nil if nobody has it any more.
    func recall(_ sequence: UInt64, of reading: Reading, on loop: EventLoop?, _ done: @escaping Completion<Skeleton?>)
    /// A session's first reader came, or its last one left (`slot.readerCount` tells which): while there are any,
    /// commits by others must reach the slot.
    func readersChanged(of slot: SessionSlot)
    /// Takes away what nobody used in time. Called each second.
    func sweep()
    /// Ends what is under way, as the process goes down: what was answered is kept.
    func close()
}

extension SessionStore {
    /// The head of a session, and with it the base that a reader has.
    func open(_ name: String, from since: Since, on loop: EventLoop?, _ done: @escaping Completion<Reading?>) {
        open(name, on: loop) { [self] result in
            guard case .success(let reading?) = result, let sequence = reading.missing(since) else {
                return done(result)
            }
            recall(sequence, of: reading, on: loop) { done($0.map { reading.recalling(sequence, $0) }) }
        }
    }
}

/// What a store answers with.
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

extension Problem {
    /// What a client is told; a conflict is never told, but tried again.
    init(_ failure: StoreFailure) {
        switch failure {
        case .conflict: self.init(.internalError, "a conflict was not resolved")
        case .capacity: self.init(.capacity, "this state is larger than the server's memory for states")
        case .damaged(let name): self.init(.storeUnavailable, "the record of \"\(name)\" is damaged", retryAfter: 60)
        case .unavailable(let reason):
            self.init(.storeUnavailable, "the store is out of reach: \(reason)", retryAfter: 1)
        }
    }
}
