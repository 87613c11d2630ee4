import SnapshotKit

/// Writes a new state, or edits the head. An object, since all steps of a write retain it.
public final class ChangeSession: SessionOperation {
    public enum Outcome: Sendable {
        case made(Session)
        /// The session after the write, which may have changed nothing.
        case changed(Session, Changeset, from: Revision)
        /// A repeated write; the first one made the session, or found it at a revision.
        case repeated(Session, made: Bool, from: Revision?)
    }

    let body: PostedBody
    /// Whether to redraw everything at once, without showing changes.
    private let isReload: Bool
    private let condition: WriteCondition
    private let key: ReplayWindow.Key?
    /// The fingerprint of a request with a key, or about one section. Other states are compared without a key, and
    /// edits have a fingerprint of their own.
    private let fingerprint: RequestFingerprint?
    /// The request's parameters about the body.
    private let parameters: [String]
    public let consent: (any Consent)?

    public init(
        _ body: PostedBody, isReload: Bool = false, condition: WriteCondition, key: ReplayWindow.Key?,
        fingerprint: RequestFingerprint?, parameters: [String] = [], consent: (any Consent)? = nil
    ) {
        (self.body, self.isReload, self.condition, self.key) = (body, isReload, condition, key)
        (self.fingerprint, self.parameters, self.consent) = (fingerprint, parameters, consent)
    }

    public var fetches: Bool { true }

    public func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome>
    {
        let content: PostedBody.Content
        do throws(SessionError) { content = try body.content(for: session) } catch {
            // Reports the violations against the state, too.
            guard case .edits(.wrongShape) = error, let session,
                let violations = body.violations(on: session)
            else { throw error }
            throw .edits(.wrongShape(violations))
        }
        guard let before = session else { return try first(content, transition) }
        if let entry = try replayed(before, transition) {
            return .finish(.repeated(before, made: entry.made, from: entry.before))
        }
        let revision = before.head.revision
        // Consent was given with the condition known, so it counts whatever the head is by now.
        let agreed = consent?.given
        if agreed == nil, try !condition.isMet(by: before) {
            // This may be a retry after a lost answer: the same write made the head from the named revision. A request
            // with an unknown key is no retry, but another writer's.
            guard key == nil, let parent = before.head.parent, condition.match?.namesOnly(parent, of: before) == true,
                try leads(content, to: before, transition)
            else { throw .mismatch(current: revision) }
            return .finish(.repeated(before, made: false, from: parent))
        }
        let after: Session
        let changeset: Changeset
        do throws(SessionError) {
            (after, changeset) = try next(content, isReload: isReload, after: before, transition)
        } catch {
            guard let agreed, case .edits = error else { throw error }
            // Drops edits that another write has since made impossible.
            let next = remembering(before, made: false, before: agreed, transition)
            let outcome = Outcome.repeated(next, made: false, from: agreed)
            return next === before ? .finish(outcome) : .swap(next, outcome)
        }
        if agreed == nil, consent != nil, case .edits(_, _, let text) = content.value {
            return .ask(at: revision, edits: text)
        }
        if key == nil, after.head.revision == revision { return .finish(.changed(after, changeset, from: revision)) }
        let next = remembering(after, made: false, before: revision, transition)
        return .swap(next, .changed(next, changeset, from: revision))
    }

    private func first(
        _ content: PostedBody.Content, _ transition: SessionTransition
    ) throws(SessionError) -> Decision<Outcome> {
        let snapshot: Snapshot
        var settings = body.defaults
        switch content.value {
        case .state(let state, let named):
            snapshot = state.snapshot
            if let named { settings = named }
        case .section(let section, let limits): snapshot = try Snapshot.empty.with(section, limits: limits).snapshot
        case .edits: throw .noSession(transition.name)
        }
        if condition.match != nil { throw .mismatch(current: nil) }
        let session = transition.firstSession(snapshot, settings: settings, after: nil, maker: fingerprint)
        let made = remembering(session, made: true, before: nil, transition)
        return .swap(made, .made(made))
    }

