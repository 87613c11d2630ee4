import SnapshotKit

/// Replaces a session by the state that its source answered with, if it is still what it was when the source was asked:
/// the answer may not know an edit that was committed since, and would undo it.
final class AdoptSource: SessionOperation {
    enum Outcome: Sendable {
        /// The session is as the source says.
        case adopted(Session)
        /// Another write was faster.
        case overtaken
    }

    private let body: PostedBody
    private let base: Revision?
    private let settings: Session.Settings

    /// - Parameters:
    ///   - base: the session's head when the source was asked; nil if there was no session.
    ///   - settings: those of the file.
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
        var settings = settings
        settings.digestEpoch = before.settings.digestEpoch
        let settled = transition.session(before, settled: settings)
        let next = transition.session(after: settled, state.snapshot, state.reused, maker: nil).0
        return next === before ? .finish(.adopted(before)) : .swap(next, .adopted(next))
    }
}
