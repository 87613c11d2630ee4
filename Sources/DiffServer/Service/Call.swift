import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// An admitted request, without its body. A reference, held by everything done for the request.
package final class Call: ServiceContext {
    package let head: RequestHead
    let loop: EventLoop
    let route: Route
    let captures: RouteParameters
    /// The session's name, looked up in `captures` once.
    let named: String?
    package let identity: Identity
    private let peer: Peer
    /// What the caller may see; nil if it may not read.
    let projection: Projection?
    /// Empty until an anonymous caller's sessions are known to be public.
    private(set) nonisolated(unsafe) var parameters: Parameters
    let acceptance: Acceptance
    package let service: DiffService
    /// Where its time goes; nil without `--log-slow`.
    package let times: RequestTimes?
    /// The body's share of the memory for messages, and that of the state made from it, until the call is gone. Only
    /// the thread that works on the call writes these and the other variables, before it hands it on.
    nonisolated(unsafe) var share, made: MemoryShare?
    package nonisolated(unsafe) var cost = WorkCost.none
    package nonisolated(unsafe) var conflicts = 0
    /// How many times the answer scans the session's contents.
    package nonisolated(unsafe) var scanCount = 1
    /// How long it waits for the session's source if there is a session already.
    private nonisolated(unsafe) var patience = Call.patience
    /// Whether anybody may read the answer: its sessions are public, and the caller sent no credentials.
    nonisolated(unsafe) var isShared: Bool
    /// Whether a shared answer may be kept by caches; nil if the request decides.
    nonisolated(unsafe) var isCacheable: Bool?
    /// Where `sessionCost` found the session, for `expected`.
    private nonisolated(unsafe) var found: SessionSlot?

    /// The same request, about one of the sessions that its query names. Waits for sources until the deadline.
    func of(_ session: String, until deadline: Instant = .now + Call.patience) -> Call {
        let call = Call(
            head: head, loop: loop, route: route, captures: captures, session: session, identity: identity,
            peer: peer, projection: projection, parameters: parameters, acceptance: acceptance, service: service,
            times: times)
        (call.patience, call.cost, call.scanCount) = (max(.zero, deadline - .now), cost, scanCount)
        return call
    }

    /// The same request for a reader that may follow this many lists for long. It keeps only what its answers and its
    /// log line need of its head, and takes a share of memory for what else it keeps, if that is more than usual.
    func lasting(_ projection: Projection, lists: Int = 1) throws(Problem) -> Call {
        let fields = service.crossOrigin.fields(of: head) + TraceParent.fields(of: head)
        let head = head.shortened(to: fields)
        let call = Call(
            head: head, loop: loop, route: route, captures: captures.of(head), session: named, identity: identity,
            peer: peer, projection: projection, parameters: Parameters(), acceptance: Acceptance(), service: service,
            times: times)
        (call.cost, call.scanCount, call.isShared) = (cost, scanCount, isShared)
        call.isCacheable = isMadeByURL && self.parameters["wait"] != nil
        let kept = lists * Subscription.footprint + projection.footprint + (identity.token?.footprint ?? 0)
        if kept > MemoryAccount.connection / 2 {
            let share = MemoryShare(of: service.table.account.incoming)
            guard share.resize(to: kept, sparing: MemoryBudget.sparedPart) else { throw .crowded }
            call.share = share
        }
        return call
    }

    init(
        head: RequestHead, loop: EventLoop, route: Route, captures: RouteParameters, session: String?,
        identity: Identity, peer: Peer, projection: Projection?, parameters: Parameters, acceptance: Acceptance,
        service: DiffService, times: RequestTimes? = nil
    ) {
        (self.head, self.loop, self.route, self.captures, named) = (head, loop, route, captures, session)
        (self.identity, self.peer, self.projection, self.parameters) = (identity, peer, projection, parameters)
        (self.acceptance, self.service, self.times, isShared) = (acceptance, service, times, identity.isAnonymous)
    }

    /// Who takes turns with others, and holds memory for views.
    var client: String { identity.client(from: peer) }

    /// The longest that a request waits for a source, if there is a session already.
    static let patience = Duration.seconds(1)

    /// The session's name. Its route must have one.
    package var session: String {
        guard let named else { preconditionFailure("\(route.name.rawValue) names no session") }
        return named
    }

    /// Refuses a client that does not accept the route's type. Called once the whole query is understood.
    func checkAcceptance() throws(Problem) {
        if route.isJSON, !acceptance.accepts("application/json") { throw .notAcceptable(["application/json"]) }
    }

    /// The cost of work on the session, however small the request is.
    func sessionCost() -> WorkCost {
        guard let named, let (slot, bytes) = service.table.peek(named) else { return .none }
        let cost = WorkCost.state(bytes)
        if !cost.isLong { found = slot }
        return cost
    }

    /// The session that a write will probably follow: the result of a pending write, or the session in the table, even
    /// if that is not the head. Only good for a first reading of a body.
    func expected() -> Session? {
        let table = service.table
        let slot = exchange(&found, with: nil)
        if let session = service.store.pending(session) { return session }
        return (slot ?? table.peek(session)?.slot).flatMap { table.session(in: $0) }
    }

    /// Continues on a worker's thread if the request's work is long. It is on one already, unless a worker was done
    /// before the loop asked for the result. `work` must not hold a state while it waits for its turn: each request
    /// might hold another one.
    func offLoop(_ work: @escaping @Sendable () -> Void) {
        if cost.isLong, loop.isCurrent { runLong(work) } else { work() }
    }

    // MARK: Callers without credentials

    package func admits(_ session: Session?) -> Bool {
        switch identity {
        case .writer, .client: return true
        case .anonymous: return service.isPublic(self.session, session?.settings.isPublic)
        case .anyone:
            if session?.settings.isPublic == true { lookUpShared() }
            return true
        }
    }

    /// Looks up whether anybody may read the answer, where no credentials are needed.
    func lookUpShared() {
        if case .anyone = identity, !isShared { isShared = service.isShared(head, peer) }
    }

    /// Whether the URL alone determines the answer.
    private var isMadeByURL: Bool {
        if parameters["every"] != nil { return false }
        if route.isJSON { return true }
        let dialect: Dialect? = try? parameters.choice("dialect")
        let form = try? ChangesForm(named: dialect, acceptance)
        return form?.mediaType == (try? ChangesForm(named: dialect, Acceptance()))?.mediaType
    }

    /// The first reply: an anonymous caller is told nothing before all its sessions are known to be public.
    func begin(_ work: @escaping @Sendable (Call) throws(Problem) -> Reply) -> Reply {
        times?.enter(.compute)
        guard identity.isAnonymous else { return reply(work) }
        let names = DiffService.sessions(of: head, named).prefix(GetManyChanges.maxSessions)
        if names.isEmpty || !names.allSatisfy(SessionName.isWhole) || names.contains(where: service.isKnownPrivate) {
            return .now(refusal(.noCredentials))
        }
        if names.allSatisfy(service.isKnownPublic) { return proceed(work) }
        return .later { [self] in lookUp(names, $0, then: work) }
    }

    private func lookUp(
        _ names: ArraySlice<String>, _ pending: Pending, then work: @escaping @Sendable (Call) throws(Problem) -> Reply
    ) {
        guard let name = names.first else { return pending.answer(proceed(work)) }
        Transaction(FindSession(fetches: false), for: of(name)).run().whenDone { [self] result in
            guard case .failure(let failure) = result else { return lookUp(names.dropFirst(), pending, then: work) }
            pending.answer(refusal(Problem(failure, of: name)))
        }
    }

    private func proceed(_ work: (Call) throws(Problem) -> Reply) -> Reply {
        do throws(Problem) {
            parameters = try Parameters(head.query, known: route.parameters, lists: route.lists)
            return reply(work)
        } catch { return .now(refusal(error)) }
    }

    /// Reads the session's head, from the store if need be; nil if there is no session.
    func find() -> Progress<SessionView?, TransactionFailure> {
        Transaction(FindSession(), for: self).run().map { [table = service.table] done in
            done.outcome.map { SessionView(done.slot, $0, of: table, done.share) }
        }
    }

    /// Ends the reader when its token is revoked, or its key or its token's secret withdrawn. Lasts until `leave`.
    func follow(_ reader: any SessionReader) {
        if identity.hasCredentials { service.table.revocations.follow(token, reader) }
    }

    func leave(_ reader: any SessionReader) {
        if identity.hasCredentials { service.table.revocations.leave(token, reader) }
    }

    /// The finished reply of an endpoint.
    func reply(_ work: (Call) throws(Problem) -> Reply) -> Reply {
        do throws(Problem) {
            switch try work(self) {
            case .now(let response): return .now(finish(response))
            case .later(let begin): return .later(begin)
            }
        } catch { return refuse(error) }
    }

    /// Refuses the request. If a search for how to make its body acceptable takes long, a worker does it.
    private func refuse(_ problem: Problem) -> Reply {
        guard let search = problem.search, search.cost.isLong, loop.isCurrent else {
            return .now(refusal(problem.advised()))
        }
        return .later { [self] pending in runLong { [self] in pending.answer(refusal(problem.advised())) } }
    }

    /// Answers a request that has been waiting.
    func answer(_ pending: Pending, _ work: () throws(Problem) -> Reply) {
        pending.answer(reply { (_) throws(Problem) in try work() })
    }

    func refusal(_ problem: Problem) -> Response {
        lookUpShared()
        return service.refusal(problem, of: head, route.label, isShared: isShared)
    }

    func get<Value>(_ result: Result<Value, StoreFailure>) throws(Problem) -> Value {
        do throws(StoreFailure) { return try result.get() } catch {
            service.note(error)
            throw Problem(error)
        }
    }

    /// Adds the parts common to all answers.
    func finish(_ response: consuming Response) -> Response {
        if isShared { CrossOrigin.share(&response, isCacheable: isCacheable ?? isMadeByURL) }
        return service.finish(response, head, route.label)
    }
}

