import HTTPCore
import SnapshotKit

/// A new state or edits in, and what changed out.
final class PostChanges: SessionEndpoint {
    private let call: Call
    /// The shape in the query.
    private let shape: StateShape?
    private let since: Since
    private let options: ChangesOptions
    /// Whether readers are to draw everything again, instead of showing changes.
    private let isReload: Bool
    /// Whether the answer has no changes: the client prefers that, or may not read.
    private let isMinimal: Bool
    /// Set before the operation is carried out, and read afterwards.
    private nonisolated(unsafe) var body: PostedBody?

    init(_ call: Call) throws(Problem) {
        self.call = call
        since = try call.parameters.since()
        shape = try call.parameters.shape()
        isReload = try call.parameters.flag("reload")
        options = try ChangesOptions(call)
        if isReload, call.identity.operations?.contains(.reload) == false { throw .notPermitted([.reload]) }
        isMinimal =
            !call.identity.has(.read, session: call.session)
            || call.head.preferences.contains { $0.name == "return" && $0.value == "minimal" }
    }

    // MARK: The request

    func operation(_ bytes: consuming [UInt8]) throws(Problem) -> ChangeSession {
        let key = try key()
        let said = call.parameters.shapeMembers + (isReload ? ["reload"] : [])
        let fingerprint = key == nil ? nil : RequestFingerprint(of: copy bytes, said, by: call.service.store.hash)
        let consent = call.service.upstream == nil ? nil : EditConsent(call, key: key, body: copy bytes)
        let service = call.service
        let body = PostedBody(
            StateDocument(consume bytes),
            PostedBody.Rules(
                shape: shape, takesStates: call.identity.maySendStates, operations: call.identity.operations,
                limits: service.options.stateLimits, defaults: service.options.defaultSettings))
        self.body = body
        // The body is read against the session that it is expected to meet, which is most likely similar.
        let hasSource = call.service.upstream?.hasSource(call.session) ?? false
        do throws(SessionError) {
            let content = try body.content(for: call.expected())
            if hasSource, case .state = content.value { throw .hasSource(call.session) }
        } catch {
            switch error {
            case .unreadable(.json), .notPermitted, .hasSource: throw Problem(error)
            // Other failures may vanish once the session is known.
            default: break
            }
        }
        return ChangeSession(
            body, isReload: isReload, condition: WriteCondition(match: call, through: self.options.sight.views),
            key: key, fingerprint: fingerprint, parameters: said,
            hasSource: hasSource, consent: consent)
    }

    /// The idempotency key: at most one, of 1 to 255 bytes.
    private func key() throws(Problem) -> ReplayWindow.Key? {
        let keys = call.head.values(of: "idempotency-key")
        guard keys.count <= 1, keys.allSatisfy({ (1...255).contains($0.utf8.count) }) else {
            throw .malformed("an Idempotency-Key has 1 to 255 bytes, and there is at most one")
        }
        return keys.first.map { ReplayWindow.Key(writer: call.identity.name(in: call.session), key: $0) }
    }

    // MARK: The answer

    func reply(_ outcome: ChangeSession.Outcome, in slot: SessionSlot?) -> Reply {
        switch outcome {
        case .made(let session): reply(slot, session, from: nil, isNew: true)
        case .changed(let session, let changeset, let before):
            // The write's own changeset will do, unless the client has another base.
            if isMinimal || isReload || since != .absent && since != .revision(before) || !options.sight.showsAll {
                reply(slot, session, from: before, isNew: false)
            } else {
                reply(SessionView(slot, session, of: call.service.table), changeset, from: before)
            }
        case .repeated(let session, let made, let before): reply(slot, session, from: before, isNew: made)
        }
    }

    private var warnings: Warnings { Warnings(body?.warnings ?? []) }

    private func reply(_ view: SessionView, _ changeset: Changeset, from before: Revision) -> Reply {
        let answer = ChangesAnswer(changeset, from: before, to: view.destination, options)
        return .now(call.told(answer.with(warnings.adding(changeset))).response())
    }

    /// - Parameter before: the head before the write; nil if the write made the session.
    private func reply(_ slot: SessionSlot?, _ session: Session, from before: Revision?, isNew: Bool) -> Reply {
        let status = isNew ? 201 : 200
        let fields = isNew ? [Field("Location", "/v1/sessions/\(call.session)")] : []
        let view = SessionView(slot, session, of: call.service.table)
        // By the name that a reader of all its rows would know.
        let before = before.map { view.name(of: ReaderBase(revision: $0), options.sight) }
        if isMinimal { return .now(minimal(from: before, view, status, fields)) }
        let seen = warnings.seen(in: [view.seen(through: options.sight.views).head.seen.snapshot], options.sight)
        let answer = call.told(view.answer(since: since.orElse(before), options).with(seen))
        return .now(answer.response(status: status, fields: fields))
    }

    private func minimal(from before: Revision?, _ view: SessionView, _ status: Int, _ fields: [Field]) -> Response {
        var from = before
        if case .revision(let revision) = since { from = revision }
        if since == .nothing { from = nil }
        var object = JSONObject()
        object.text("session", call.session)
        if let from { object.text("from", from.text) } else { object.null("from") }
        let place = options.sight.window == nil ? nil : view.destination(options.sight, from: since.place).window?.place
        let to = view.name(of: ReaderBase(revision: view.session.head.revision, place: place), options.sight)
        object.text("to", to.text)
        warnings.write(into: &object.writer)
        return Response(
            status: status, json: object.bytes(), fields: [Field("Preference-Applied", "return=minimal")] + fields,
            isCompressible: false)
    }
}
