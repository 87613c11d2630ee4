import SnapshotKit

/// What a request does with a session, as a value: it decides what becomes of a given session. If another write was
/// faster, it decides again on the session as it is then.
protocol SessionOperation: Sendable {
    /// The result when it is done.
    associatedtype Outcome: Sendable

    /// Whether it usually changes the session, so that it pays to try it on the one in memory before the store is asked
    /// whether that is still the head.
    var isWrite: Bool { get }
    /// Whether it may replace a session that cannot be read.
    var replacesDamaged: Bool { get }

    /// Whether a session with a source is fetched for it if there is none yet, or if it is old.
    var fetches: Bool { get }
    /// Whose consent is needed first; nil if nobody's.
    var consent: (any Consent)? { get }

    /// Decides what becomes of a session; nil: where there is none.
    ///
    /// A finish or an error only counts for the head. For any other session, the operation decides again on the head.
    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome>
}

extension SessionOperation {
    var replacesDamaged: Bool { false }
    var fetches: Bool { false }
    var consent: (any Consent)? { nil }
}

/// Consent to edits, which is asked for after every check and before they are committed.
protocol Consent: AnyObject, Sendable {
    /// Whether it was given. The edits are made then, whoever else has written meanwhile.
    var isGiven: Bool { get }
    /// The revision for which it was last asked.
    var asked: Revision? { get }

    /// Takes the next step towards it, after which the edits are checked again.
    ///
    /// - Parameters:
    ///   - revision: to which the edits can be applied.
    ///   - body: holds the edits.
    func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, Problem>
}

/// What an operation makes of a session.
enum Decision<Outcome: Sendable>: Sendable {
    /// The session stays as it is.
    case finish(Outcome)
    /// This session takes its place, or is made.
    case swap(Session, Outcome)
    /// Consent is needed to edits that can be applied to a revision.
    case ask(at: Revision, edits: ArraySlice<UInt8>)
    /// The session is removed, if it is at a revision (nil: at any).
    case delete(at: Revision?, Outcome)
}

/// Why an operation is refused.
enum SessionError: Error, Sendable {
    case noSession(String)
    /// `If-Match` names another revision than the session's, which may not exist.
    case mismatch(current: Revision?)
    /// The server wants `If-Match`, and there was none.
    case conditionRequired
    /// `If-None-Match` names the revision that is there.
    case exists(Revision)
    /// The session's states only come from its source.
    case hasSource(String)
    /// The key was used for another request.
    case keyReused(String)
    /// The body is not a state.
    case unreadable(StateError)
    /// The edits cannot be read, or cannot be applied.
    case edits(EditError)
    /// The client may not do these operations.
    case notPermitted(Set<EditOperation>)
}
