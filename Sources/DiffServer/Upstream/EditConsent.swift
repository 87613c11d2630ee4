import DiffService
import DiffSessions
import FoundationEssentials
import HTTPCore
import SnapshotKit

/// The consent of a list's owner to the edits of one request: it waits in the session's queue, and then calls the hook.
final class EditConsent: Consent {
    private let call: Call
    private let hook: ListDefinition.Hook
    private let url: String
    /// The list's name in the file.
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

    /// Nil if nobody has to agree: to edits with a key, and those of a session without a hook.
    ///
    /// - Parameter key: of a request that may be repeated.
    init?(_ call: Call, _ upstream: Upstream, key: ReplayWindow.Key?, body: [UInt8]) {
        if case .writer = call.identity { return nil }
        guard let match = upstream.match(call.session), let hook = match.definition.hook, let url = match.hookURL
        else { return nil }
        (self.call, self.hook, self.url, calls) = (call, hook, url, upstream.hooks)
        list = match.definition.name.text
        let request = key.map { Array("\(call.session)\n\($0.writer)\n\($0.key)\n".utf8) + body } ?? Digests.random(32)
        // 24 bytes, which are 32 letters and cannot be told from random ones.
        id = "msg_" + Base64URL.encode(Digests.sha256(request).prefix(24))
    }

    var isGiven: Bool { if case .given = state.withLock({ $0 }) { true } else { false } }

    var asked: Revision? { if case .given(let revision, _) = state.withLock({ $0 }) { revision } else { nil } }

    func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, ConsentFailure> {
        switch state.withLock({ $0 }) {
        case .outside:
            calls.lease(of: call.session, within: hook.timeout).map { [state] lease in
                state.withLock { $0 = .holding(lease) }
            }
        case .holding(let lease):
            calls.ask(hook, of: call.session, list, at: url, id: id, payload(revision, body)).map { [state] _ in
                state.withLock { $0 = .given(revision, lease) }
            }
        case .given: preconditionFailure("whoever has agreed is not asked again")
        }
    }

    /// `{"session","revision","edits","token"}`.
    ///
    /// - Parameter body: `{"edits":[…]}`, checked before.
    private func payload(_ revision: Revision, _ body: ArraySlice<UInt8>) -> [UInt8] {
        var object = JSONObject(capacity: body.count + 512)
        object.text("session", call.session)
        object.revision("revision", revision)
        object.json("edits", JSONSlice.members(of: Array(body))?["edits"]?.text ?? Array("[]".utf8))
        if case .client = call.identity, let claims = Token.claims(call.head) {
            object.json("token", claims)
        } else {
            object.null("token")
        }
        return object.bytes()
    }
}

extension Token {
    /// The claims of a request's token, which was checked before, as they are written.
    fileprivate static func claims(_ head: RequestHead) -> [UInt8]? {
        let parts = (head["authorization"] ?? "").utf8.split(separator: UInt8(ascii: "."))
        return parts.count == 3 ? Base64URL.decode(parts[1]) : nil
    }
}

// MARK: - Calls of hooks

/// Calls of hooks: one per session at a time, over all nodes, and a limited number per list in this one, so that a hook
/// that does not answer takes no room from others. Confined to the loop of its `Upstream`, except where noted.
final class HookCalls: @unchecked Sendable {
    private unowned let upstream: Upstream
    /// Sessions whose hooks are being called, and who waits to call them next.
    private var queues: [String: Queue] = [:]
    /// How many calls are under way, by the names of their lists in the file.
    private var calls: [String: Int] = [:]

    private struct Queue {
        let list: String
        var waiting: [(promise: Promise<HookLease, ConsentFailure>, timer: Timer)] = []
    }

    /// Calls of one list in this node at a time.
    static let maxCalls = 64
    /// Edits of one session that wait for their call.
    private static let maxQueue = 8
    /// Until a node tries again to take the lease from another one.
    private static let retry = Duration.milliseconds(20)
    /// How much of an answer is read, in bytes: it holds a detail for a person.
    private static let maxAnswer = 64 * 1024
    /// How much of the detail is passed on, in characters.
    private static let maxDetail = 1024

    init(_ upstream: Upstream) { self.upstream = upstream }

    private var loop: EventLoop { upstream.loop }

    // MARK: The queue

    /// Waits for the lease to call the hook of a session. From any thread.
    ///
    /// - Parameter time: how long each call before it may take.
    func lease(of session: String, within time: Duration) -> Progress<HookLease, ConsentFailure> {
        let promise = Promise<HookLease, ConsentFailure>()
        loop.execute { [self] in enter(session, within: time, promise) }
        return .pending(promise)
    }

