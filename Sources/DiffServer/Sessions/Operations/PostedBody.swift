// The meaning of a body depends on the session: if the session has a shape, the body is a document of that shape, and
// parts that a state omits may stay as they are in the head. But it is read before the store has confirmed the head: if
// the session in memory was not it, which is rare, the body is read again, and an error of the first reading is
// dropped.

import SnapshotKit

/// The body of a write. An object: every attempt to write shares what was read.
public final class PostedBody: Sendable {
    /// What to write. An object, since it is passed on often.
    public final class Content: Sendable {
        public let value: Value
        let warnings: [StateWarning]
        /// Whether it has elements without ids, which continue the head's.
        let continuesHead: Bool

        init(_ value: Value) {
            self.value = value
            (warnings, continuesHead) =
                switch value {
                case .state(let reading, _): (reading.warnings, reading.snapshot.continuesHead)
                case .section(let reading, _): (reading.warnings, reading.continuesHead)
                case .edits: ([], false)
                }
        }

        public enum Value: Sendable {
            /// A state, and the settings of a session that it makes; nil for the body's defaults, which most posts
            /// never copy.
            case state(StateReading, Session.Settings?)
            /// Edits, and the body that holds them.
            indirect case edits(EditBatch, StateLimits, text: ArraySlice<UInt8>)
            /// One section.
            indirect case section(SectionReading, StateLimits)
        }
    }

    /// How to read a body. Not copyable, since a copy retains all of it.
    public struct Rules: ~Copyable, Sendable {
        /// The shape that the request names; nil for the session's, or else the native one.
        let shape: StateShape?
        let takesStates: Bool
        /// Whether the session's states come only from its source, and whether it then takes no edits either.
        let hasSource, refusesEdits: Bool
        /// The operations that edits may contain; nil for any.
        let operations: Set<EditOperation>?
        let limits: StateLimits
        /// Settings of a session that the body makes.
        let defaults: Session.Settings
        /// Nil for the whole state.
        let section: SectionTarget?
        /// Of sections that have their own.
        let sectionShapes: SectionShapes

        package init(
            shape: StateShape? = nil, takesStates: Bool = true, hasSource: Bool = false, refusesEdits: Bool = false,
            operations: Set<EditOperation>? = nil, limits: StateLimits, defaults: Session.Settings,
            section: SectionTarget? = nil, sectionShapes: SectionShapes = [:]
        ) {
            (self.shape, self.takesStates, self.hasSource) = (shape, takesStates, hasSource)
            (self.refusesEdits, self.operations, self.limits) = (refusesEdits, operations, limits)
            (self.defaults, self.section, self.sectionShapes) = (defaults, section, sectionShapes)
        }
    }

    /// A section that a body is about.
    public struct SectionTarget: Sendable, Equatable {
        public let id: String
        /// Whether its items' ids are unique within it only; nil for what the session's shape says.
        let scopesIDs: Bool?

        public init(id: String, scopesIDs: Bool?) { (self.id, self.scopesIDs) = (id, scopesIDs) }
    }

    /// The last reading of the body: its inputs besides the body, and its result. Not copyable either.
    private struct LastReading: ~Copyable {
        let shape: StateShape?
        /// The head, if the session keeps what is expanded there, or if elements continue its own.
        let kept: Session.Head?
        let outcome: Result<Content, SessionError>
        /// Whether the session has any; only told of a failure.
        let hasRows: Bool

        init(_ session: Session?, _ shape: StateShape?, _ outcome: Result<Content, SessionError>) {
            (self.shape, kept, self.outcome) = (shape, Self.kept(of: session, outcome), outcome)
            hasRows = if case .failure = outcome, let session { session.head.snapshot.itemCount > 0 } else { false }
        }

        /// Whether its result is also that for another session.
        func isValid(for session: Session?, _ shape: StateShape?) -> Bool {
            self.shape == shape && kept === Self.kept(of: session, outcome)
        }

        private static func kept(of session: Session?, _ outcome: Result<Content, SessionError>) -> Session.Head? {
            let continuesHead = (try? outcome.get().continuesHead) ?? false
            return session.flatMap { $0.settings.keepsExpanded || continuesHead ? $0.head : nil }
        }
    }

    private let rules: Rules
    // Only one thread at a time handles a request, and only it uses these.
    private nonisolated(unsafe) var document: StateDocument
    private nonisolated(unsafe) var last: LastReading?

    public init(_ document: consuming StateDocument, _ rules: consuming Rules) {
        self.rules = rules
        self.document = document
    }

    /// The shape that a session keeps, or would keep if the body made it.
    private func keptShape(of session: Session?) -> StateShape? {
        if let session { session.settings.shape } else { rules.defaults.shape }
    }

