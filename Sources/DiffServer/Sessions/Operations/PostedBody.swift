// The meaning of a body depends on the session: if the session has a shape, the body is a document of that shape, and
// parts that a state omits may stay as they are in the head. But a body is read before the store has confirmed the
// head: the session in memory is taken for it. If that is wrong, which is rare, the body is read again, and an error of
// the first reading is dropped, since it may not be one.

import SnapshotKit

/// The body of a write. An object: every attempt to write shares what was read.
public final class PostedBody: Sendable {
    /// What to write. An object, since it is passed on often.
    public final class Content: Sendable {
        public let value: Value
        /// Parts of the document that the state lacks.
        let warnings: [StateWarning]

        init(_ value: Value) {
            self.value = value
            if case .state(let reading, _) = value { warnings = reading.warnings } else { warnings = [] }
        }

        public enum Value: Sendable {
            /// A state, and the settings if it makes the session.
            case state(StateReading, Session.Settings)
            /// Edits, and the body that holds them.
            case edits(EditBatch, StateLimits, text: ArraySlice<UInt8>)
        }
    }

    /// How to read a body.
    public struct Rules: Sendable {
        /// The shape that the request names; nil for the session's, or else the native one.
        var shape: StateShape?
        /// Whether a state is accepted at all.
        var takesStates = true
        /// Whether the session's states come only from its source.
        var hasSource = false
        /// The operations that edits may contain; nil for any.
        var operations: Set<EditOperation>?
        var limits: StateLimits
        /// Settings of a session that the body makes.
        var defaults: Session.Settings

        public init(
            shape: StateShape? = nil, takesStates: Bool = true, hasSource: Bool = false,
            operations: Set<EditOperation>? = nil, limits: StateLimits, defaults: Session.Settings
        ) {
            (self.shape, self.takesStates, self.hasSource, self.operations, self.limits, self.defaults) = (
                shape, takesStates, hasSource, operations, limits, defaults
            )
        }
    }

    /// The inputs of a reading, besides the body.
    private struct ParsingContext: Equatable {
        var shape: StateShape?
        /// The head, if the session keeps what is expanded there.
        var kept: Session.Head?

        init(_ session: Session?) {
            shape = session?.settings.shape
            kept = session.flatMap { $0.settings.keepsExpanded ? $0.head : nil }
        }

        static func == (one: ParsingContext, other: ParsingContext) -> Bool {
            one.shape == other.shape && one.kept === other.kept
        }
    }

    /// The result of the last reading of the body.
    private final class ReadContent: Sendable {
        let context: ParsingContext
        let outcome: Result<Content, SessionError>

        init(_ context: ParsingContext, _ outcome: Result<Content, SessionError>) {
            (self.context, self.outcome) = (context, outcome)
        }
    }

    private let rules: Rules
    // Only one thread at a time handles a request, and only it uses these.
    private nonisolated(unsafe) var document: StateDocument
    private nonisolated(unsafe) var last: ReadContent?

    /// A body that is read when its content is requested.
    public init(_ document: consuming StateDocument, _ rules: Rules) {
        self.rules = rules
        self.document = document
    }

    /// What the body means for a session; nil for one that does not exist.
    public func content(for session: Session?) throws(SessionError) -> Content {
        if let last, last.context == ParsingContext(session) { return try last.outcome.get() }
        do throws(SessionError) {
            let content = Content(try read(session))
            last = ReadContent(ParsingContext(session), .success(content))
            return content
        } catch {
            last = ReadContent(ParsingContext(session), .failure(error))
            throw error
        }
    }

    /// Parts of the document that the last reading found and the state lacks.
    public var warnings: [StateWarning] {
        if case .success(let content) = last?.outcome { content.warnings } else { [] }
    }

    /// The body, if the last reading refused it as a state, and the shape that the request named for it. Nil if it was
    /// read by the session's shape, which has found a list before.
    public var refused: (document: StateDocument, shape: StateShape?)? {
        guard let last, rules.takesStates, case .failure(.unreadable(let error)) = last.outcome else { return nil }
        let isKept = rules.shape == nil && last.context.shape ?? .native != .native
        // With a kept shape, the body may still be an envelope.
        let isInEnvelope = last.context.shape != nil && document.names(among: Self.names) != nil
        guard !isKept, rules.shape == nil || rules.shape == .native || !isInEnvelope else { return nil }
        switch error {
        case .wrongShape, .invalid: return (document, rules.shape == .native ? nil : rules.shape)
        case .unwanted, .json, .limitExceeded: return nil
        }
    }

