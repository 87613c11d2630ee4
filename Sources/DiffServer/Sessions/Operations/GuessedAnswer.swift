// The shape of a list whose file says "guess". The first answer with elements makes it, and it is kept in the session's
// settings, with the number of answers that it was guessed of. The second and third answer may correct it; an answer
// that changes nothing tells nothing. Where no correction helps, and whatever comes later, is read without what is
// wrong in it, since nobody is there to mend it: a guess must never stop a list. If three answers told of an outage in
// a list of its own, the first answer with ids corrects that as well, and so does a likelier list without elements in
// them.

import SnapshotKit

/// An answer of a source, read by a guessed shape.
public struct GuessedAnswer: Sendable {
    public let state: StateReading
    /// The session's from now on, with the shape.
    public let settings: Session.Settings
    /// The shapes of which the first was taken if it is a new one; the others are less likely.
    public var shapes: [StateShape] = []
    /// Whether that is another shape than before, so that ids have another meaning.
    public var isCorrected = false

    public init(state: StateReading, settings: Session.Settings, shapes: [StateShape] = [], isCorrected: Bool = false) {
        (self.state, self.settings, self.shapes, self.isCorrected) = (state, settings, shapes, isCorrected)
    }

    static let most: UInt8 = 3
}

extension PostedBody {
    /// - Parameter settings: the session's by the file.
    public func guessed(
        for session: Session?, _ settings: Session.Settings, by transition: SessionTransition
    ) throws(SessionError) -> GuessedAnswer {
        guard let session, session.settings.guessedAnswers > 0 else { return try firstGuess(for: session, settings) }
        var settings = settings
        (settings.shape, settings.guessedAnswers) = (session.settings.shape, session.settings.guessedAnswers)
        let shape = settings.shape ?? .native
        let isSettled = settings.guessedAnswers == GuessedAnswer.most
        settings.emptyPlaces = session.settings.emptyPlaces
        if let places = settings.emptyPlaces, let late = otherShape({ $0.lateList(at: places, than: shape, $1) }) {
            settings.emptyPlaces = nil
            settings.take(isSettled ? late.settled : late)
            return GuessedAnswer(
                state: try state(late, for: session, omitsFaults: true), settings: settings, shapes: [late],
                isCorrected: true)
        }
        guard !isSettled else {
            do throws(SessionError) {
                return GuessedAnswer(state: try state(shape, for: session, omitsFaults: true), settings: settings)
            } catch {
                guard let next = otherShape({ $0.successor(of: shape, after: session.head.snapshot, $1) }) else {
                    throw error
                }
                settings.take(next.settled)
                return GuessedAnswer(
                    state: try state(next.settled, for: session, omitsFaults: true), settings: settings,
                    shapes: [next], isCorrected: true)
            }
        }
        let read = try? state(shape, for: session)
        let isOld = read.map { tellsNothing($0, session, transition) } ?? false
        // Texts may be beside the list, which is elsewhere in the document.
        let better =
            isOld && shape.mapping?.element.idAt != [.root]
            ? nil : otherShape { $0.correction(of: shape, reading: read, after: session.head.snapshot, $1) }
        if isOld, better == nil, let read { return GuessedAnswer(state: read, settings: settings) }
        let next: StateReading
        if better == nil, let read {
            next = read
        } else {
            next = try state(better ?? shape, for: session, omitsFaults: better == nil)
        }
        settings.guessedAnswers += 1
        settings.take(
            settings.guessedAnswers == GuessedAnswer.most ? (better ?? shape).settled : better ?? shape,
            beside: emptyPlaces)
        return GuessedAnswer(
            state: next, settings: settings, shapes: better.map { [$0] } ?? [], isCorrected: better != nil)
    }

    private func firstGuess(for session: Session?, _ settings: Session.Settings) throws(SessionError) -> GuessedAnswer {
        var settings = settings
        let shapes = try likelyShapes()
        guard let shape = shapes.first else { return GuessedAnswer(state: StateReading(.empty), settings: settings) }
        settings.guessedAnswers = 1
        settings.take(shape, beside: emptyPlaces)
        return GuessedAnswer(state: try state(shape, for: session), settings: settings, shapes: shapes)
    }

    /// Whether an answer has no elements, or is the one before.
    private func tellsNothing(_ state: StateReading, _ session: Session, _ transition: SessionTransition) -> Bool {
        state.snapshot.itemCount == 0
            || transition.session(after: session, state.snapshot, state.shared, maker: nil).0 === session
    }
}

extension Session.Settings {
    /// - Parameter places: where an answer has no elements.
    fileprivate mutating func take(_ shape: StateShape, beside places: [JSONPointer] = []) {
        self.shape = shape == .native ? nil : shape
        let known = emptyPlaces ?? []
        let all = known + places.filter { !known.contains($0) }
        emptyPlaces = all.isEmpty ? nil : Array(all.prefix(Self.maxEmptyPlaces))
    }
}

extension StateShape {
    /// The shape that says, too, what becomes of a second element with one id.
    fileprivate var settled: StateShape {
        guard var mapping, !mapping.element.continuesHead else { return self }
        mapping.keepsFirst = true
        return StateShape(mapping)
    }
}
