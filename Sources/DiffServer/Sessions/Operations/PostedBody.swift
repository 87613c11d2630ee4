// What a body says depends on the session: where that keeps a shape, a body is a document of that shape. So it is read
// when the session is known, on a guess before that: by the shape of the session that is in memory. A guess is seldom
// wrong; then the body is read again, and an error of the first reading, which may be no error, is forgotten.

import SnapshotKit

/// The body of a write, and what it says. An object, since each try to write asks it.
final class PostedBody: Sendable {
    /// What is to be written.
    enum Content: Sendable {
        /// A state; and settings of a session that is made of it.
        case state(StateReading, Session.Settings)
        /// Edits, and how they are known from others.
        case edits(EditBatch, StateLimits, RequestFingerprint?)
    }

    /// How a body is to be read.
    struct Reading: Sendable {
        /// What the request says of the shape; nil: what the session keeps, or else the native one.
        var shape: StateShape?
        /// Whether a state is accepted at all.
        var takesStates = true
        var limits: StateLimits
        var defaults: Session.Settings
        /// Tells edits from others.
        var fingerprint: @Sendable (ArraySlice<UInt8>) -> RequestFingerprint
    }

    private let reading: Reading?
    // These are only used by whoever carries the request on, before it is handed to the next one.
    private nonisolated(unsafe) var document: StateDocument
    private nonisolated(unsafe) var last: (kept: StateShape?, result: Result<Content, SessionError>)?

    /// - Parameter reading: by which it is read when it is asked for.
    init(_ body: consuming [UInt8], _ reading: Reading) {
        (self.reading, document) = (reading, StateDocument(body))
    }

    /// One that was read.
    init(_ content: Content) { (reading, document, last) = (nil, StateDocument([]), (nil, .success(content))) }

    /// What it says to a session that keeps a shape, or none.
    ///
    /// - Parameter known: what the state most likely resembles.
    func content(_ kept: StateShape?, upon known: Snapshot?) throws(SessionError) -> Content {
        if let last, reading == nil || last.kept == kept { return try last.result.get() }
        guard let reading else { preconditionFailure("a body that was read has a content") }
        let result = Result { () throws(SessionError) in try read(reading, kept, upon: known) }
        last = (kept, result)
        return try result.get()
    }

    /// What of the document is not in the state, of the last reading.
    var warnings: [StateWarning] {
        guard case .success(.state(let reading, _)) = last?.result else { return [] }
        return reading.warnings
    }

    /// Whether the last reading failed in a way that no other shape would change.
    var isNoJSON: Bool {
        guard case .failure(.unreadable(.json)) = last?.result else { return false }
        return true
    }

    // MARK: Reading

    private func read(
        _ reading: Reading, _ kept: StateShape?, upon known: Snapshot?
    ) throws(SessionError) -> Content {
        let envelope: Envelope
        do throws(StateError) {
            switch try found(reading, kept, upon: known) {
            case .document(let state): return .state(state, reading.defaults)
            case .envelope(let found): envelope = found
            }
            if envelope.isBareState || envelope.values["edits"] != nil,
                let name = Session.Settings.members.sorted().first(where: { envelope.values[$0] != nil })
            {
                throw .wrongMember("/" + name, "\(name) goes with \"state\", in the request that makes the session")
            }
            if let state = envelope.states.reading("state") {
                return .state(state, try Session.Settings(envelope, defaults: reading.defaults))
            }
        } catch { throw .unreadable(error) }
        guard let edits = envelope.values["edits"] else { preconditionFailure("an envelope has a state or edits") }
        do throws(EditError) {
            let batch = try EditBatch(edits, limits: reading.limits)
            return .edits(batch, reading.limits, reading.fingerprint(envelope.text))
        } catch { throw .edits(error) }
    }

    /// What a body was found to be.
    private enum Found { case document(StateReading), envelope(Envelope) }

    private func found(
        _ reading: Reading, _ kept: StateShape?, upon known: Snapshot?
    ) throws(StateError) -> Found {
        let shape = reading.shape ?? kept ?? .native
        let (limits, settings) = (reading.limits, Session.Settings.members)
        // A shape beside a state says how that is read, unless the request says so itself.
        let shapeMember = reading.shape == nil ? "shape" : nil
        // Of a session that keeps a shape, what has these members alone is no document.
        let names = kept == nil ? nil : document.names(among: settings.union(["state", "edits"]))
        if shape == .native || names == ["edits"] {
            var members = Envelope.Members(
                states: ["state"], values: ["edits"] + settings, exactlyOne: ["state", "edits"], allowsBareState: true,
                shape: shapeMember)
            members.refusesStates = !reading.takesStates
            return .envelope(try document.envelope(members, limits: limits, known: known))
        }
        if !reading.takesStates { throw .unwanted }
        guard let names, names.contains("state"), !names.contains("edits") else {
            return .document(try document.state(shape, limits: limits, upon: known))
        }
        let members = Envelope.Members(
            states: ["state"], values: Array(settings), required: ["state"], shape: shapeMember)
        return .envelope(try document.envelope(members, shape: shape, limits: limits, known: known))
    }
}
