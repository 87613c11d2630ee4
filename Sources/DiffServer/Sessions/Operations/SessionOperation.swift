import SnapshotKit

/// What a request does with a session, as a value: given the session as it is, it says what becomes of it. It is asked
/// again, with the session as it is then, whenever somebody else was faster.
protocol SessionOperation: Sendable {
    /// What is told of it when it is done.
    associatedtype Outcome: Sendable

    /// Whether it most often changes the session, so that it pays to try it on what is in memory before the store is
    /// asked whether that is still the head.
    var isWrite: Bool { get }
    /// Whether what cannot be read may be thrown away for it.
    var replacesDamaged: Bool { get }

    /// Whether a session that fetches itself is to be fetched for it, where there is none yet or it is old.
    var fetches: Bool { get }
    /// Who has to agree first; nil where nobody has to.
    var consent: (any Consent)? { get }

    /// What becomes of a session; nil if there is none.
    ///
    /// What it finishes with, and an error, only hold for the head: on anything else they are found again there.
    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome>
}

extension SessionOperation {
    var replacesDamaged: Bool { false }
    var fetches: Bool { false }
    var consent: (any Consent)? { nil }
}

/// What an operation makes of a session.
enum Decision<Outcome: Sendable>: Sendable {
    /// Nothing is to be done any more.
    case finish(Outcome)
    /// The session becomes this one; or is made, where there was none.
    case swap(Session, Outcome)
    /// Somebody has to agree first to edits that can be applied to a revision.
    case ask(at: Revision, edits: ArraySlice<UInt8>)
    /// The session goes, if it is at a revision (nil: whichever it is at).
    case delete(at: Revision?, Outcome)
}

/// Why an operation is refused.
enum SessionError: Error, Sendable {
    case noSession(String)
    /// `If-Match` names another revision than the session's, which may not exist.
    case mismatch(current: Revision?)
    /// The server wants `If-Match`, and there was none.
    case conditionRequired
    /// `If-None-Match` names what is there.
    case exists(Revision)
    /// States come from the session's source alone.
    case hasSource(String)
    /// The key stands for another request.
    case keyReused(String)
    /// The body is no state.
    case unreadable(StateError)
    /// The edits cannot be read, or not be applied.
    case edits(EditError)
    /// Who sends the edits may not do these.
    case notPermitted(Set<EditOperation>)
}
