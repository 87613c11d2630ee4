// What a body says depends on the session: where that keeps a shape, a body is a document of that shape. So it is read
// when the session is known, on a guess before that: by the shape of the session that is in memory, and upon its head
// where what a state does not say is as it is there. A guess is seldom wrong; then the body is read again, and an error
// of the first reading, which may be no error, is forgotten.

import SnapshotKit

/// The body of a write, and what it says. An object, since each try to write asks it.
final class PostedBody: Sendable {
    /// What is to be written. An object, since it goes through many hands.
    final class Content: Sendable {
        let value: Value
        /// What of the document is not in the state.
        let warnings: [StateWarning]

        init(_ value: Value) {
            self.value = value
            if case .state(let reading, _) = value { warnings = reading.warnings } else { warnings = [] }
        }

        enum Value: Sendable {
            /// A state; and settings of a session that is made of it.
            case state(StateReading, Session.Settings)
            /// Edits, and the text that they stood in.
            case edits(EditBatch, StateLimits, text: ArraySlice<UInt8>)
        }
    }

    /// How a body is to be read.
    struct Reading: Sendable {
        /// What the request says of the shape; nil: what the session keeps, or else the native one.
        var shape: StateShape?
        /// Whether a state is accepted at all.
        var takesStates = true
        /// What edits may do; nil: anything.
        var operations: Set<EditOperation>?
        var limits: StateLimits
        var defaults: Session.Settings
    }

    private let reading: Reading?
    /// What a reading depends on, besides the body.
    private struct Basis: Equatable {
        var shape: StateShape?
        /// The state that what is not said is taken from; nil where it is taken from nowhere.
        var kept: Session.Head?

        init(_ session: Session?) {
            shape = session?.settings.shape
            kept = session.flatMap { $0.settings.keepsExpanded ? $0.head : nil }
        }

        static func == (one: Basis, other: Basis) -> Bool { one.shape == other.shape && one.kept === other.kept }
    }

    // These are only used by whoever carries the request on, before it is handed to the next one.
    private nonisolated(unsafe) var document: StateDocument
    /// What the last reading was based on, and what that found.
    private nonisolated(unsafe) var basis = Basis(nil)
    private nonisolated(unsafe) var content: Content?
    private nonisolated(unsafe) var failure: SessionError?

    /// - Parameter reading: by which it is read when it is asked for.
    init(_ document: consuming StateDocument, _ reading: Reading) {
        self.reading = reading
        self.document = document
    }

    /// One that was read.
    init(_ value: Content.Value) { (reading, document, content) = (nil, StateDocument([]), Content(value)) }

    /// What it says to a session; nil where that is to be made.
    func content(for session: Session?) throws(SessionError) -> Content {
        let basis = Basis(session)
        if let content, reading == nil || self.basis == basis { return content }
        if let failure, self.basis == basis { throw failure }
        guard let reading else { preconditionFailure("a body that is not to be read is there") }
        (self.basis, content, failure) = (basis, nil, nil)
        do throws(SessionError) {
            let content = Content(try read(reading, session))
            self.content = content
            return content
        } catch {
            failure = error
            throw error
        }
    }

    /// What of the document is not in the state, of the last reading.
    var warnings: [StateWarning] { content?.warnings ?? [] }

    // MARK: Reading

    private func read(_ reading: Reading, _ session: Session?) throws(SessionError) -> Content.Value {
        let envelope: Envelope
        do throws(StateError) {
            switch try found(reading, session) {
            case .document(let state): return .state(state, reading.defaults)
            case .envelope(let found): envelope = found
            }
            if envelope.isBareState || envelope.values["edits"] != nil,
                let name = Session.Settings.members.first(where: { envelope.values[$0] != nil })
            {
                throw .wrongMember("/" + name, "\(name) goes with \"state\", in the request that makes the session")
            }
            if let state = envelope.states.reading("state") {
                return .state(state, try Session.SettingsChange(envelope).applied(to: reading.defaults))
            }
        } catch { throw .unreadable(error) }
        guard let edits = envelope.values["edits"] else { preconditionFailure("an envelope has a state or edits") }
        let batch: EditBatch
        do throws(EditError) { batch = try EditBatch(edits, limits: reading.limits) } catch { throw .edits(error) }
        if let permitted = reading.operations {
            let refused = batch.operations.subtracting(permitted)
            guard refused.isEmpty else { throw .notPermitted(refused) }
        }
        return .edits(batch, reading.limits, text: envelope.text)
    }

    /// What a body was found to be.
    private enum Found { case document(StateReading), envelope(Envelope) }

    private func found(_ reading: Reading, _ session: Session?) throws(StateError) -> Found {
        let kept = session?.settings.shape
        let (known, keepsExpanded) = (session?.head.snapshot, session?.settings.keepsExpanded ?? false)
        let shape = reading.shape ?? kept ?? .native
        // Of a session that keeps a shape, what has these members alone is no document.
        let names = kept == nil ? nil : document.names(among: Self.names)
        if shape == .native || names == ["edits"] {
            var members = Self.stateOrEdits
            if reading.shape != nil { members.shape = nil }
            members.refusesStates = !reading.takesStates
            return .envelope(
                try document.envelope(members, limits: reading.limits, known: known, keepsExpanded: keepsExpanded))
        }
        if !reading.takesStates { throw .unwanted }
        guard let names, names.contains("state"), !names.contains("edits") else {
            return .document(
                try document.state(shape, limits: reading.limits, upon: known, keepsExpanded: keepsExpanded))
        }
        var members = Session.Settings.besideState
        if reading.shape != nil { members.shape = nil }
        return .envelope(
            try document.envelope(
                members, shape: shape, limits: reading.limits, known: known, keepsExpanded: keepsExpanded))
    }

    /// A shape beside a state says how that is read, unless the request says so itself.
    private static let stateOrEdits = Envelope.Members(
        states: ["state"], values: ["edits"] + Session.Settings.members, exactlyOne: ["state", "edits"],
        allowsBareState: true, shape: "shape")
    private static let names = Set(["state", "edits"] + Session.Settings.members)
}
