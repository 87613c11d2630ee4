import SnapshotKit

/// Makes a session, or starts it over: the history goes, the sequence continues. Without a state, it only changes the
/// settings of an existing session.
struct ReplaceSession: SessionOperation {
    /// Nil: the state stays, or is empty if the session is new.
    let state: Snapshot?
    /// The settings of a session that is new, or starts over.
    let settings: Session.Settings
    /// The settings that the request names, for a session that stays.
    var named = Session.SettingsChange()
    let condition: WriteCondition

    /// The session as it is, and whether it was made.
    typealias Outcome = (session: Session, isNew: Bool)

    var isWrite: Bool { true }
    /// An unreadable session has no revision that a condition could name, and no state that could stay.
    var replacesDamaged: Bool { condition.isNone && state != nil }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
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

    /// Checks the condition. True if this same write made the head of the named revision before, and its answer was
    /// lost.
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