    /// Edits that the last reading refused.
    private nonisolated(unsafe) var refusedEdits: JSONSlice?

    /// All violations of edits that the last reading refused without a state; nil if it refused none.
    func violations(on state: Snapshot) -> [Violation]? {
        refusedEdits.flatMap {
            try? EditBatch.violations(in: $0, on: state, limits: rules.limits, permitted: rules.operations)
        }
    }

    // MARK: Reading

    private func read(_ session: Session?) throws(SessionError) -> Content.Value {
        let envelope: Envelope
        if rules.hasSource, rules.takesStates, document.names(among: ["edits"]) != ["edits"] {
            do throws(StateError) { try document.check(rules.limits) } catch { throw .unreadable(error) }
            throw .hasSource
        }
        do throws(StateError) {
            guard let found = try self.envelope(for: session) else {
                let state = try document.state(
                    shape(for: session), limits: rules.limits, upon: session?.head.snapshot,
                    keepsExpanded: session?.settings.keepsExpanded ?? false)
                return .state(state, rules.defaults)
            }
            envelope = found
            if envelope.isBareState || envelope.values["edits"] != nil,
                let name = Session.Settings.members.first(where: { envelope.values[$0] != nil })
            {
                throw .wrongMember(
                    "/" + name, "\(name) is only allowed beside \"state\" in the request that creates the session")
            }
            if let state = envelope.states.reading("state") {
                return .state(state, try Session.SettingsChange(envelope).applied(to: rules.defaults))
            }
        } catch { throw .unreadable(error) }
        guard let edits = envelope.values["edits"] else { preconditionFailure("an envelope has a state or edits") }
        let batch: EditBatch
        do throws(EditError) { batch = try EditBatch(edits, limits: rules.limits) } catch {
            refusedEdits = edits
            throw .edits(error)
        }
        if let permitted = rules.operations {
            let refused = batch.operations.subtracting(permitted)
            guard refused.isEmpty else { throw .notPermitted(refused) }
        }
        return .edits(batch, rules.limits, text: envelope.text)
    }

    /// Reads the body as an envelope; nil if it is a document of its own shape, or a plain array of items, which needs
    /// no envelope.
    private func envelope(for session: Session?) throws(StateError) -> Envelope? {
        let kept = session?.settings.shape
        let (known, keepsExpanded) = (session?.head.snapshot, session?.settings.keepsExpanded ?? false)
        let shape = shape(for: session)
        // If the session has a shape, a body with no other members than these is an envelope, not a document.
        let names = kept == nil ? nil : document.names(among: Self.names)
        if shape == .native ? !document.isArray : names == ["edits"] {
            var members = Self.stateOrEdits
            if rules.shape != nil { members.shape = nil }
            members.refusesStates = !rules.takesStates
            return try document.envelope(members, limits: rules.limits, known: known, keepsExpanded: keepsExpanded)
        }
        if !rules.takesStates { throw .unwanted }
        guard let names, shape != .native, names.contains("state"), !names.contains("edits") else { return nil }
        var members = Session.Settings.besideState
        if rules.shape != nil { members.shape = nil }
        return try document.envelope(
            members, shape: shape, limits: rules.limits, known: known, keepsExpanded: keepsExpanded)
    }

    /// The shape of the body if it is a document.
    private func shape(for session: Session?) -> StateShape {
        rules.shape ?? session?.settings.shape ?? .native
    }

    /// A shape beside a state says how to read it, unless the request names a shape itself.
    private static let stateOrEdits = Envelope.Members(
        states: ["state"], values: ["edits"] + Session.Settings.members, exactlyOne: ["state", "edits"],
        allowsBareState: true, shape: "shape")
    private static let names = Set(["state", "edits"] + Session.Settings.members)
}
