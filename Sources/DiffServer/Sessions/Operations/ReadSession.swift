/// Reads a session, which must exist.
struct ReadSession: SessionOperation {
    var isWrite: Bool { false }
    var fetches: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session> {
        guard let session else { throw .noSession(transition.name) }
        return .finish(session)
    }
}

/// Reads a session, if there is one.
struct FindSession: SessionOperation {
    var isWrite: Bool { false }
    var fetches: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session?> {
        .finish(session)
    }
}
