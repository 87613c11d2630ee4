import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// A new state, edits, or the rows of a section in, and what changed out.
final class PostChanges: SessionEndpoint {
    let call: Call
    /// The shape in the query.
    private let shape: StateShape?
    private let since: Since
    /// How the caller wants the changes; nil if it may not read, and so gets none.
    private let options: ChangesOptions?
    /// Whether readers must redraw everything, instead of showing changes.
    private let isReload: Bool
    /// Whether the client prefers an answer without changes.
    private let prefersMinimal: Bool
    /// The section that the body is about; nil for the whole state.
    private let section: PostedBody.SectionTarget?
    /// Parameters of the request, except those of the body's shape.
    static let parameters = ChangesStyle.parameters.union(Projection.parameters).union(["since", "reload"])
    /// Those of a request about a section. The path says which one it is about.
    static let sectionParameters = parameters.union(Parameters.shape)
        .subtracting(StateShape.Member.ofSections.map(\.rawValue))

    /// Set before the operation is carried out, and read afterwards.
    private nonisolated(unsafe) var body: PostedBody?

    init(_ call: Call) throws(Problem) {
        self.call = call
        since = try call.parameters.since()
        shape = try call.parameters.shape()
        isReload = try call.parameters.flag("reload")
        if call.projection == nil {
            _ = try ChangesStyle(call)
            options = nil
        } else {
            options = try ChangesOptions(call)
        }
        if isReload, call.identity.token?.operations.contains(.reload) == false { throw .notPermitted([.reload]) }
        prefersMinimal = call.head.preferences.contains { $0.name == "return" && $0.value == "minimal" }
        let id = call.route.name == .sectionChanges ? call.captures[StateSection.name] : nil
        section = id.map { id in
            let scope = call.parameters[StateShape.Member.idScope.rawValue]
            return PostedBody.SectionTarget(id: id, scopesIDs: scope.map { $0 == "section" })
        }
    }

    // MARK: The request

    func operation(_ bytes: consuming [UInt8]) throws(Problem) -> ChangeSession {
        let key = try key()
        var parameters = call.parameters.shapeMembers + (isReload ? ["reload"] : [])
        if let section { parameters.append("section=\(section.id)") }
        let fingerprint =
            key == nil && section == nil
            ? nil : RequestFingerprint(of: copy bytes, parameters, by: call.service.store.hash)
        let service = call.service
        let list = service.source?.list(of: call.session)
        let consent = list?.consent(for: call, key: key, body: copy bytes)
        let body = PostedBody(
            StateDocument(consume bytes),
            PostedBody.Rules(
                shape: shape, takesStates: call.identity.maySendStates, hasSource: list?.hasSource ?? false,
                refusesEdits: list?.hasHook == false && !call.identity.isWriter,
                operations: call.identity.token?.operations, limits: service.settings.stateLimits,
                defaults: service.settings(of: list), section: section,
                sectionShapes: list?.sectionShapes ?? [:]))
        self.body = body
        // The body is read against the session it will probably meet, which is most likely similar.
        do throws(SessionError) { _ = try body.content(for: call.expected()) } catch {
            switch error {
            case .unreadable(.json), .notPermitted, .hasSource: throw Problem(error)
            // Other failures may vanish once the session is known.
            default: break
            }
        }
        return ChangeSession(
            body, isReload: isReload, condition: WriteCondition(match: call, through: options?.projection.names ?? []),
            key: key, fingerprint: fingerprint, parameters: parameters, consent: consent)
    }

    /// The idempotency key: at most one, of 1 to 255 bytes.
    private func key() throws(Problem) -> ReplayWindow.Key? {
        let keys = call.head.values(of: "idempotency-key")
        guard keys.count <= 1, keys.allSatisfy({ (1...255).contains($0.utf8.count) }) else {
            throw .malformed("send at most one Idempotency-Key, of 1 to 255 bytes")
        }
        return keys.first.map { ReplayWindow.Key(writer: call.identity.name(in: call.session), key: $0) }
    }

    func problem(_ failure: TransactionFailure) -> Problem {
        let search = body?.refused.map {
            ShapeSearch(
                body: $0.document, layout: $0.isSection ? .section : .changes,
                limits: call.service.settings.stateLimits, tried: $0.shape?.mapping)
        }
        return Problem(failure, of: call.session).searching(search)
    }

    // MARK: The answer

    func reply(_ outcome: ChangeSession.Outcome, in slot: SessionSlot?) -> Reply {
        switch outcome {
        case .made(let session): reply(slot, session, from: nil, isNew: true)
        case .changed(let session, let changeset, let before): reply(slot, session, from: before, by: changeset)
        case .repeated(let session, let made, let before): reply(slot, session, from: before, isNew: made)
        }
    }

