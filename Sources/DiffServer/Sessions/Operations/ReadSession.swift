/// Reads the head, with all that is known of its past.
struct ReadSession: SessionOperation {
    var isWrite: Bool { false }
    var fetches: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session> {
        guard let session else { throw .noSession(transition.name) }
        return .finish(session)
    }
}

/// Reads the head, if there is one.
struct FindSession: SessionOperation {
    var isWrite: Bool { false }
    var fetches: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session?> {
        .finish(session)
    }
}
