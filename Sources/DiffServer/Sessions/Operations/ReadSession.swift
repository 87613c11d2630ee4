/// Reads the head, with the past revision that a reader has, so that changes since then can be computed.
struct ReadSession: SessionOperation {
    /// What the reader has.
    var since = Since.absent

    var isWrite: Bool { false }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Session> {
        guard let session else { throw .noSession(transition.name) }
        if let sequence = session.missing(since, at: transition.now, bounds: transition.bounds) {
            return .recall(sequence)
        }
        return .finish(session)
    }
}
