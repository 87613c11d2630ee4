import SnapshotKit

/// Makes a session, or starts it over: the history goes, the sequence goes on. Without a state, a session that exists
/// stays as it is but for its settings.
struct ReplaceSession: SessionOperation {
    /// Nil: that of the session, or an empty one where there is none.
    let state: Snapshot?
    /// Of a session that begins.
    let settings: Session.Settings
    /// What was said of them: of a session that stays.
    var named = Session.SettingsChange()
    let condition: WriteCondition

    /// The session as it is, and whether it was made.
    typealias Outcome = (session: Session, isNew: Bool)

    var isWrite: Bool { true }
    /// What nobody can read has no revision that a condition could name, and no state that could stay.
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

    /// Checks what has to match. True if the head is what this very write made of the revision that is named: its
    /// answer was lost.
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
