import SnapshotKit

/// Makes a session, or starts it over: the history goes, the sequence goes on.
struct ReplaceSession: SessionOperation {
    let state: Snapshot
    let settings: Session.Settings
    let condition: WriteCondition

    /// The session as it is, and whether it was made.
    typealias Outcome = (session: Session, isNew: Bool)

    var isWrite: Bool { true }
    /// What nobody can read has no revision that a condition could name.
    var replacesDamaged: Bool { condition.isNone }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
        let next = transition.firstSession(state, settings: settings, after: session, maker: nil)
        if let session, try wasDone(session, next) { return .finish((session, isNew: false)) }
        if let current = session?.head.revision {
            if condition.noneMatch?.matches(current) == true { throw .exists(current) }
        } else if condition.match != nil {
            throw .mismatch(current: nil)
        }
        return .swap(next, (next, isNew: session == nil))
    }

    /// Checks what has to match. True if the head is what this very write made of the revision that is named: its
    /// answer was lost.
    private func wasDone(_ before: Session, _ next: Session) throws(SessionError) -> Bool {
        let head = before.head
        if try condition.isMet(by: head.revision) { return false }
        if let parent = head.parent, condition.match?.revision == parent,
            head.fingerprints.areOfSameState(as: next.head.fingerprints)
        {
            return true
        }
        throw .mismatch(current: head.revision)
    }
}
