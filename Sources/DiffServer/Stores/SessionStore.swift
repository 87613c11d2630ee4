// Where sessions live. The wire contract does not depend on it: a store is asked for a session, is given the one that
// follows a revision, and says whether it was the next. Everything is computed elsewhere, from values; a store only
// keeps them.
//
// Every store has a `SessionTable`: the sessions in this process as parsed values, and the readers that wait for them.
// For `memory` the table is the store, and every call is done at once. For the others it is a cache, and they ensure
// that a value is used only while it is the head.
//
// The target knows sessions and the readers that wait for them, and nothing of HTTP. Others implement the protocols
// that it needs: a loop is a `WorkExecutor`, a request a `TransactionContext`, a token a `RevocableToken`, and what is
// kept for readers a `HeadCache`. docs/stores.md says how to add a store.

import DiffClock
import DiffSessions
import SnapshotKit

/// Keeps sessions, and reports their next revisions.
///
/// Any thread may call. What a call has changed is in the table when it is done.
public protocol SessionStore: AnyObject, Sendable {
    /// The sessions in this process, and their readers.
    var table: SessionTable { get }
    /// Makes the digests of revisions; all processes that share sessions share it.
    var hash: KeyedHash { get }
    /// Whether no other process writes to the sessions: then a session in the table is the head.
    var isSole: Bool { get }
    /// How much of the store can be reached and written, for `/readyz` and `/metrics`.
    var availability: StoreAvailability { get }
    /// Where writes take turns, so that they follow each other without conflicts; nil if that would gain nothing.
    var turns: PendingWrites? { get }

    /// Since when the store has not been reached, though it was asked each second; nil while it is reached, and for one
    /// in memory.
    var silentSince: Instant? { get }

    /// The session that the writes under way will make; nil if there are none, or nothing can follow them. Does not
    /// count as use.
    func pending(_ name: String) -> Session?
    /// The session on which a write may be tried before the head is loaded; nil if loading it is better. Counts as use.
    func expected(_ name: String) -> SessionView?
    /// Loads the head of a session and its history; nil if there is none. Counts as use.
    ///
    /// - Parameters:
    ///   - again: whether a write was just tried on a session, and this one must not be older.
    ///   - executor: of the request; a store that answers later may answer there.
    func load(_ name: String, again: Bool, on executor: any WorkExecutor) -> Stored<SessionView?>
    /// Puts `next` in place of the session that it was made from (nil: of none), or fails with `conflict`.
    func swap(_ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor) -> Stored<
        SessionSlot
    >
    /// Ensures that what was loaded is kept as safely as a commit, before an answer to a write relies on it; nil if it
    /// always is.
    func confirm(_ name: String, on executor: any WorkExecutor) -> Stored<Void>?
    /// Removes a session if it is at `revision` (nil: at any), or fails with `conflict`.
    func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void>
    /// Removes an unreadable session.
    func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void>
    /// Lists sessions. Takes long if there are many, so call it on workers. Does not count as use.
    func list(_ range: SessionRange) -> Stored<SessionPage>
    /// Refuses tokens of a session, whether that exists or not, that were made up to a moment (milliseconds since
    /// 1970), and ends their readers. When it is done `table.revocations` knows; other processes that share the store
    /// know soon.
    func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void>
    /// Takes the lease for something that only one process should do for a session at a time.
    ///
    /// - Parameters:
    ///   - time: how long the lease lasts, unless the same process renews it.
    ///   - isForced: whether it need not be due.
    func acquireLease(
        _ purpose: LeasePurpose, of name: String, for time: Duration, isForced: Bool, on executor: any WorkExecutor
    ) -> Stored<SourceLease>
    /// Gives a lease back; it is due again after `next`.
    func releaseLease(
        _ purpose: LeasePurpose, of name: String, _ note: SourceNote?, next: Duration, on executor: any WorkExecutor
    ) -> Stored<Void>
    /// Called when the first reader of a slot comes or the last one leaves (see `slot.readerCount`): while it has
    /// readers, commits by other processes must reach the slot.
    func watch(_ slot: SessionSlot)
    /// Removes sessions not used in time. Called each second.
    func sweep()
    /// Ends everything under way as the process closes. Whatever was answered is kept.
    func close()
}

/// How much of a store can be used.
public enum StoreAvailability: Comparable, Sendable {
    /// It was never reached, or holds records that this process cannot use.
    case unknown
    /// It was reached before, but takes no writes now.
    case away
    /// Some of its servers take writes, and their sessions are served.
    case partial
    case whole
}

/// The result of a store's work.
public typealias Stored<Value: Sendable> = Progress<Value, StoreFailure>

