import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The whole state, with the revision as its entity tag.
struct GetSession: ReadingEndpoint {
    let call: Call
    private let projection: Projection

    init(_ call: Call) throws(Problem) {
        self.call = call
        projection = try call.viewedProjection()
    }

    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let revision = view.name(of: ReaderState(revision: view.session.head.revision), projection)
        var fields = [
            Field("Content-Type", "application/json"), Field("ETag", "\"\(revision.text)\""),
            Field("Cache-Control", "private, no-cache"),
            Field("Diffserver-Expires", view.table.expiry(of: view.slot).text),
        ]
        if let seconds = call.service.staleness(of: call.session) {
            fields.append(Field("Diffserver-Stale", "\(seconds)"))
        }
        if RevisionTags(call.head, "if-none-match")?.matches(revision) == true {
            let body = Body.unsent(view.documentSize(projection))
            return .now(Response(status: 304, fields: Array(fields.dropFirst()), body: body, isCompressible: true))
        }
        try view.checkRoom()
        return .now(Response(status: 200, fields: fields, body: view.document(projection), isCompressible: true))
    }
}

/// Creates or replaces a session, or changes its settings.
final class PutSession: SessionEndpoint {
    let call: Call
    /// The shape in the query.
    private let shape: StateShape?
    /// Set before the operation is carried out, and read afterwards.
    private nonisolated(unsafe) var warnings = Warnings()

    init(_ call: Call) throws(Problem) {
        self.call = call
        shape = try call.parameters.shape()
    }

    func operation(_ body: consuming [UInt8]) throws(Problem) -> ReplaceSession {
        let options = call.service.settings
        let list = call.service.source?.list(of: call.session)
        let defaults = call.service.settings(of: list)
        var document = StateDocument(body)
        do throws(StateError) {
            if list?.hasSource == true {
                try document.check(options.stateLimits)
                throw .unwanted
            }
            var members = Session.Settings.besideState
            if shape != nil { members.shape = nil }
            let envelope = try document.envelope(
                members, shape: shape ?? defaults.shape ?? .native, limits: options.stateLimits,
                continuing: ElementHead(sequence: 1))
            warnings = Warnings(envelope.warnings)
            let named = try Session.SettingsChange(envelope, defaults: defaults)
            return ReplaceSession(
                state: envelope.states["state"], settings: named.applied(to: defaults), named: named,
                condition: WriteCondition(call))
        } catch {
            if case .unwanted = error { throw .hasSource(isEdits: false) }
            throw Problem(error).searching(
                ShapeSearch(body: document, layout: .session, limits: options.stateLimits, tried: shape?.mapping))
        }
    }

    func reply(_ outcome: ReplaceSession.Outcome, in slot: SessionSlot?) -> Reply {
        let revision = outcome.session.head.revision.text
        var object = JSONObject()
        object.text("session", call.session)
        object.text("revision", revision)
        object.text("expiresAt", slot.map { call.service.table.expiry(of: $0).text })
        warnings.write(into: &object.writer)
        var fields = [Field("Content-Type", "application/json"), Field("ETag", "\"\(revision)\"")]
        if outcome.isNew { fields.append(.location(of: call.session)) }
        return .now(Response(status: outcome.isNew ? 201 : 200, fields: fields, body: .bytes(object.body())))
    }
}

/// The settings of a session, as PUT takes them.
struct GetSettings: ReadingEndpoint {
    let call: Call

    init(_ call: Call) { self.call = call }

    func reply(_ view: SessionView) -> Reply {
        var object = JSONObject()
        object.named(view.session.settings, all: true)
        return .now(Response(json: object.body()))
    }
}

/// Deletes a session, if there is one.
struct DeleteSession: SessionEndpoint {
    let call: Call

    init(_ call: Call) { self.call = call }

    func operation(_ body: consuming [UInt8]) -> RemoveSession { RemoveSession(condition: WriteCondition(call)) }

    func reply(_ outcome: Void, in slot: SessionSlot?) -> Reply { .now(Response(status: 204)) }
}

/// The list of sessions by name, in pages.
enum GetSessions {
    static let parameters: Set<String> = ["prefix", "after", "limit", "source"]

    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let limit = try call.parameters.count("limit") ?? 100
        guard (1...1000).contains(limit) else { throw .malformed("limit must be from 1 to 1000, not \(limit)") }
        let (asked, after) = (try start("prefix", call), try start("after", call))
        try call.checkAcceptance()
        let own = if case .writer(let key) = call.identity { key.prefix } else { "" }
        guard asked.hasPrefix(own) || own.hasPrefix(asked) else { return .now(response(call)) }
        let range = SessionRange(prefix: asked.hasPrefix(own) ? asked : own, after: after, limit: limit)
        guard let url = call.parameters["source"] else { return .later { list(range, call, $0) } }
        guard let source = call.service.source, let name = source.name(ofSource: url), range.contains(name)
        else { return .now(response(call)) }
        // As for a reader: a list that nobody has read yet is fetched.
        let exists = call.service.table.peek(name) != nil
        let readiness = source.list(of: name)?.readiness(sessionExists: exists, patience: .zero) ?? .done(.success(()))
        return .later { pending in
            readiness.whenDone { result in
                switch result {
                case .success: list(SessionRange(prefix: name, after: "", limit: 1), call, pending, only: name)
                case .failure(.missing): pending.answer(call.finish(response(call)))
                case .failure(let failure): pending.answer(call.refusal(Problem(failure, of: name)))
                }
            }
        }
    }

    /// - Parameter only: of the range, the one session to list.
    private static func list(_ range: SessionRange, _ call: Call, _ pending: Pending, only: String? = nil) {
        call.times?.enter(.queue)
        call.service.workers.run(.rows(call.service.table.size.sessions)) {
            call.times?.enter(.store)
            call.service.store.list(range).whenDone { result in
                call.times?.enter(.compute)
                call.answer(pending) { () throws(Problem) in
                    var page = try call.get(result)
                    if let only { page = SessionPage(entries: page.entries.filter { $0.name == only }) }
                    return .now(response(call, page))
                }
            }
        }
    }

    /// A parameter that names may start with; empty if it is not given.
    private static func start(_ parameter: String, _ call: Call) throws(Problem) -> String {
        guard let text = call.parameters[parameter], !text.isEmpty else { return "" }
        guard SessionName.isStart(text) else { throw .malformed("no session's name can start with this \(parameter)") }
        return text
    }

    private static func response(_ call: Call, _ page: SessionPage = SessionPage(entries: [])) -> Response {
        var object = JSONObject()
        object.list("sessions", page.entries) { list, entry in
            list.object {
                $0.text("session", entry.name)
                $0.text("revision", entry.revision)
                $0.number("rows", entry.rows)
                $0.number("bytes", entry.bytes)
                $0.text("expiresAt", entry.expires.text)
                // Readers at this node.
                $0.number("readers", call.service.table.anySlot(entry.name)?.readerCount ?? 0)
            }
        }
        object.text("next", page.next)
        return Response(json: object.body())
    }
}
