import SnapshotKit

/// Writes a new state, or edits the one that is there. An object, since all steps of a write hold on to it.
final class ChangeSession: SessionOperation {
    enum Content: Sendable {
        case state(Snapshot, ReusedRuns?)
        case edits(EditBatch, StateLimits)
    }

    /// How it went.
    enum Outcome: Sendable {
        /// The session was made.
        case made(Session)
        /// The session is as the write left it, which may have changed nothing.
        case changed(Session, Changeset, from: Revision)
        /// The write had been done before; then the session was made, or was at a revision.
        case repeated(Session, made: Bool, from: Revision?)
    }

    private let content: Content
    /// Whether all is to be drawn again at once, and no change shown.
    private let isReload: Bool
    /// Of a session that is made.
    private let settings: Session.Settings
    private let condition: WriteCondition
    private let key: ReplayWindow.Key?
    /// Of edits, and of whatever has a key: a state is compared itself.
    private let fingerprint: RequestFingerprint?

    init(
        _ content: Content, isReload: Bool = false, settings: Session.Settings, condition: WriteCondition, key: ReplayWindow.Key?,
        fingerprint: RequestFingerprint?
    ) {
        (self.content, self.isReload) = (content, isReload)
        (self.settings, self.condition) = (settings, condition)
        (self.key, self.fingerprint) = (key, fingerprint)
    }

    var isWrite: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
        guard let before = session else { return try first(transition) }
        if let entry = try replayed(before, transition) {
            return .finish(.repeated(before, made: entry.made, from: entry.before))
        }
        let revision = before.head.revision
        if try !condition.isMet(by: revision) {
            // Not the head that was named; but perhaps the head is what this very write made of it, and the answer was
            // lost.
            guard let parent = before.head.parent, condition.match?.revision == parent,
                try leads(to: before, transition)
            else { throw .mismatch(current: revision) }
            return .finish(.repeated(before, made: false, from: parent))
        }
        let (after, changeset) = try next(after: before, isReload: isReload, transition)
        let outcome = Outcome.changed(after, changeset, from: revision)
        if key == nil, after.head.revision == revision { return .finish(outcome) }
        guard let remembering = remembering(after, made: false, before: revision, transition) else {
            return .swap(after, outcome)
        }
        return .swap(remembering, .changed(remembering, changeset, from: revision))
    }

    /// Makes the session.
    private func first(_ transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
        guard case .state(let state, _) = content else { throw .noSession(transition.name) }
        if condition.match != nil { throw .mismatch(current: nil) }
        let session = transition.firstSession(state, settings: settings, after: nil, maker: fingerprint)
        let made = remembering(session, made: true, before: nil, transition) ?? session
        return .swap(made, .made(made))
    }

    /// What follows a session when this is done to it.
    private func next(
        after before: Session, isReload: Bool, _ transition: SessionTransition
    ) throws(SessionError) -> (Session, Changeset) {
        let whole: Marks = isReload ? .reload : .none
        switch content {
        case .state(let state, let reused):
            return transition.session(after: before, state, reused, marks: whole, maker: fingerprint)
        case .edits(let batch, let limits):
            do throws(EditError) {
                var (snapshot, marks, reused) = try before.head.snapshot.applying(batch, limits: limits)
                marks.formUnion(whole)
                return transition.session(after: before, snapshot, reused, marks: marks, maker: fingerprint)
            } catch { throw .edits(error) }
        }
    }

    // MARK: Writes that were done before

    /// The write that this one repeats, if its key was seen before.
    private func replayed(
        _ session: Session, _ transition: SessionTransition
    ) throws(SessionError) -> ReplayWindow.Entry? {
        guard let key, let entry = session.replays.entry(key, at: transition.now) else { return nil }
        guard entry.fingerprint == fingerprint else { throw .keyReused(key.key) }
        return entry
    }

    /// Whether the head is what this request makes: it equals the state, or a body with these edits made it.
    private func leads(to head: Session, _ transition: SessionTransition) throws(SessionError) -> Bool {
        switch content {
        case .state: try next(after: head, isReload: false, transition).0.head.revision == head.head.revision
        case .edits: fingerprint != nil && head.head.maker == fingerprint
        }
    }

    /// The session, which knows from now on that the key was answered; nil without a key.
    private func remembering(
        _ session: Session, made: Bool, before: Revision?, _ transition: SessionTransition
    ) -> Session? {
        guard let key, let fingerprint else { return nil }
        var replays = session.replays
        let entry = ReplayWindow.Entry(fingerprint: fingerprint, made: made, before: before, done: transition.now)
        replays.remember(entry, by: key)
        return session.with(replays: replays)
    }
}