public typealias Completion<Value> = @Sendable (Result<Value, StoreFailure>) -> Void

/// Why a store did not do what it was asked to.
public enum StoreFailure: Error, Equatable {
    /// The session exists already, no longer exists, or is no longer at the named revision.
    case conflict
    /// The session alone is larger than the budget.
    case capacity
    /// Too many wait for sessions to be loaded.
    case crowded
    /// The store has reached its own limit, and accepts only what does not enlarge it.
    case full
    /// The session of this name cannot be read.
    case damaged(String)
    /// The store cannot be reached, or is full or damaged. It may have done the work nevertheless.
    case unavailable(String)

    var isDamage: Bool { if case .damaged = self { true } else { false } }

    /// In a few words, for clients, which need not know which failure it was.
    public var summary: String {
        switch self {
        case .conflict: "a conflict was not resolved"
        case .capacity: "there is no room"
        case .crowded: "too many requests are waiting for it"
        case .full: "it has reached its limit"
        case .damaged(let name): "the record of \"\(name)\" is damaged"
        case .unavailable(let reason): reason
        }
    }

    public init(_ failure: SessionRecord.Failure, of name: String) {
        switch failure {
        case .damaged: self = .damaged(name)
        case .format(let format): self = .unavailable("the record of \"\(name)\" has format \(format)")
        }
    }
}

/// Why a store cannot be used at all.
public struct StoreError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

// MARK: - Leases
//
// Several nodes may serve one session, and its source should be asked once for all of them. So a node takes the lease
// before it asks. The lease is busy while its holder asks, and then free but not due until the next time. A note of the
// outcome goes with it, so that every node knows how old the list is. A node that dies with the lease loses it after a
// while.

/// The outcome of an attempt to take the lease of a session.
public enum SourceLease: Sendable {
    /// This node has the lease until it gives it back.
    case acquired(SourceNote?)
    /// Another node is asking now.
    case busy(SourceNote?)
    /// The lease is free, but not due for this long.
    case notDue(SourceNote?, in: Duration)

    public var note: SourceNote? {
        switch self {
        case .acquired(let note), .busy(let note), .notDue(let note, _): note
        }
    }
}

/// Each session has a lease for its source, and one for its hook.
public enum LeasePurpose: String, Sendable {
    case source, hook
}

/// What nodes tell each other of a source.
public struct SourceNote: Sendable, Equatable {
    /// The outcome of the last request.
    public enum Outcome: String, Sendable {
        case fetched, failed
        /// The source says that it has no such list.
        case missing
    }

    public var outcome: Outcome
    /// Time since the last success; nil if there was none.
    public var age: Duration?
    /// Time from one success to the next request.
    public var interval: Duration
    /// Failures in a row.
    public var failures: Int
    /// The text of the revision that the last success led to.
    public var revision: String?
    /// For a conditional request (RFC 9110 §13.1).
    public var validators: SourceValidators
    /// Where the list came from, see `ListMatch.origin`.
    public var origin: UInt64 = 0

    public init(
        outcome: Outcome, age: Duration? = nil, interval: Duration, failures: Int, revision: String? = nil,
        validators: SourceValidators, origin: UInt64 = 0
    ) {
        (self.outcome, self.age, self.interval, self.failures, self.revision, self.validators, self.origin) = (
            outcome, age, interval, failures, revision, validators, origin
        )
    }
}

/// The validators by which a source recognises a state that it sent.
public struct SourceValidators: Sendable, Equatable {
    public var etag: String?
    public var lastModified: String?

    public init(etag: String? = nil, lastModified: String? = nil) {
        (self.etag, self.lastModified) = (etag, lastModified)
    }
}

extension SessionStore {
    /// How the next version of a session is made now.
    public func transition(of name: String) -> SessionTransition {
        SessionTransition(name: name, bounds: table.bounds.history, hash: hash, now: .now, isLogged: table.isCache)
    }

    public var silentSince: Instant? { nil }
    public var turns: PendingWrites? { nil }

    public func confirm(_ name: String, on executor: any WorkExecutor) -> Stored<Void>? { nil }

    /// Without other nodes, this process holds every lease.
    public func acquireLease(
        _ purpose: LeasePurpose, of name: String, for time: Duration, isForced: Bool, on executor: any WorkExecutor
    ) -> Stored<SourceLease> { .done(.success(.acquired(nil))) }

    public func releaseLease(
        _ purpose: LeasePurpose, of name: String, _ note: SourceNote?, next: Duration, on executor: any WorkExecutor
    ) -> Stored<Void> { .done(.success(())) }
}
