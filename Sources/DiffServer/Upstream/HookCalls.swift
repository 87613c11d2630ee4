import HTTPCore
import SnapshotKit

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
        var waiting: [(promise: Promise<HookTurn, Problem>, timer: Timer)] = []
    }

    /// Calls of one list in this node at a time.
    static let maxCalls = 64
    /// Edits of one session that wait for their call.
    private static let maxQueue = 8
    /// Until a node tries again to take the turn from another one.
    private static let retry = Duration.milliseconds(20)
    /// How much of an answer is read, in bytes: it holds a detail for a person.
    private static let maxAnswer = 64 * 1024
    /// How much of the detail is passed on, in characters.
    private static let maxDetail = 1024

    init(_ upstream: Upstream) { self.upstream = upstream }

    private var loop: EventLoop { upstream.loop }

    // MARK: The queue

    /// Waits for the turn to call the hook of a session. From any thread.
    ///
    /// - Parameter time: how long each call before it may take.
    func turn(of session: String, within time: Duration) -> Progress<HookTurn, Problem> {
        let promise = Promise<HookTurn, Problem>()
        loop.execute { [self] in enter(session, within: time, promise) }
        return .pending(promise)
    }

    private func enter(_ session: String, within time: Duration, _ promise: Promise<HookTurn, Problem>) {
        if let queue = queues[session] {
            guard queue.waiting.count < Self.maxQueue else { return promise.keep(.failure(.hookBusy)) }
            let timer = loop.schedule(after: time * Self.maxQueue) { self.giveUp(promise, session) }
            queues[session]!.waiting.append((promise, timer))
            return
        }
        let list = upstream.match(session)?.definition.name.text ?? ""
        guard calls[list] ?? 0 < Self.maxCalls else { return promise.keep(.failure(.hookBusy)) }
        calls[list, default: 0] += 1
        queues[session] = Queue(list: list)
        takeTurn(session, within: time, promise)
    }

    private func giveUp(_ promise: Promise<HookTurn, Problem>, _ session: String) {
        guard let index = queues[session]?.waiting.firstIndex(where: { $0.promise === promise }) else { return }
        queues[session]!.waiting.remove(at: index)
        promise.keep(.failure(.hookBusy))
    }

    /// Takes the turn from the other nodes.
    private func takeTurn(
        _ session: String, within time: Duration, until deadline: Instant? = nil, _ promise: Promise<HookTurn, Problem>
    ) {
        let (store, deadline) = (upstream.service.store, deadline ?? .now + time * 2)
        store.takeTurn(.hook, of: session, for: time * 2, isForced: false, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                switch result {
                case .success(.taken): return promise.keep(.success(HookTurn(session, self)))
                case .success where Instant.now < deadline:
                    loop.schedule(after: Self.retry) { self.takeTurn(session, within: time, until: deadline, promise) }
                    return
                case .success: promise.keep(.failure(.hookBusy))
                case .failure(let failure): promise.keep(.failure(Problem(failure)))
                }
                leave(session)
            }
        }
    }

    /// From any thread.
    fileprivate func end(_ session: String) {
        loop.execute { [self] in
            let store = upstream.service.store
            store.endTurn(.hook, of: session, nil, next: .zero, on: loop).whenDone { [self] _ in
                loop.perform { self.leave(session) }
            }
        }
    }

    /// Lets the next one in the queue have the turn.
    private func leave(_ session: String) {
        guard queues[session]?.waiting.isEmpty == false else {
            guard let list = queues.removeValue(forKey: session)?.list else { return }
            calls[list] = calls[list].flatMap { $0 > 1 ? $0 - 1 : nil }
            return
        }
        let (promise, timer) = queues[session]!.waiting.removeFirst()
        // It holds the promise, and so would hold the turn.
        timer.cancel()
        takeTurn(session, within: upstream.match(session)?.definition.hook?.timeout ?? .seconds(1), promise)
    }

    // MARK: The call

    /// Asks the owner of a session's list whether edits count. From any thread.
    ///
    /// - Parameter list: its name in the file.
    func ask(
        _ hook: ListDefinition.Hook, of session: String, _ list: String, at url: String, id: String, _ payload: [UInt8]
    ) -> Progress<Void, Problem> {
        let promise = Promise<Void, Problem>()
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
    ) -> Result<Void, Problem> {
        guard case .success(let answer) = result else { return .failure(.hookUnavailable()) }
        guard (200..<300).contains(answer.status) || (400..<500).contains(answer.status),
            answer.status != 408, answer.status != 429
        else { return .failure(.hookUnavailable(answer.retryAfter)) }
        upstream.outages.hookDecided(answer.status, about: session, of: list)
        if answer.status < 300 { return .success(()) }
        return .failure(Problem(.editRefused, Self.detail(answer.body) ?? "the list's owner refuses it"))
    }

    /// Why the owner refuses: the detail of a problem (RFC 9457), or of any other object.
    private static func detail(_ body: [UInt8]) -> String? {
        guard let detail = JSONSlice.members(of: body)?["detail"]?.string, !detail.isEmpty else { return nil }
        return String(detail.prefix(maxDetail))
    }
}

/// The turn to call a session's hook and to commit what that agreed to. It ends with its last reference.
final class HookTurn: Sendable {
    private let session: String
    private let calls: HookCalls

    fileprivate init(_ session: String, _ calls: HookCalls) { (self.session, self.calls) = (session, calls) }

    deinit { calls.end(session) }
}

extension Problem {
    fileprivate static var hookBusy: Problem {
        Problem(.hookUnavailable, "too many edits wait for the list's owner; try again")
    }

    fileprivate static func hookUnavailable(_ seconds: Int? = nil) -> Problem {
        Problem(
            .hookUnavailable, "the list's owner could not be asked; nothing was changed",
            retryAfter: min(seconds ?? 1, 3600))
    }
}
