import DiffService
import DiffSessions
import DiffStores
import FoundationEssentials
import HTTPCore
import SnapshotKit

/// The consent of a list's owner to the edits of one request: it waits in the session's queue, and then calls the hook.
final class EditConsent: Consent {
    private let call: Call
    private let hook: ListDefinition.Hook
    private let url: String
    private let list: String
    private let calls: HookCalls
    /// Identifies the call; the same for each try of one request.
    private let id: String
    private let state = Locked(State.outside)

    private enum State {
        case outside
        case holding(HookLease)
        case given(Revision, HookLease)
    }

    /// Nil if nobody has to agree: to edits with a key, and to those of a session without a hook.
    init?(_ call: Call, _ match: ListMatch, _ calls: HookCalls, key: ReplayWindow.Key?, body: [UInt8]) {
        if call.identity.isWriter { return nil }
        guard let hook = match.definition.hook else { return nil }
        (self.call, self.hook, url, self.calls) = (call, hook, hook.url.url(match.segments), calls)
        list = match.definition.name.text
        let request = key.map { Array("\(call.session)\n\($0.writer)\n\($0.key)\n".utf8) + body } ?? Digests.random(32)
        // 24 bytes are 32 letters, indistinguishable from random ones.
        id = "msg_" + Base64URL.encode(Digests.sha256(request).prefix(24))
    }

    var given: Revision? { if case .given(let revision, _) = state.withLock({ $0 }) { revision } else { nil } }

    func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, ConsentFailure> {
        switch state.withLock({ $0 }) {
        case .outside:
            return calls.lease(of: call.session, list, within: hook.timeout).map { [state] lease in
                state.withLock { $0 = .holding(lease) }
            }
        case .holding(let lease):
            // No edits are made of which the owner is not told.
            let members = JSONSlice.members(of: Array(body))
            guard let edits = members?["edits"] else { return .done(.failure(.refused(nil))) }
            let payload = payload(revision, edits)
            let trace = TraceParent.value(of: call.head)
            return calls.ask(hook, of: call.session, list, at: url, id: id, tracedBy: trace, payload).map { [state] _ in
                state.withLock { $0 = .given(revision, lease) }
            }
        case .given: preconditionFailure("whoever has agreed is not asked again")
        }
    }

    /// `{"session","revision","edits","token"}`.
    private func payload(_ revision: Revision, _ edits: JSONSlice) -> [UInt8] {
        let edits = edits.text
        var object = JSONObject(capacity: edits.count + 512)
        object.text("session", call.session)
        object.revision("revision", revision)
        object.json("edits", edits)
        if let claims { object.json("token", claims) } else { object.null("token") }
        return object.bytes()
    }

    /// The claims of the request's token, which has been checked, as written; nil without one.
    private var claims: [UInt8]? {
        guard case .client = call.identity else { return nil }
        let parts = (call.head["authorization"] ?? "").utf8.split(separator: UInt8(ascii: "."))
        return parts.count == 3 ? Base64URL.decode(parts[1]) : nil
    }
}

// MARK: - Turns

/// The edits of one session that wait to call its hook, as a value driven like `SourceLife`: one calls at a time.
struct HookQueue: Sendable {
    private struct Waiter {
        let id: Int
        /// How long its call may take.
        let timeout: Duration
        /// When it gives up.
        let deadline: Instant
    }

    private enum Phase {
        case idle
        /// - Parameter until: the end of waiting for a lease that another node has.
        case acquiring(Waiter, until: Instant)
        case calling
        case releasing
    }

    enum Event: Sendable {
        case arrived(id: Int, timeout: Duration)
        /// The time of `wake` has come.
        case woke
        /// - Parameter isOurs: false while another node has the lease.
        case leased(Result<Bool, StoreFailure>)
        /// The holder of the turn has committed its edits, or will not.
        case ended
        case released
    }

    enum Action: Sendable {
        case acquire(hold: Duration)
        case release
        case give(Int)
        case refuse(Int, ConsentFailure)
        /// Nobody waits any more, so this value is not needed.
        case forget
    }

    private var phase = Phase.idle
    private var waiting: [Waiter] = []
    /// When the lease is asked for again.
    private var retryAt: Instant?

    /// The most that may wait.
    private static let maxWaiting = 8
    private static let retry = Duration.milliseconds(20)

