import SnapshotKit

/// Takes over the state that a list's source answered with, if the session is still what it was when the source was
/// asked: the answer may have been made before an edit that was committed since, and would undo it.
final class AdoptSource: SessionOperation {
    /// What became of it.
    enum Outcome: Sendable {
        /// The session is as the source says.
        case adopted(Session)
        /// Somebody else was faster.
        case overtaken
    }

    private let body: PostedBody
    private let base: Revision?
    private let settings: Session.Settings

    /// - Parameters:
    ///   - base: where the session was when the source was asked; nil if there was none.
    ///   - settings: that the file gives the session.
    init(_ body: PostedBody, base: Revision?, settings: Session.Settings) {
        (self.body, self.base, self.settings) = (body, base, settings)
    }

    var isWrite: Bool { true }
    var replacesDamaged: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
        guard session?.head.revision == base else { return .finish(.overtaken) }
        guard case .state(let state, _) = try body.content(for: session).value else {
            throw .unreadable(.wrongMember("/edits", "a source answers with a state"))
        }
        guard let before = session else {
            let first = transition.firstSession(state.snapshot, settings: settings, after: nil, maker: nil)
            return .swap(first, .adopted(first))
        }
        let settled = transition.session(before, settled: settings.numbered(as: before.settings))
        let next = transition.session(after: settled, state.snapshot, state.reused, maker: nil).0
        return next === before ? .finish(.adopted(before)) : .swap(next, .adopted(next))
    }
}

extension Session.Settings {
    /// The same, of a session for which other places have come to be ignored as often.
    fileprivate func numbered(as other: Session.Settings) -> Session.Settings {
        var settings = self
        settings.digestEpoch = other.digestEpoch
        return settings
    }
}
