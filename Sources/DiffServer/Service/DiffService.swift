// The walk of a request through the service, in the order of CONTRACT §7: path, identity, permission, rate, route,
// query, accepted types, the body's type, the body, the endpoint. Unknown paths are as protected as known ones, so
// nothing can be found out without credentials.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import Synchronization

/// The service: admits requests and hands them to their endpoints.
package final class DiffService: Service {
    package let settings: ServiceSettings
    package let store: any SessionStore
    /// The sessions in memory, and their readers.
    package let table: SessionTable
    package let access: Authenticator
    package let journal: Journal
    package let metrics = Metrics()
    private let server = Locked<Server?>(nil)
    /// By key or token, and by peer.
    private let rateLimit: RateLimit<String>
    private let peerRateLimit: RateLimit<PeerNetwork>
    private let hasAnnouncedEnd = Atomic<Bool>(false)
    /// When the last reader leaves, in nanoseconds of `Instant`.
    private let lastReader = Atomic<Int64>(Instant.never.nanoseconds)
    private let refusesWrites = Atomic<Bool>(false)
    private let outage = Locked(StoreOutage())
    let crossOrigin: CrossOrigin
    package let workers: Workers
    /// Writes the figures of the process.
    let figures: @Sendable (inout MetricsText) -> Void
    /// Lists that fetch themselves, or have hooks; nil without a file of lists. Set before the first request.
    private(set) nonisolated(unsafe) var source: (any SessionSource)?

    package init(
        settings: ServiceSettings, store: any SessionStore, access: Authenticator, journal: Journal, workers: Workers,
        figures: @escaping @Sendable (inout MetricsText) -> Void = { _ in }
    ) {
        var settings = settings
        settings.stateLimits.maxMadeBytes = min(settings.maxBodyBytes, store.table.account.limit / 16)
        (self.settings, self.store, table, self.workers) = (settings, store, store.table, workers)
        self.figures = figures
        precondition(store.table.caches is AnswerCaches, "a service's table keeps answers")
        (self.access, self.journal) = (access, journal)
        rateLimit = RateLimit(perSecond: settings.rate)
        peerRateLimit = RateLimit(perSecond: settings.peerRate)
        crossOrigin = CrossOrigin(origins: access.origins)
        access.keys.current.whenReplaced(table.revocations.endWithdrawn)
        access.secrets.current.whenReplaced(table.revocations.endWithdrawn)
    }

    // MARK: The walk

    package func admit(
        _ head: RequestHead, from peer: Peer, on loop: EventLoop, noting note: inout ExchangeNote
    ) -> Admission {
        do throws(Problem) { return try walk(head, peer, loop, &note) } catch {
            let isShared = error.type != .forbidden && isShared(head, peer)
            return .answer(refusal(error, of: head, AnswerLabel(.other), isShared: isShared))
        }
    }

    private func walk(
        _ head: RequestHead, _ peer: Peer, _ loop: EventLoop, _ note: inout ExchangeNote
    ) throws(Problem) -> Admission {
        if let name = head.overlongList { throw .malformed("\(name) has more than \(FieldList.maxElements) elements") }
        let match = routes.match(head)
        if let answer = options(head, match) { return .answer(finish(answer, head, AnswerLabel(.options))) }
        switch consume match {
        case .found(let route, let captures): return try admit(head, peer, loop, &note, to: route, captures)
        case .methodNotAllowed(let allow):
            let identity = Self.isOpen(head) ? nil : try identity(head, peer, for: .write, &note.caller)
            let session = Self.session(head)
            if let identity, let session, !identity.covers(session) { throw .forbidden(identity, .read, session) }
            try checkRate(identity, peer)
            let isOfSession = session != nil && head.instance.split(separator: "/").count == 3
            let meant = isOfSession && head.method == .post ? "; a state is posted to \(head.instance)/changes" : ""
            throw Problem(.methodNotAllowed, "allowed here: \(allow)\(meant)", fields: [Field("Allow", allow)])
        case .notFound:
            try checkRate(identity(head, peer, for: .write, &note.caller), peer)
            let near = Spelling.nearestPath(to: head.instance, among: routePatterns)
            let advice = near.map { "; did you mean \($0)?" } ?? ""
            throw Problem(.routeNotFound, "there is nothing at \(head.instance)\(advice)")
        }
    }

    private func admit(
        _ head: RequestHead, _ peer: Peer, _ loop: EventLoop, _ note: inout ExchangeNote, to route: Route,
        _ captures: RouteParameters
    ) throws(Problem) -> Admission {
        // A body without a meaning (RFC 9110 §9.3.1) is read and dropped.
        switch route.work {
        case .open(let work):
            if !route.isProbe { try checkRate(nil, peer) }
            // Anyone may ask; credentials are read only to name the caller in the log.
            if head["authorization"] != nil { _ = try? identity(head, peer, for: .operate, &note.caller) }
            let response: Response
            do throws(Problem) {
                response = finish(try work(OpenCall(head: head, captures: captures, service: self)), head, route.label)
            } catch { response = refusal(error, of: head, route.label) }
            guard head.bodyLength == .none else { return .read(maxBytes: Self.strayBody) { _, _ in .now(response) } }
            return .answer(response)
        case .withoutBody(let work):
            let call = try call(route, captures, head, peer, loop, &note)
            if case .write = route.permission { try checkWritable() }
            guard head.bodyLength == .none else { return .read(maxBytes: Self.strayBody) { _, _ in call.begin(work) } }
            switch call.begin(work) {
            case .now(let response): return .answer(response)
            case .later(let begin): return .read(maxBytes: 0) { _, _ in .later(begin) }
            }
        case .withBody(let prepare):
            let generation = access.generation
            let call = try call(route, captures, head, peer, loop, &note)
            let prepared = try prepare(call)
            try call.checkAcceptance()
            try checkBody(head, of: route)
            return .read(maxBytes: settings.maxBodyBytes) { [self] body, share in
                guard access.generation == generation || access.isStillGood(call.identity) else {
                    return .now(call.refusal(Problem(.unauthenticated, "the key or token is no longer valid")))
                }
                return take(call, prepared, body, share)
            }
        }
    }

    /// Admits a request to a route that is not open.
    private func call(
        _ route: Route, _ captures: RouteParameters, _ head: RequestHead, _ peer: Peer, _ loop: EventLoop,
        _ note: inout ExchangeNote
    ) throws(Problem) -> Call {
        guard let permission = route.permission else { preconditionFailure("an open route makes no call") }
        let session = captures.value(of: "session")
        let identity = try identity(head, peer, for: permission, &note.caller)
        guard identity.has(permission, session: session) else { throw .forbidden(identity, permission, session) }
        let projection = Projection(of: identity, in: session)
        if projection == nil, let asked = head.query.first(where: { Projection.parameters.contains($0.name) })?.name {
            throw Problem(
                .forbidden, "this token does not allow reading, so it cannot choose what to show: leave \(asked) out")
        }
        try checkRate(identity, peer)
        // Without credentials nothing more is looked at before the session is known to be public.
        let isAnonymous = identity.isAnonymous
        if let session, !isAnonymous { try Self.check(session: session) }
        // Tokens are not the session's own use.
        if route.name != .tokens { note.subject = session }
        if journal.logsSlow { note.times = RequestTimes(in: head.bodyLength == .none ? .compute : .receive) }
        return Call(
            head: head, loop: loop, route: route, captures: captures, session: session, identity: identity,
            peer: peer, projection: projection,
            parameters: isAnonymous
                ? Parameters() : try Parameters(head.query, known: route.parameters, lists: route.lists),
            acceptance: Acceptance(head), service: self, times: note.times)
    }

    /// The answer to OPTIONS, a preflight or not; nil for other methods.
    private func options(_ head: RequestHead, _ match: borrowing Router<Route>.Match) -> Response? {
        guard case .options = head.method else { return nil }
        let allow: String
        switch match {
        case .methodNotAllowed(let known): allow = known
        case .found: allow = "OPTIONS"
        case .notFound where head.isServerWide: allow = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
        case .notFound: return nil
        }
        let preflight = crossOrigin.preflight(head, allow: allow)
        if preflight == nil { noteForeignOrigin(head) }
        var answer = preflight ?? Response(status: 204, fields: [Field("Allow", allow)])
        if !head.isServerWide, allow.contains("PATCH") { answer.fields.append(MediaType.acceptPatch) }
        return answer
    }

    private static func isOpen(_ head: RequestHead) -> Bool {
        guard case .found(let route, _) = routes.match(head, as: .get) else { return false }
        return route.permission == nil
    }

    /// The session that a path names, whatever the method.
    static func session(_ head: RequestHead) -> String? {
        for method in [Method.get, .post, .delete] {
            if case .found(_, let captures) = routes.match(head, as: method) { return captures.value(of: "session") }
        }
        return nil
    }

    static func route(of head: RequestHead) -> RouteName {
        guard case .found(let route, _) = routes.match(head) else { return .other }
        return route.name
    }

    /// Identifies the caller, once for each request. Its log line names the caller, whatever happens later.
    private func identity(
        _ head: RequestHead, _ peer: Peer, for permission: Permission, _ caller: inout String?
    ) throws(Problem) -> Identity {
        let identity = try access.identity(head, peer, for: permission)
        caller = identity.logged
        let revocations = table.revocations
        if !revocations.areNone, let token = identity.token, revocations.refuse(token) { throw .revoked }
        return identity
    }

    /// The peer's rate comes first, so that one address cannot use up the rate of a key that others share. Open pages,
    /// without an identity, count for the address alone.
    private func checkRate(_ identity: Identity?, _ peer: Peer) throws(Problem) {
        guard hasRates else { return }
        if let network = peer.network, let wait = peerRateLimit.refuses(network) {
            let reason = "more than \(settings.peerRate ?? 0) requests a second from one address"
            throw Problem(.tooManyRequests, reason, retryAfter: wait)
        }
        if let identity, let wait = rateLimit.refuses(identity.bucket(of: peer)) {
            throw Problem(.tooManyRequests, "more than \(settings.rate ?? 0) requests a second", retryAfter: wait)
        }
    }

    var hasRates: Bool { settings.rate != nil || settings.peerRate != nil }

    /// Counts an admitted request as more than one.
    func countRate(_ identity: Identity, _ peer: Peer, _ more: Double) {
        if let network = peer.network { peerRateLimit.count(more, network) }
        rateLimit.count(more, identity.bucket(of: peer))
    }

    static func check(session: String) throws(Problem) {
        guard SessionName.isWhole(session) else { throw .malformed(SessionName.rule(brokenBy: session)) }
    }

    private func checkBody(_ head: RequestHead, of route: Route) throws(Problem) {
        if route.permission != .compute { try checkWritable() }
        if route.takesPatches {
            let name = head["content-type"].map(Self.mediaType)
            guard name == MediaType.mergePatch else { throw .noMergePatch(name) }
        } else if head.value(of: "content-type", is: "application/json") == false, let type = head["content-type"] {
            let name = Self.mediaType(type)
            let isJSON = ["", "application/json", "application/x-www-form-urlencoded"].contains(name)
            // A patch must never be taken for a state.
            guard isJSON || name.hasSuffix("+json") && !MediaType.patches.contains(name) else {
                throw .unsupportedMediaType(name)
            }
        }
        if head.contentEncoding == .unsupported {
            let fields = [Field("Accept-Encoding", "gzip")]
            throw Problem(.unsupportedEncoding, "send the body uncompressed or as gzip", fields: fields)
        }
    }

    /// The type in a value of `Content-Type`, without parameters.
    private static func mediaType(_ value: String) -> String { value.prefix { $0 != ";" }.trimmed.lowercased() }

    // MARK: Answers

    /// The longest unwanted body that is still read, in bytes.
    private static let strayBody = 16 * 1024

    /// Answers a request with a body. Long work goes to a worker, so that small requests on the loop keep their
    /// latency. If the answer comes later, because of that or of the store, the body stays counted until then.
    private func take(
        _ call: Call, _ prepared: @escaping Answer, _ body: consuming [UInt8], _ share: MemoryShare?
    ) -> Reply {
        var body = body
        call.times?.enter(.compute)
        call.cost = max(.text(body.count, times: call.scanCount), call.sessionCost())
        if call.cost.isLong || table.isCache {
            call.share = share ?? MemoryShare(of: table.account.incoming)
            guard call.share?.resize(to: body.count) == true else {
                return .now(call.refusal(Problem(Refusal.memoryExhausted)))
            }
            // The body becomes the state's text; the records of its items take about as much again.
            call.made = MemoryShare(holding: body.count, of: table.account.made)
        }
        guard call.cost.isLong else {
            // Moved out, so that there is one reference and reading needs no copy.
            return call.reply { (_) throws(Problem) in try prepared(exchange(&body, with: [])) }
        }
        let handed = Locked(exchange(&body, with: []))
        // What reading stores beside the body, and what edits make of contents, exists twice while a state is made.
        let making = 2 * min(settings.stateLimits.maxMadeBytes, call.cost.bytes)
        return .later { [made = table.account.made] pending in
            call.runLong {
                made.charging(making) {
                    call.answer(pending) { () throws(Problem) in
                        try prepared(handed.withLock { exchange(&$0, with: []) })
                    }
                }
            }
        }
    }

    func refusal(_ problem: Problem, of head: RequestHead, _ label: AnswerLabel, isShared: Bool = false) -> Response {
        var response = problem.response(instance: head.instance)
        if isShared { CrossOrigin.share(&response, isCacheable: false) } else { noteForeignOrigin(head) }
        return finish(response, head, label)
    }

    /// Logs the origin of a web page that may not read its answers, and cannot tell why.
    private func noteForeignOrigin(_ head: RequestHead) {
        if let origin = head["origin"], !access.admits(origin: origin, head), CrossOrigin.isOrigin(origin) {
            guard journal.isNews(origin) else { return }
            journal.log("a page of \(origin) was refused: allow it with --origin \(origin)", level: "warning")
        }
    }

    /// Adds the parts common to all answers.
    func finish(_ response: consuming Response, _ head: RequestHead, _ label: AnswerLabel) -> Response {
        response.note(label)
        crossOrigin.decorate(&response, for: head)
        return response
    }

    private var storeSilence: Duration { store.silentSince.map { .now - $0 } ?? .zero }

    /// The seconds since the session's source, or the store, was last heard of, if that is too long ago.
    func staleness(of session: String) -> Int? {
        StoreOutage.staleness(of: source?.staleness(of: session), after: storeSilence)
    }

    /// The settings of a session that a writer makes: the file's, if that names the session.
    func settings(of list: (any ListedSession)?) -> Session.Settings {
        list?.settings.applied(to: settings.defaultSettings) ?? settings.defaultSettings
    }

    /// The options of an answer that also says how stale the session is.
    func remarked(_ options: ChangesOptions, of session: String) -> ChangesOptions {
        guard let staleness = staleness(of: session) else { return options }
        var options = options
        options.staleness = staleness
        return options
    }

    func counted(_ answer: consuming ChangesAnswer) -> ChangesAnswer {
        metrics.count(answer)
        return answer
    }

    /// Whether a request may wait for a worker.
    package var takesLongWork: Bool { workers.waiting < table.account.maxWaiting }

    package func refusal(_ refusal: Refusal, target: String?) -> Response {
        Problem(refusal).response(instance: target.map(RequestHead.instance))
    }

    package func finished(_ exchange: ExchangeSummary) {
        let label = AnswerLabel(code: exchange.label)
        metrics.count(exchange, as: label)
        journal.record(exchange, as: label)
    }

    /// Counts a failure of the store. A damaged record, which each reader meets again, is logged with its session once.
    func note(_ failure: StoreFailure) {
        metrics.count(failure)
        if case .damaged(let session) = failure {
            journal.logOnce("damaged record: only a PUT of the state or a DELETE replaces it", about: session)
        }
    }

    /// Starts fetching lists, and asking their owners about edits.
    package func follow(_ source: any SessionSource) {
        table.isFetched = { source.list(of: $0)?.hasSource == true }
        self.source = source
    }

    /// Notes that the number of a slot's readers has changed.
    func watch(_ slot: SessionSlot) {
        store.watch(slot)
        source?.watch(slot)
    }

    /// Removes what has expired. Called each second.
    package func sweep() {
        table.answers.release()
        store.sweep()
        metrics.rotate()
        source?.sweep()
        guard let action = outage.withLock({ $0.tick(after: storeSilence) }) else { return }
        let isEnd = action == .dismiss
        if isEnd { journal.log("the store does not answer: ending streams within a minute", level: "error") }
        for reader in table.readers {
            reader.storeChanged(leavingAfter: isEnd ? StoreOutage.window * .random(in: 0..<1) : nil)
        }
    }

    package func run(in server: Server) { self.server.withLock { $0 = server } }

    /// What the sockets count; nil before they are open.
    var connections: Server.Counters? { server.withLock { $0 }?.counters }

    /// When the certificate expires, in seconds since 1970; nil without TLS.
    var certificateExpiry: Int? { server.withLock { $0 }?.certificateExpiry }

    /// Whether the next connection would be refused.
    var isFull: Bool { connections.map { $0.openConnections >= $0.connectionLimit } ?? false }
}