    /// When `woke` has to happen; nil for never.
    var wake: Instant? { ([retryAt] + waiting.map(\.deadline)).compactMap(\.self).min() }

    /// - Returns: the actions, in order. A question comes last, since its answer may come at once.
    mutating func happen(_ event: Event, _ now: Instant) -> [Action] {
        switch (event, phase) {
        case (.arrived(let id, let timeout), .idle):
            return acquire(Waiter(id: id, timeout: timeout, deadline: now), now)
        case (.arrived(let id, _), _) where waiting.count >= Self.maxWaiting: return [.refuse(id, .busy)]
        case (.arrived(let id, let timeout), _):
            waiting.append(Waiter(id: id, timeout: timeout, deadline: now + timeout * Self.maxWaiting))
            return []
        case (.woke, _):
            let late = waiting.filter { $0.deadline <= now }
            waiting.removeAll { $0.deadline <= now }
            return late.map { .refuse($0.id, .busy) } + retry(now)
        case (.leased(let result), .acquiring(let waiter, let deadline)):
            switch result {
            case .success(true):
                phase = .calling
                return [.give(waiter.id)]
            case .success where now < deadline:
                retryAt = now + Self.retry
                return []
            case .success: return [.refuse(waiter.id, .busy)] + next(now)
            case .failure(let failure): return [.refuse(waiter.id, .leaseFailed(failure.summary))] + next(now)
            }
        case (.ended, .calling):
            phase = .releasing
            return [.release]
        case (.released, .releasing): return next(now)
        case (.leased, _), (.ended, _), (.released, _): preconditionFailure("an answer without its question")
        }
    }

    private mutating func acquire(_ waiter: Waiter, _ now: Instant) -> [Action] {
        phase = .acquiring(waiter, until: now + waiter.timeout * 2)
        return [.acquire(hold: waiter.timeout * 2)]
    }

    private mutating func retry(_ now: Instant) -> [Action] {
        guard let time = retryAt, time <= now, case .acquiring(let waiter, _) = phase else { return [] }
        retryAt = nil
        return [.acquire(hold: waiter.timeout * 2)]
    }

    private mutating func next(_ now: Instant) -> [Action] {
        phase = .idle
        return waiting.isEmpty ? [.forget] : acquire(waiting.removeFirst(), now)
    }
}

// MARK: - Calls of hooks

/// Calls of hooks: one per session at a time, over all nodes, and a limited number per list on this node, so that a
/// hook that does not answer takes no room from others. Confined to the loop of its `Upstream`, except where noted.
final class HookCalls: @unchecked Sendable {
    private let loop: EventLoop
    private let store: any SessionStore
    private let outages: Outages
    private let transfers: Transfers
    let tallies = UpstreamTallies()
    private var sessions: [String: WaitingEdits] = [:]
    /// How many sessions of a list have edits under way.
    private var calls: [String: Int] = [:]
    private var arrivals = 0

    private struct WaitingEdits {
        let list: String
        var life = HookQueue()
        var timer = LifeTimer()
        /// The waiters, by their ids in `life`.
        var promises: [Int: Promise<HookLease, ConsentFailure>] = [:]
    }

    /// Simultaneous calls for one list on this node.
    private static let maxCalls = 64
    /// How much of an answer is read, in bytes: it holds a detail for a person.
    private static let maxAnswer = 64 * 1024
    /// How much of the detail is passed on, in characters.
    private static let maxDetail = 1024

    init(for service: DiffService, on loop: EventLoop, _ outages: Outages) {
        (self.loop, store, self.outages) = (loop, service.store, outages)
        // A separate instance, since calls must not wait for slow sources.
        transfers = Transfers(on: loop, budget: service.table.account.incoming, maxOfHost: Self.maxCalls)
    }

    /// Waits for the lease to call the hook of a session, for so long. From any thread.
    func lease(of session: String, _ list: String, within time: Duration) -> Progress<HookLease, ConsentFailure> {
        let promise = Promise<HookLease, ConsentFailure>()
        loop.execute { [self] in
            if sessions[session] == nil {
                guard calls[list] ?? 0 < Self.maxCalls else {
                    tallies.count(HookOutcome.skipped, SourceName(list))
                    return promise.keep(.failure(.busy))
                }
                calls[list, default: 0] += 1
                sessions[session] = WaitingEdits(list: list)
            }
            arrivals += 1
            sessions[session]?.promises[arrivals] = promise
            happen(.arrived(id: arrivals, timeout: time), to: session)
        }
        return .pending(promise)
    }

