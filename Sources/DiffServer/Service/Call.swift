import HTTPCore

/// A request that was let in: what an endpoint may look at besides the body. An object, since all that is done for the
/// request holds on to it.
final class Call: Errand {
    let head: RequestHead
    let peer: Peer
    /// The loop of its connection.
    let loop: EventLoop
    let route: Route
    let place: RouteParameters
    /// The session's name, looked up in `place` once: every step asks for it.
    private let named: String?
    let identity: Identity
    let parameters: Parameters
    let acceptance: Acceptance
    let service: DiffService
    /// What the body takes of the memory for messages, until the call goes. This and the next are written only by
    /// whoever carries the call on, before it is handed to the next one.
    nonisolated(unsafe) var share: MemoryShare?
    /// Whether what is done for the request takes so long that no loop should wait for it.
    nonisolated(unsafe) var isLong = false
    /// How often the contents of the session are looked through for the answer.
    nonisolated(unsafe) var passes = 1
    private(set) nonisolated(unsafe) var patience = SourcedList.patience
    /// Where the session was when its weight was looked at, to read a body upon it.
    private nonisolated(unsafe) var found: SessionSlot?

    /// The same request, of one of several sessions that it names.
    ///
    /// - Parameter deadline: until when it waits for sources.
    func of(_ session: String, until deadline: Instant = .now + SourcedList.patience) -> Call {
        let call = Call(
            head: head, peer: peer, loop: loop, route: route, place: place, session: session, identity: identity,
            parameters: parameters, acceptance: acceptance, service: service)
        call.patience = max(.zero, deadline - .now)
        return call
    }

    init(
        head: RequestHead, peer: Peer, loop: EventLoop, route: Route, place: RouteParameters, session: String?,
        identity: Identity,
        parameters: Parameters,
        acceptance: Acceptance, service: DiffService
    ) {
        (self.head, self.peer, self.loop, self.route, self.place, named, self.identity) = (
            head, peer, loop, route, place, session, identity
        )
        (self.parameters, self.acceptance, self.service) = (parameters, acceptance, service)
    }

    /// The name of the session that the path names. To ask where it names none is a mistake in the service.
    var session: String {
        guard let named else { preconditionFailure("\(route.name) names no session") }
        return named
    }

    /// The path without its query, for problems.
    var instance: String { head.instance }

    /// Looks whether the session is so large that work on it takes long, however small the request is.
    func findsLongSession() -> Bool {
        guard let named, let (slot, bytes) = service.table.peek(named) else { return false }
        guard bytes < SessionView.long else { return true }
        found = slot
        return false
    }

    /// What a write most likely follows: what one under way makes of the session, else what the table holds of it, be
    /// it over or not the head. Good to read a body upon, and for nothing else.
    func expected() -> Session? {
        let table = service.table
        let slot = exchange(&found, with: nil)
        if let session = service.store.pending(session) { return session }
        return (slot ?? table.peek(session)?.slot).flatMap { table.session(in: $0) }
    }

    /// Does what follows something that was waited for. Where that takes long, it was done by a worker already, but for
    /// one case: the worker was faster than the loop in asking for the result.
    func offLoopIfLong(_ work: @escaping @Sendable () -> Void) {
        if isLong, loop.isCurrent { service.workers.run(work) } else { work() }
    }

    /// Reads the session's head, wherever that has to come from.
    func view() -> Progress<SessionView, Problem> {
        Transaction(ReadSession(), for: self).run().map { [table = service.table] in
            SessionView($0.slot, $0.outcome, of: table)
        }
    }

    /// The same, where there may be none.
    func find() -> Progress<SessionView?, Problem> {
        Transaction(FindSession(), for: self).run().map { [table = service.table] done in
            done.outcome.map { SessionView(done.slot, $0, of: table) }
        }
    }

    /// Has a reader that came with a token told when that is revoked, until it leaves.
    func follow(_ reader: any SessionReader) {
        if case .client(let token, _) = identity { service.table.revocations.follow(token, reader) }
    }

    func leave(_ reader: any SessionReader) {
        if case .client(let token, _) = identity { service.table.revocations.leave(token, reader) }
    }

    /// Gives the answer to a request that was waiting.
    func answer(_ pending: Pending, _ reply: () throws(Problem) -> Reply) {
        do throws(Problem) {
            switch try reply() {
            case .now(let response): pending.answer(finish(response))
            case .later(let begin): begin(pending)
            }
        } catch {
            pending.answer(refusal(error))
        }
    }

    /// An answer about the session, counted.
    func told(_ answer: consuming ChangesAnswer) -> ChangesAnswer { service.told(answer, of: session) }

    /// The answer to a request that is refused.
    func refusal(_ problem: Problem) -> Response { finish(problem.response(instance: instance)) }

    /// What every answer gets.
    func finish(_ response: consuming Response) -> Response { service.finish(response, head, route: route.name) }
}

/// A request for what is open to all.
struct OpenCall {
    let head: RequestHead
    let place: RouteParameters
    let service: DiffService
}

extension RequestHead {
    /// The target without its query.
    var instance: String { Self.instance(target) }

    static func instance(_ target: String) -> String {
        String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// The names in all `Prefer` fields, with their values (RFC 7240).
    var preferences: [(name: String, value: String)] {
        list("prefer").map { part in
            let pair = part.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            let value = pair.count > 1 ? pair[1].trimmed : ""
            let isQuoted = value.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
            return (
                pair.first.map { $0.trimmed.lowercased() } ?? "",
                isQuoted ? String(value.dropFirst().dropLast()) : value
            )
        }
    }
}