// MARK: - The end

extension DiffService {
    /// Whether the server is closing. Then `/readyz` is 503.
    package var isDraining: Bool { hasAnnouncedEnd.load(ordering: .relaxed) }

    /// Announces on request that the server is closing. Everything else continues.
    package func announceEnd() { hasAnnouncedEnd.store(true, ordering: .relaxed) }

    /// Makes streams and held requests end one after another within `window`, also those that begin later. Returns when
    /// the last one ends.
    package func dismissReaders(within window: Duration) -> Duration {
        // First, so that none that begins meanwhile is missed.
        lastReader.store((Instant.now + window).nanoseconds, ordering: .sequentiallyConsistent)
        let span = table.dismissReaders(within: window)
        lastReader.store((Instant.now + span).nanoseconds, ordering: .relaxed)
        return span
    }

    /// After which time a stream or a held request that begins now must end; nil if it may choose.
    var timeToLeave: Duration? {
        let last = lastReader.load(ordering: .sequentiallyConsistent)
        guard last < Instant.never.nanoseconds else { return nil }
        return .nanoseconds(Int64.random(in: 0...max(0, last - Instant.now.nanoseconds)))
    }

    package func refuseWrites() { refusesWrites.store(true, ordering: .relaxed) }

    /// - Throws: 503 once nobody may write any more.
    private func checkWritable() throws(Problem) {
        if refusesWrites.load(ordering: .relaxed) { throw .draining }
    }
}

/// The version of this program.
package enum Version {
    package static let text = "0.2.0"
}