    private func enter(_ session: String, within time: Duration, _ promise: Promise<HookLease, ConsentFailure>) {
        if let queue = queues[session] {
            guard queue.waiting.count < Self.maxQueue else { return promise.keep(.failure(.busy)) }
            let timer = loop.schedule(after: time * Self.maxQueue) { self.giveUp(promise, session) }
            queues[session]!.waiting.append((promise, timer))
            return
        }
        let list = upstream.match(session)?.definition.name.text ?? ""
        guard calls[list] ?? 0 < Self.maxCalls else { return promise.keep(.failure(.busy)) }
        calls[list, default: 0] += 1
        queues[session] = Queue(list: list)
        acquireLease(session, within: time, promise)
    }

    private func giveUp(_ promise: Promise<HookLease, ConsentFailure>, _ session: String) {
        guard let index = queues[session]?.waiting.firstIndex(where: { $0.promise === promise }) else { return }
        queues[session]!.waiting.remove(at: index)
        promise.keep(.failure(.busy))
    }

    /// Takes the lease from the other nodes.
    private func acquireLease(
        _ session: String, within time: Duration, until deadline: Instant? = nil,
        _ promise: Promise<HookLease, ConsentFailure>
    ) {
        let (store, deadline) = (upstream.service.store, deadline ?? .now + time * 2)
        store.acquireLease(.hook, of: session, for: time * 2, isForced: false, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                switch result {
                case .success(.acquired): return promise.keep(.success(HookLease(session, self)))
                case .success where Instant.now < deadline:
                    loop.schedule(after: Self.retry) {
                        self.acquireLease(session, within: time, until: deadline, promise)
                    }
                    return
                case .success: promise.keep(.failure(.busy))
                case .failure(let failure): promise.keep(.failure(.leaseFailed(failure.summary)))
                }
                leave(session)
            }
        }
    }

    /// From any thread.
    fileprivate func end(_ session: String) {
        loop.execute { [self] in
            let store = upstream.service.store
            store.releaseLease(.hook, of: session, nil, next: .zero, on: loop).whenDone { [self] _ in
                loop.perform { self.leave(session) }
            }
        }
    }

    /// Lets the next one in the queue have the lease.
    private func leave(_ session: String) {
        guard queues[session]?.waiting.isEmpty == false else {
            guard let list = queues.removeValue(forKey: session)?.list else { return }
            calls[list] = calls[list].flatMap { $0 > 1 ? $0 - 1 : nil }
            return
        }
        let (promise, timer) = queues[session]!.waiting.removeFirst()
        // It holds the promise, and so would hold the lease.
        timer.cancel()
        acquireLease(session, within: upstream.match(session)?.definition.hook?.timeout ?? .seconds(1), promise)
    }

    // MARK: The call

    /// Asks the owner of a session's list whether edits count. From any thread.
    ///
    /// - Parameter list: its name in the file.
    func ask(
        _ hook: ListDefinition.Hook, of session: String, _ list: String, at url: String, id: String, _ payload: [UInt8]
    ) -> Progress<Void, ConsentFailure> {
        let promise = Promise<Void, ConsentFailure>()
        loop.execute { [self] in
            let signature = StandardWebhook.fields(
                id: id, seconds: Int(WallTime.now.seconds), body: payload, secret: hook.secret)
            let request = Transfer.Request(
                url: url, body: payload,
                fields: [RequestHeader(name: "Content-Type", value: "application/json")] + signature,
                timeout: hook.timeout, maxBytes: Self.maxAnswer, isCut: true)
            upstream.calls.start(request) { [self] in promise.keep(verdict($0, about: session, of: list)) }
        }
        return .pending(promise)
    }

    private func verdict(
        _ result: Result<Transfer.Answer, Transfer.Failure>, about session: String, of list: String
    ) -> Result<Void, ConsentFailure> {
        guard case .success(let answer) = result else { return .failure(.unavailable(retryAfter: nil)) }
        guard (200..<300).contains(answer.status) || (400..<500).contains(answer.status),
            answer.status != 408, answer.status != 429
        else { return .failure(.unavailable(retryAfter: answer.retryAfter)) }
        upstream.outages.hookDecided(answer.status, about: session, of: list)
        if answer.status < 300 { return .success(()) }
        return .failure(.refused(Self.detail(answer.body)))
    }

    /// Why the owner refuses: the detail of a problem (RFC 9457), or of any other object.
    private static func detail(_ body: [UInt8]) -> String? {
        guard let detail = JSONSlice.members(of: body)?["detail"]?.string, !detail.isEmpty else { return nil }
        return String(detail.prefix(maxDetail))
    }
}

/// The lease to call a session's hook and to commit what that agreed to. It ends with its last reference.
final class HookLease: Sendable {
    private let session: String
    private let calls: HookCalls

    fileprivate init(_ session: String, _ calls: HookCalls) { (self.session, self.calls) = (session, calls) }

    deinit { calls.end(session) }
}
