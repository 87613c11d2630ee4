import DiffClock
import SnapshotKit

/// What a request does with a session, as a value: it decides what becomes of a given session. If another write came
/// first, it decides again on the new session.
public protocol SessionOperation: Sendable {
    associatedtype Outcome: Sendable

    /// Whether it pays to try it on the session in memory before asking the store whether that is still the head.
    var isWrite: Bool { get }
    /// Whether it may replace a session that cannot be read.
    var replacesDamaged: Bool { get }

    /// Whether a session with a source is fetched for it, if there is none yet or if it is old.
    var fetches: Bool { get }
    /// The consent needed first; nil for none.
    var consent: (any Consent)? { get }

    /// A finish or an error only counts for the head. For any other session, the operation decides again on the head.
    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome>
}

extension SessionOperation {
    public var isWrite: Bool { true }
    public var replacesDamaged: Bool { false }
    public var fetches: Bool { false }
    public var consent: (any Consent)? { nil }
}

/// Consent to edits, asked for after all checks, before the edits are committed.
public protocol Consent: AnyObject, Sendable {
    /// The revision for which it was given; nil if it has not been. The edits are then made even if others have written
    /// meanwhile.
    var given: Revision? { get }

    /// Takes the next step towards consent to edits that can be applied to a revision. They are checked again after it.
    func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, ConsentFailure>
}

/// Why consent was not given.
public enum ConsentFailure: Error, Equatable {
    /// The owner of the list refuses the edits; in the owner's words, if there are any.
    case refused(String?)
    /// Too many edits wait for the owner.
    case busy
    /// The owner could not be asked, but may be asked again after this many seconds, if it named a time.
    case unavailable(retryAfter: Int?)
    /// No other node may ask at the same time, and the store that arbitrates failed.
    case leaseFailed(String)
}

/// What an operation makes of a session.
public enum Decision<Outcome: Sendable>: Sendable {
    /// The session stays as it is.
    case finish(Outcome)
    /// This session replaces the given one, or is created.
    case swap(Session, Outcome)
    /// Consent is needed.
    case ask(at: Revision, edits: ArraySlice<UInt8>)
    /// The session is removed, if it is at a revision (nil: at any).
    case delete(at: Revision?, Outcome)
}

/// Why an operation is refused.
public enum SessionError: Error, Sendable {
    case noSession(String)
    /// `If-Match` names another revision than the session's. The session may not exist.
    case mismatch(current: Revision?)
    /// The server requires `If-Match`, and there was none.
    case conditionRequired
    /// `If-None-Match` names the current revision.
    case exists(Revision)
    /// The session's states come only from its source, which would not learn of these edits if they are edits.
    case hasSource(isEdits: Bool)
    /// The key was used for another request.
    case keyReused(String)
    /// The body is not a state.
    case unreadable(StateError)
    /// The edits cannot be read, or cannot be applied.
    case edits(EditError)
    case notPermitted(Set<EditOperation>)
}

// MARK: - Conditions

/// A write's conditions on the head.
public struct WriteCondition: Sendable {
    /// The head must be one of these.
    public var match: RevisionTags?
    /// The head must be none of these.
    public var noneMatch: RevisionTags?
    /// Whether an existing session may only be written with `match`.
    var isRequired = false

    public init(match: RevisionTags? = nil, noneMatch: RevisionTags? = nil, isRequired: Bool = false) {
        (self.match, self.noneMatch, self.isRequired) = (match, noneMatch, isRequired)
    }

    var isNone: Bool { match == nil && noneMatch == nil }

    func isMet(by session: Session) throws(SessionError) -> Bool {
        guard let match else {
            // A write that `noneMatch` refuses gets that answer, not a demand for `match`.
            if isRequired, noneMatch?.matches(session.head.revision) != true { throw .conditionRequired }
            return true
        }
        return match.names(session.head.revision, of: session)
    }
}

/// Revisions by their text, or any revision.
public struct RevisionTags: Sendable {
    var isAny: Bool
    var texts: [String]
    /// The client's views, by which it may name revisions.
    public var views: [ViewName] = []

