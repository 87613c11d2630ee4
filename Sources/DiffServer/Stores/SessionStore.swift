// Every store has a `SessionTable`. For `memory` the table is the store; for the others it is a cache, and they ensure
// that a value is used only while it is the head. docs/stores.md says how to add a store.

import DiffClock
import DiffSessions
import SnapshotKit

/// Keeps sessions, and reports their next revisions. Any thread may call. On completion the table has the changes.
public protocol SessionStore: AnyObject, Sendable {
    var table: SessionTable { get }
    /// Makes the digests of revisions; all processes that share sessions share this key.
    var hash: KeyedHash { get }
    /// Whether no other process writes to the sessions, so that a session in the table is the head.
    var isSole: Bool { get }
    /// How much of the store can be reached and written, for `/readyz` and `/metrics`.
    var availability: StoreAvailability { get }
    /// Orders the writes of each session, so that they follow each other without conflicts; nil if that gains nothing.
    var turns: PendingWrites? { get }

    /// Since when the store has not been reached, though it was asked each second; nil while it is reached.
    var silentSince: Instant? { get }

    /// The session that queued writes will make; nil if there are none, or nothing can follow. Does not count as use.
    func pending(_ name: String) -> Session?
    /// The session to try a write on before the head is loaded; nil if it is better to load it. Counts as use.
    func expected(_ name: String) -> SessionView?
    /// Loads the head of a session, with its history; nil if there is no session. Counts as use.
    ///
    /// - Parameter again: whether a write was just tried on a session; the one loaded must not be older.
    func load(_ name: String, again: Bool, on executor: any WorkExecutor) -> Stored<SessionView?>
    /// Replaces the session that `next` was made from (nil: of none), or fails with `conflict`.
    func swap(_ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor)
        -> Stored<SessionSlot>
    /// Ensures, before an answer relies on it, that what was loaded is as safe as a commit; nil if it always is.
    func confirm(_ name: String, on executor: any WorkExecutor) -> Stored<Void>?
    /// Removes a session if it is at `revision` (nil: at any), or fails with `conflict`.
    func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void>
    /// Removes an unreadable session.
    func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void>
    /// Lists sessions. Takes long if there are many, so call it on workers. Does not count as use.
    func list(_ range: SessionRange) -> Stored<SessionPage>
    /// Revokes the tokens of a session, which need not exist, made up to a moment (milliseconds since 1970), or one
    /// token where the name is `session/jti`, and ends their readers. Other processes that share the store know soon.
    func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void>
    /// Acquires the lease for something that only one process at a time should do; even if it is not due, if forced.
    func acquireLease(
        _ purpose: LeasePurpose, of name: String, for time: Duration, isForced: Bool, on executor: any WorkExecutor
    ) -> Stored<SourceLease>
    /// Releases a lease; it is due again after `next`.
    func releaseLease(
        _ purpose: LeasePurpose, of name: String, _ note: SourceNote?, next: Duration, on executor: any WorkExecutor
    ) -> Stored<Void>
    /// Called when the first reader of a slot comes or the last one leaves: while it has readers, it must be told of
    /// other processes' commits.
    func watch(_ slot: SessionSlot)
    /// Removes expired sessions. Called each second.
    func sweep()
    /// Ends everything under way. Whatever was acknowledged is kept.
    func close()
}

/// How much of a store can be used.
public enum StoreAvailability: Comparable, Sendable {
    /// Never reached, or with records that this process cannot use.
    case unknown
    /// Reached before, but takes no writes now.
    case away
    /// Some of its servers take writes, and their sessions are served.
    case partial
    case whole
}

public typealias Stored<Value: Sendable> = Progress<Value, StoreFailure>

public typealias Completion<Value> = @Sendable (Result<Value, StoreFailure>) -> Void