    /// What the body means for a session; nil for one that does not exist.
    public func content(for session: Session?) throws(SessionError) -> Content {
        if last?.isValid(for: session, keptShape(of: session)) == true, let outcome = last?.outcome {
            return try outcome.get()
        }
        let outcome = Result { () throws(SessionError) in Content(try read(session)) }
        last = LastReading(session, keptShape(of: session), outcome)
        return try outcome.get()
    }

    var defaults: Session.Settings { rules.defaults }

    /// Parts of the document that the last reading found and the state lacks.
    public var warnings: [StateWarning] {
        if case .success(let content) = last?.outcome { content.warnings } else { [] }
    }

    /// The body, if the last reading refused it as a state or a section, and the shape that the request named. The
    /// session's counts as named until it has found rows. Nil if no shape would help.
    public var refused: (document: StateDocument, shape: StateShape?, isSection: Bool)? {
        guard rules.takesStates, case .failure(.unreadable(let error)) = last?.outcome else { return nil }
        var shape = rules.shape == .native ? nil : rules.shape
        if rules.section == nil {
            // With a kept shape, the body may still be an envelope.
            let isInEnvelope = last?.shape != nil && document.names(among: Self.names) != nil
            if rules.shape == nil, last?.shape ?? .native != .native {
                guard last?.hasRows == false, !isInEnvelope else { return nil }
                shape = last?.shape
            }
            guard shape == nil || !isInEnvelope else { return nil }
        } else if last?.shape?.mapping?.element.groupAt != nil {
            return nil
        }
        switch error {
        case .wrongShape, .invalid: return (document, shape, rules.section != nil)
        case .unwanted, .json, .limitExceeded: return nil
        }
    }

    /// Edits that the last reading refused.
    private nonisolated(unsafe) var refusedEdits: JSONSlice?

    /// All violations of edits that the last reading refused without a state; nil if it refused none.
    func violations(on session: Session) -> [Violation]? {
        refusedEdits.flatMap {
            try? EditBatch.violations(
                in: $0, on: session.head.snapshot, shape: elementShape(for: session), ofSections: rules.sectionShapes,
                following: session.settings.shape, keepsExpanded: session.settings.keepsExpanded,
                sequence: session.head.revision.sequence + 1, limits: rules.limits, permitted: rules.operations)
        }
    }

    // MARK: Guessing

    /// The body as a state of a shape; see `StateDocument.state`.
    func state(
        _ shape: StateShape, for session: Session?, omitsFaults: Bool = false
    ) throws(SessionError) -> StateReading {
        do throws(StateError) {
            return try document.state(
                shape, limits: rules.limits, upon: session?.head.snapshot,
                keepsExpanded: session?.settings.keepsExpanded ?? false, omitsFaults: omitsFaults,
                continuing: ElementHead(session))
        } catch { throw .unreadable(error) }
    }

    /// The body, which must be a state.
    public func state(for session: Session?) throws(SessionError) -> StateReading {
        guard case .state(let state, _) = try content(for: session).value else {
            throw .unreadable(.wrongMember("/edits", "a source must answer with a state"))
        }
        return state
    }

    /// The shapes that the body may have, best first; none if its list is empty.
    func likelyShapes() throws(SessionError) -> [StateShape] {
        do throws(StateError) { return try document.listShapes(rules.limits).map(\.shape) } catch {
            throw .unreadable(error)
        }
    }

    /// Looks for another shape of the body, unless that is no JSON or exceeds the limits.
    func otherShape(_ find: (inout StateDocument, StateLimits) -> StateShape?) -> StateShape? {
        (try? document.check(rules.limits)) == nil ? nil : find(&document, rules.limits)
    }

    var emptyPlaces: [JSONPointer] { document.emptyPlaces }

    // MARK: Reading

    private func read(_ session: Session?) throws(SessionError) -> Content.Value {
        guard rules.hasSource else { return try readAccepted(session) }
        let isEdits = rules.section == nil && document.names(among: ["edits"]) == ["edits"]
        guard isEdits ? rules.refusesEdits : rules.takesStates else { return try readAccepted(session) }
        do throws(StateError) { try document.check(rules.limits) } catch { throw .unreadable(error) }
        // Whoever may not do this is told that, and nothing of the list.
        if isEdits, rules.operations != nil {
            do throws(SessionError) { _ = try readAccepted(session) } catch {
                if case .notPermitted = error { throw error }
            }
        }
        throw .hasSource(isEdits: isEdits)
    }

    private func readAccepted(_ session: Session?) throws(SessionError) -> Content.Value {
        do throws(SessionError) { return try readAny(session) } catch { throw astray(error) }
    }

    /// An error that tells of an edit without its envelope; what is wrong with it as a document would lead astray.
    private func astray(_ error: SessionError) -> SessionError {
        guard rules.shape == nil, case .unreadable(let cause) = error else { return error }
        let way = rules.section == nil ? "wrap it" : "POST it to the session's changes"
        let violation = Violation(
            pointer: "", code: "wrong-shape", detail: "the body is an edit: \(way), as {\"edits\":[…]}")
        switch cause {
        case .wrongShape where document.isOperation: return .unreadable(.wrongShape([violation]))
        case .invalid(let all) where !all.allSatisfy({ $0.code == "duplicate-id" }) && document.isOperation:
            return .unreadable(.invalid([violation]))
        default: return error
        }
    }