extension Call {
    // MARK: What a transaction needs

    package var executor: any WorkExecutor { loop }
    package var token: (any RevocableToken)? { identity.token }

    package func runLong(_ work: @escaping @Sendable () -> Void) { run(for: client, work) }

    // Not behind the client's other work, since the session's other writers wait.
    package func runInTurn(_ work: @escaping @Sendable () -> Void) { run(for: "turn:" + session, work) }

    private func run(for client: String, _ work: @escaping @Sendable () -> Void) {
        guard let times else { return service.workers.run(for: client, work) }
        times.enter(.queue)
        service.workers.run(for: client) {
            times.enter(.compute)
            work()
        }
    }

    /// Counts for the rates what a view costs to make, of a session in memory; not if it is kept for other readers. As
    /// much as a request may cost (docs/security.md) is one request.
    func countView(_ projection: Projection, of session: String) {
        guard service.hasRates, !projection.views.isEmpty, let (slot, bytes) = service.table.peek(session),
            !slot.answers(in: service.table.answers).viewCache.keeps(projection.views)
        else { return }
        service.countRate(identity, peer, Double(bytes * projection.scanCount) / Double(Self.bytesOfRequest))
    }

    /// What 5 ms of viewing read of a state, in bytes.
    private static let bytesOfRequest = 4 << 20