    /// From any thread.
    fileprivate func end(_ session: String) { loop.execute { self.happen(.ended, to: session) } }

    private func happen(_ event: HookQueue.Event, to session: String) {
        guard let actions = sessions[session]?.life.happen(event, .now) else { return }
        let wake = sessions[session]?.life.wake
        sessions[session]?.timer.set(wake, on: loop) { [self] in
            sessions[session]?.timer.rang()
            happen(.woke, to: session)
        }
        for action in actions { perform(action, for: session) }
    }

    private func perform(_ action: HookQueue.Action, for session: String) {
        switch action {
        case .acquire(let hold):
            store.acquireLease(.hook, of: session, for: hold, isForced: false, on: loop).whenDone { [self] result in
                loop.perform { [self] in
                    happen(.leased(result.map { if case .acquired = $0 { true } else { false } }), to: session)
                }
            }
        case .release:
            store.releaseLease(.hook, of: session, nil, next: .zero, on: loop).whenDone { [self] _ in
                loop.perform { self.happen(.released, to: session) }
            }
        case .give(let id):
            sessions[session]?.promises.removeValue(forKey: id)?.keep(.success(HookLease(session, self)))
        case .refuse(let id, let failure):
            if case .busy = failure, let list = sessions[session]?.list {
                tallies.count(HookOutcome.skipped, SourceName(list))
            }
            sessions[session]?.promises.removeValue(forKey: id)?.keep(.failure(failure))
        case .forget:
            guard let list = sessions.removeValue(forKey: session)?.list else { return }
            calls[list] = calls[list].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }

    // MARK: The call

    /// Asks the owner of a session's list whether edits count. From any thread.
    func ask(
        _ hook: ListDefinition.Hook, of session: String, _ list: String, at url: String, id: String,
        tracedBy trace: String?, _ payload: [UInt8]
    ) -> Progress<Void, ConsentFailure> {
        let promise = Promise<Void, ConsentFailure>()
        loop.execute { [self] in
            let signature = hook.secret.fields(id: id, seconds: Int(WallTime.now.seconds), body: payload)
            var request = Transfer.Request(
                url: url, body: payload,
                fields: [RequestHeader(name: "Content-Type", value: "application/json")] + signature,
                timeout: hook.timeout, maxBytes: Self.maxAnswer, isCut: true)
            request.trace(trace)
            let start = Instant.now
            transfers.start(request) { [self] result in
                let (verdict, outcome) = verdict(result, about: session, of: list)
                tallies.count(outcome, SourceName(list))
                tallies.count(SourceName(list)) { $0.durations.add(.now - start) }
                promise.keep(verdict)
            }
        }
        return .pending(promise)
    }

    private func verdict(
        _ result: Result<Transfer.Answer, Transfer.Failure>, about session: String, of list: String
    ) -> (Result<Void, ConsentFailure>, HookOutcome) {
        let reason: String
        var retryAfter: Int?
        switch result {
        case .failure(let failure): reason = failure.reason
        case .success(let answer) where [2, 4].contains(answer.status / 100) && ![408, 429].contains(answer.status):
            outages.hookDecided(answer.status, about: session, of: list)
            if answer.status < 300 { return (.success(()), .agreed) }
            let isOfCall = answer.status == 401 || answer.status == 403
            return (.failure(.refused(Self.detail(answer.body))), isOfCall ? .unauthorized : .refused)
        case .success(let answer): (reason, retryAfter) = ("it answered \(answer.status)", answer.retryAfter)
        }
        outages.hookFailed(because: reason, about: session, of: list)
        return (.failure(.unavailable(retryAfter: retryAfter)), .failed)
    }

    /// Why the owner refuses: the detail of a problem (RFC 9457), or of any other object.
    private static func detail(_ body: [UInt8]) -> String? {
        guard let detail = JSONSlice.members(of: body)?["detail"]?.string, !detail.isEmpty else { return nil }
        return String(detail.prefix(maxDetail))
    }
}

/// The lease to call a session's hook and to commit what it agreed to. It ends with its last reference.
final class HookLease: Sendable {
    private let session: String
    private let calls: HookCalls

    fileprivate init(_ session: String, _ calls: HookCalls) { (self.session, self.calls) = (session, calls) }

    deinit { calls.end(session) }
}
