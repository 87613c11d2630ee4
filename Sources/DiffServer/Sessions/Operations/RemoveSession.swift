/// Removes a session; that it is gone already is no error.
struct RemoveSession: SessionOperation {
    let condition: WriteCondition

    var isWrite: Bool { true }
    /// An unreadable session has no revision that a condition could name.
    var replacesDamaged: Bool { condition.isNone }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Void> {
        guard let session else { return .finish(()) }
        let revision = session.head.revision
        guard try condition.isMet(by: session) else { throw .mismatch(current: revision) }
        return .delete(at: condition.match == nil ? nil : revision, ())
    }
}