    private func readAny(_ session: Session?) throws(SessionError) -> Content.Value {
        let found: Envelope?
        do throws(StateError) {
            if let target = rules.section { return .section(try section(target, of: session), rules.limits) }
            found = try envelope(for: session)
            if let found, found.isBareState || found.values["edits"] != nil,
                let name = Session.Settings.members.first(where: { found.values[$0] != nil })
            {
                throw .wrongMember(
                    "/" + name, "\(name) is only allowed beside \"state\" in the request that creates the session")
            }
            if let found, let state = found.states.reading("state") {
                let named = try Session.SettingsChange(found, defaults: rules.defaults)
                return .state(state, named.applied(to: rules.defaults))
            }
        } catch { throw .unreadable(error) }
        guard let envelope = found else { return .state(try state(shape(for: session), for: session), nil) }
        guard let edits = envelope.values["edits"] else { preconditionFailure("an envelope has a state or edits") }
        let batch: EditBatch
        do throws(EditError) {
            batch = try EditBatch(
                edits, shape: elementShape(for: session), ofSections: rules.sectionShapes, limits: rules.limits)
        } catch {
            refusedEdits = edits
            throw .edits(error)
        }
        if let permitted = rules.operations {
            let refused = batch.operations.subtracting(permitted)
            guard refused.isEmpty else { throw .notPermitted(refused) }
        }
        return .edits(batch, rules.limits, text: envelope.text)
    }

    /// Reads the body as one section.
    private func section(_ target: SectionTarget, of session: Session?) throws(StateError) -> SectionReading {
        let kept = keptShape(of: session)?.mapping?.element
        if kept?.groupAt != nil {
            try document.check(rules.limits)
            throw .wrongMember(
                "", "the session's shape makes its sections of groups: post the whole document to …/changes")
        }
        return try document.section(
            target.id, rules.shape ?? .native, scopesIDs: target.scopesIDs ?? kept?.scopesIDs ?? false,
            limits: rules.limits, upon: session?.head.snapshot,
            keepsExpanded: session?.settings.keepsExpanded ?? false, continuing: ElementHead(session))
    }

    /// Reads the body as an envelope; nil if it is a document of its own shape, or a plain array of items, which needs
    /// no envelope.
    private func envelope(for session: Session?) throws(StateError) -> Envelope? {
        let kept = keptShape(of: session)
        let (known, keepsExpanded) = (session?.head.snapshot, session?.settings.keepsExpanded ?? false)
        let shape = shape(for: session)
        // If the session has a shape, a body with no other members than these is an envelope, not a document. So are
        // edits with a shape in the request, unless its list is in them.
        let names =
            kept != nil
            ? document.names(among: Self.names)
            : shape == .native || shape.isOfEdits ? nil : document.names(among: ["edits"])
        let mayEdit = shape == .native ? !document.isArray : names == ["edits"]
        if !mayEdit {
            if !rules.takesStates { throw .unwanted }
            guard let names, shape != .native, names.contains("state"), !names.contains("edits") else { return nil }
        }
        var members = mayEdit ? Self.stateOrEdits : Session.Settings.besideState
        if rules.shape != nil { members.shape = nil }
        members.refusesStates = !rules.takesStates
        return try document.envelope(
            members, shape: mayEdit ? .native : shape, limits: rules.limits, known: known,
            keepsExpanded: keepsExpanded, continuing: ElementHead(session))
    }

    /// The shape of the body if it is a document.
    private func shape(for session: Session?) -> StateShape { rules.shape ?? keptShape(of: session) ?? .native }

    /// The shape of elements that edits insert; nil where sections have their own.
    private func elementShape(for session: Session?) -> StateShape? {
        rules.sectionShapes.isEmpty ? shape(for: session) : rules.shape
    }

    /// A shape beside a state says how to read it, unless the request names a shape itself.
    private static let stateOrEdits = Envelope.Members(
        states: ["state"], values: ["edits"] + Session.Settings.members, exactlyOne: ["state", "edits"],
        allowsBareState: true, shape: "shape")
    private static let names = Set(["state", "edits"] + Session.Settings.members)
}

extension StateShape {
    /// Whether its list is in a document's member `edits`.
    fileprivate var isOfEdits: Bool {
        [mapping?.sectionsAt, mapping?.itemsAt].contains { $0?.tokens.first == Array("edits".utf8) }
    }
}

extension ElementHead {
    /// The head that the next write to a session continues.
    init(_ session: Session?) {
        guard let session else {
            self.init(sequence: 1)
            return
        }
        self.init(
            sequence: session.head.revision.sequence + 1, session.head.fingerprints, ignoring: session.settings.ignored)
    }
}