    /// - Parameter changeset: what the write has changed; nil for who may not know more than what was sent.
    private func warnings(of changeset: Changeset? = nil) -> Warnings {
        Warnings(body?.warnings ?? [], of: changeset)
    }

    /// - Parameters:
    ///   - before: the head before the write; nil if the write made the session.
    ///   - changeset: leads from there to the head; nil if it is not at hand.
    private func reply(
        _ slot: SessionSlot?, _ session: Session, from before: Revision?, by changeset: Changeset? = nil,
        isNew: Bool = false
    ) -> Reply {
        let view = SessionView(slot, session, of: call.service.table)
        let status = isNew ? 201 : 200
        let fields: [Field] = isNew ? [.location(of: call.session)] : []
        guard var options, !prefersMinimal else { return .now(minimal(from: before, view, status, fields)) }
        options.staleness = call.service.staleness(of: call.session)
        if let before, let changeset, !isReload, options.projection.showsAll,
            since == .absent || since == .revision(before)
        {
            // The write's own changeset will do.
            options.warnings = warnings(of: changeset)
            let answer = ChangesAnswer(changeset, from: before, to: view.destination, options)
            return .now(call.service.counted(answer).response())
        }
        options.warnings = warnings(of: changeset).seen(in: view, options.projection)
        // By the name that a reader of all its rows would know.
        let base = before.map { view.name(of: ReaderState(revision: $0), options.projection) }
        let write = changeset.flatMap { changeset in before.map { WriteStep(base: $0, changeset: changeset) } }
        let answer = view.answer(since: since.orElse(base), options, after: write)
        return .now(call.service.counted(answer).response(status: status, fields: fields))
    }

    /// The answer for a client that prefers no changes, or may not see any.
    private func minimal(from before: Revision?, _ view: SessionView, _ status: Int, _ fields: [Field]) -> Response {
        let projection = options?.projection
        let name = { (base: ReaderState) in projection.map { view.name(of: base, $0) } ?? base.revision }
        let position =
            projection?.window == nil
            ? nil : projection.flatMap { view.destination($0, from: since.position).window?.position }
        var object = JSONObject()
        object.text("session", call.session)
        object.revision("from", since.orElse(before.map { name(ReaderState(revision: $0)) }).revision)
        object.text("to", name(ReaderState(revision: view.session.head.revision, position: position)).text)
        warnings().write(into: &object.writer)
        return Response(
            status: status, json: object.body(), fields: [Field("Preference-Applied", "return=minimal")] + fields,
            isCompressible: false)
    }
}

/// Fetches a list from its source now, and answers with the changes.
enum PostFetch {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let (since, options) = (try call.parameters.since(), try ChangesOptions(call))
        guard let list = call.service.source?.list(of: call.session), list.hasSource else {
            throw Problem(.sessionNotFound, "no list with this name has a source")
        }
        return .later { pending in
            call.times?.enter(.store)
            call.service.store.load(call.session, again: false, on: call.loop).whenDone { found in
                let before: Session?
                do throws(Problem) { before = try call.get(found)?.session } catch {
                    return pending.answer(call.refusal(error))
                }
                call.times?.enter(.source)
                list.fetch(tracedBy: TraceParent.value(of: call.head)).whenDone { fetched in
                    call.times?.enter(.compute)
                    let warnings: Warnings
                    switch fetched {
                    case .success(let found): warnings = Warnings(found)
                    case .failure(let failure):
                        var problem = Problem(failure, of: call.session)
                        if case .unavailable = failure, let detail = list.failureDetail { problem.detail = detail }
                        return pending.answer(call.refusal(problem))
                    }
                    call.find().whenDone { result in
                        call.proceed {
                            call.answer(pending) { () throws(Problem) in
                                let found = try result.mapError { Problem($0, of: call.session) }.get()
                                guard let view = found else { throw .noSession(call.session) }
                                return .now(try response(view, since: since, before: before, warnings, call, options))
                            }
                        }
                    }
                }
            }
        }
    }

    /// - Parameter before: the session before the fetch; nil if there was none.
    private static func response(
        _ view: SessionView, since: Since, before: Session?, _ warnings: Warnings, _ call: Call,
        _ options: ChangesOptions
    ) throws(Problem) -> Response {
        let base = before.map { view.name(of: ReaderState(revision: $0.head.revision), options.projection) }
        try view.checkRoom()
        let since = since.orElse(base)
        let write = view.isUsable(since, options.projection) ? nil : before.flatMap { view.step(from: $0) }
        var options = call.service.remarked(options, of: call.session)
        options.warnings = warnings.seen(in: view, options.projection)
        let answer = call.service.counted(view.answer(since: since, options, after: write))
        guard before == nil else { return answer.response() }
        return answer.response(status: 201, fields: [.location(of: call.session)])
    }
}