    private func next(
        _ content: PostedBody.Content, isReload: Bool, after before: Session, _ transition: SessionTransition
    ) throws(SessionError) -> (Session, Changeset) {
        let whole: Marks = isReload ? .reload : .none
        switch content.value {
        case .state(let state, _):
            return transition.session(after: before, state.snapshot, state.shared, marks: whole, maker: fingerprint)
        case .section(let section, let limits):
            let (snapshot, shared) = try before.head.snapshot.with(section, limits: limits)
            return transition.session(after: before, snapshot, shared, marks: whole, maker: fingerprint)
        case .edits(let batch, let limits, let text):
            let maker = fingerprint(of: text, transition)
            do throws(EditError) {
                var (snapshot, marks, shared) = try before.head.snapshot.applying(
                    batch, following: before.settings.shape, keepsExpanded: before.settings.keepsExpanded,
                    sequence: before.head.revision.sequence + 1, limits: limits)
                marks.formUnion(whole)
                return transition.session(after: before, snapshot, shared, marks: marks, maker: maker)
            } catch { throw .edits(error) }
        }
    }

    // MARK: Repeated writes

    private func replayed(
        _ session: Session, _ transition: SessionTransition
    ) throws(SessionError) -> ReplayWindow.Entry? {
        guard let key, let entry = session.replays.entry(key, at: transition.now) else { return nil }
        guard entry.fingerprint == fingerprint else { throw .keyReused(key.key) }
        return entry
    }

    /// Whether this request may have made the head: its state equals the head's, or a body with the same edits made the
    /// head. Edits that accumulate may just as well be another writer's, whose amounts must not be lost.
    private func leads(
        _ content: PostedBody.Content, to head: Session, _ transition: SessionTransition
    ) throws(SessionError) -> Bool {
        switch content.value {
        case .state:
            return try next(content, isReload: false, after: head, transition).0.head.revision == head.head.revision
        case .section(let section, let limits):
            if head.head.maker == fingerprint { return true }
            // Other bytes may say the same of the section. Equal sections are not enough: the rest may be another's.
            guard let parent = head.parentState(at: transition), let next = try? parent.with(section, limits: limits)
            else { return false }
            return transition.session(after: head, next.snapshot, maker: nil).0 === head
        case .edits(let batch, _, let text):
            return !batch.accumulates && head.head.maker == fingerprint(of: text, transition)
        }
    }

    /// The request's if it has one, else that of the edits' body.
    private func fingerprint(of text: ArraySlice<UInt8>, _ transition: SessionTransition) -> RequestFingerprint {
        fingerprint ?? RequestFingerprint(of: text, parameters, by: transition.hash)
    }

    /// The session with the answered key; the same without a key.
    private func remembering(
        _ session: Session, made: Bool, before: Revision?, _ transition: SessionTransition
    ) -> Session {
        guard let key, let fingerprint else { return session }
        var replays = session.replays
        let entry = ReplayWindow.Entry(fingerprint: fingerprint, made: made, before: before, done: transition.now)
        replays.remember(entry, by: key)
        return session.with(replays: replays)
    }
}

extension Session {
    /// The state that the head was made from, if it is remembered.
    fileprivate func parentState(at transition: SessionTransition) -> Snapshot? {
        guard let parent = head.parent,
            let index = history.index(of: parent, at: transition.now, bounds: transition.bounds),
            history.revision(at: index) == parent
        else { return nil }
        return state(at: index, isIndexed: true)?.snapshot
    }
}

extension Snapshot {
    /// The state with one section as a document has it.
    fileprivate func with(
        _ section: SectionReading, limits: StateLimits
    ) throws(SessionError) -> (snapshot: Snapshot, shared: SharedRuns) {
        do throws(StateError) { return try replacing(section, limits: limits) } catch { throw .unreadable(error) }
    }
}