/// Why a store did not carry out an operation.
public enum StoreFailure: Error, Equatable {
    /// The session exists already, no longer exists, or is no longer at the named revision.
    case conflict
    /// The session alone is larger than the budget.
    case capacity
    /// Too many requests are waiting for sessions to be loaded.
    case crowded
    /// The store has reached its own limit, and accepts only writes that do not make it larger.
    case full
    /// The session of this name cannot be read.
    case damaged(String)
    /// The store cannot be reached, or is full or damaged. The operation may have taken effect nevertheless.
    case unavailable(String)

    var isDamage: Bool { if case .damaged = self { true } else { false } }

    /// Whether it shows that there is a session.
    var isOfSession: Bool { isDamage || self == .capacity }

    /// A few words for clients, which need not know which failure it was.
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
// A source should be asked once for all nodes. A lease is busy while its holder asks, and then free but not due until
// the next time. Its note of the outcome tells every node how old the list is. A node that dies loses its leases.

/// The outcome of an attempt to acquire a session's lease.
public enum SourceLease: Sendable {
    /// This node holds the lease until it releases it.
    case acquired(SourceNote?)
    /// Another node is asking the source now.
    case busy(SourceNote?)
    /// The lease is free, but only due after this time.
    case notDue(SourceNote?, in: Duration)

    public var note: SourceNote? {
        switch self {
        case .acquired(let note), .busy(let note), .notDue(let note, _): note
        }
    }
}

/// Each session has a lease for its source, and one for its hook.
public enum LeasePurpose: String, Sendable { case source, hook }

/// What nodes tell each other about a source.
public struct SourceNote: Sendable, Equatable {
    /// The outcome of the last request.
    public enum Outcome: String, Sendable {
        case fetched, failed
        /// The source says that there is no such list.
        case missing
    }

    public var outcome: Outcome
    /// Time since the last success; nil if there was none.
    public var age: Duration?
    /// Time from one success to the next request.
    public var interval: Duration
    public var failures: Int
    /// The text of the revision that the last success led to.
    public var revision: String?
    /// The validators for a conditional request (RFC 9110 §13.1).
    public var validators: SourceValidators
    /// Where the list came from, see `ListMatch.sourceHash`.
    public var sourceHash: UInt64 = 0

    public init(
        outcome: Outcome, age: Duration? = nil, interval: Duration, failures: Int, revision: String? = nil,
        validators: SourceValidators, sourceHash: UInt64 = 0
    ) {
        (self.outcome, self.age, self.interval, self.failures) = (outcome, age, interval, failures)
        (self.revision, self.validators, self.sourceHash) = (revision, validators, sourceHash)
    }
}

/// The validators by which a source recognises a state that it has sent.
public struct SourceValidators: Sendable, Equatable {
    public var etag: String?
    public var lastModified: String?

    public init(etag: String? = nil, lastModified: String? = nil) {
        (self.etag, self.lastModified) = (etag, lastModified)
    }
}

extension SessionStore {
    /// How to make the next version of a session now.
    public func transition(of name: String) -> SessionTransition {
        SessionTransition(name: name, bounds: table.bounds.history, hash: hash, now: .now, isLogged: table.isCache)
    }

    public var silentSince: Instant? { nil }
    public var turns: PendingWrites? { nil }

    public func pending(_ name: String) -> Session? { nil }

    public func expected(_ name: String) -> SessionView? { nil }

    public func watch(_ slot: SessionSlot) {}

    public func confirm(_ name: String, on executor: any WorkExecutor) -> Stored<Void>? { nil }

    /// Without other nodes, this process always gets the lease.
    public func acquireLease(
        _ purpose: LeasePurpose, of name: String, for time: Duration, isForced: Bool, on executor: any WorkExecutor
    ) -> Stored<SourceLease> { .done(.success(.acquired(nil))) }

    public func releaseLease(
        _ purpose: LeasePurpose, of name: String, _ note: SourceNote?, next: Duration, on executor: any WorkExecutor
    ) -> Stored<Void> { .done(.success(())) }
}