    package func readiness(sessionExists: Bool) -> Progress<Void, SourceFailure>? {
        service.source?.list(of: session)?.readiness(sessionExists: sessionExists, patience: patience)
    }
}

/// A context whose store, workers and figures are those of a service.
package protocol ServiceContext: TransactionContext {
    var service: DiffService { get }
}

extension ServiceContext {
    package var store: any SessionStore { service.store }
    package var takesLongWork: Bool { service.takesLongWork }
    package func runLong(_ work: @escaping @Sendable () -> Void) { service.workers.run(work) }
    package func countConflict() { service.metrics.countConflict(of: session) }
    package func count(_ failure: StoreFailure) { service.note(failure) }
}

extension Pending {
    /// Answers now, or lets the reply do so later.
    fileprivate func answer(_ reply: consuming Reply) {
        switch reply {
        case .now(let response): answer(response)
        case .later(let begin): begin(self)
        }
    }
}

/// A request to a route that is open to all.
struct OpenCall {
    let head: RequestHead
    let captures: RouteParameters
    let service: DiffService
}

extension RequestHead {
    /// The target without its query.
    package var instance: String { Self.instance(target) }

    static func instance(_ target: String) -> String {
        String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// The names in all `Prefer` fields, with their values (RFC 7240).
    var preferences: [(name: String, value: String)] {
        list("prefer").map { part in
            let pair = part.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(\.trimmed)
            let value = pair.count > 1 ? pair[1] : ""
            let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            return (pair.first?.lowercased() ?? "", isQuoted ? String(value.dropFirst().dropLast()) : value)
        }
    }
}