    public init(isAny: Bool, texts: [String], views: [ViewName] = []) {
        (self.isAny, self.texts, self.views) = (isAny, texts, views)
    }

    public func names(_ text: String) -> Bool { isAny || texts.contains(text) }

    public func matches(_ revision: Revision) -> Bool { names(revision.text) }

    /// Whether they name a revision of a session, whichever part of it the client shows.
    func names(_ revision: Revision, of session: Session) -> Bool {
        if matches(revision) { return true }
        let name = session.name(of: revision, through: views)
        return texts.contains { text in
            guard let named = Revision(text)?.showing(nil) else { return false }
            return named == revision || named == name
        }
    }

    /// Whether they name this revision, and no other.
    func namesOnly(_ revision: Revision, of session: Session) -> Bool {
        !isAny && texts.count == 1 && names(revision, of: session)
    }
}

// MARK: - Reading

/// Reads a session, which must exist.
public struct ReadSession: SessionOperation {
    public init() {}
    public var isWrite: Bool { false }
    public var fetches: Bool { true }

    public func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session>
    {
        guard let session else { throw .noSession(transition.name) }
        return .finish(session)
    }
}

/// Reads a session, if there is one.
public struct FindSession: SessionOperation {
    public let fetches: Bool

    public init(fetches: Bool = true) { self.fetches = fetches }
    public var isWrite: Bool { false }

    public func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session?>
    {
        .finish(session)
    }
}

// MARK: - Replacing

/// Makes a session, or starts it over: the history is dropped, the sequence continues. Without a state, it only changes
/// the settings of an existing session.
public struct ReplaceSession: SessionOperation {
    /// Nil: the state stays, or is empty if the session is new.
    let state: Snapshot?
    /// For a session that is new or starts over.
    public let settings: Session.Settings
    /// For a session that stays.
    let named: Session.SettingsChange
    let condition: WriteCondition

    public init(
        state: Snapshot? = nil, settings: Session.Settings, named: Session.SettingsChange = Session.SettingsChange(),
        condition: WriteCondition
    ) {
        (self.state, self.settings, self.named, self.condition) = (state, settings, named, condition)
    }

    public typealias Outcome = (session: Session, isNew: Bool)

    /// An unreadable session has no revision that a condition could name, and no state that could stay.
    public var replacesDamaged: Bool { condition.isNone && state != nil }

    public func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome>
    {
        guard let session else {
            if condition.match != nil { throw .mismatch(current: nil) }
            let first = transition.firstSession(state ?? .empty, settings: settings, after: nil, maker: nil)
            return .swap(first, (first, isNew: true))
        }
        let next =
            state.map { transition.firstSession($0, settings: settings, after: session, maker: nil) }
            ?? transition.session(session, settled: named.applied(to: session.settings))
        if try wasDone(session, next) { return .finish((session, isNew: false)) }
        let current = session.head.revision
        if condition.noneMatch?.matches(current) == true { throw .exists(current) }
        return next === session ? .finish((session, isNew: false)) : .swap(next, (next, isNew: false))
    }

    /// Checks the condition. True if this write made the head from the named revision earlier, and its answer was lost.
    private func wasDone(_ before: Session, _ next: Session) throws(SessionError) -> Bool {
        let head = before.head
        if try condition.isMet(by: before) { return false }
        if state != nil, let parent = head.parent, condition.match?.namesOnly(parent, of: before) == true,
            head.fingerprints.areOfSameState(as: next.head.fingerprints)
        {
            return true
        }
        throw .mismatch(current: head.revision)
    }
}

// MARK: - Removing

/// Removes a session. If it is gone already, that is no error.
public struct RemoveSession: SessionOperation {
    let condition: WriteCondition

    public init(condition: WriteCondition) { self.condition = condition }

    /// An unreadable session has no revision that a condition could name.
    public var replacesDamaged: Bool { condition.isNone }

    public func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Void> {
        guard let session else { return .finish(()) }
        let revision = session.head.revision
        guard try condition.isMet(by: session) else { throw .mismatch(current: revision) }
        return .delete(at: condition.match == nil ? nil : revision, ())
    }
}
