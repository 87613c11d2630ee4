import HTTPCore
import SnapshotKit

/// Calls of hooks: one a session at a time, wherever the session is served, and not too many of them. Confined to the
/// loop of its `Upstream`, but for what says otherwise.
final class HookCalls: @unchecked Sendable {
    private unowned let upstream: Upstream
    /// Those who want to call the hook of one session, but for the one who does.
    private var lines: [String: [(promise: Promise<HookTurn, Problem>, timer: Timer)]] = [:]
    /// Sessions whose hooks are being called.
    private var underWay = 0

    /// Calls of one node at a time.
    static let most = 64
    /// Edits of one session that wait for others.
    private static let longestLine = 8
    /// Until a node looks again whether another one's call is over.
    private static let look = Duration.milliseconds(20)
    /// The longest answer that is read, in bytes: it holds a detail for a person.
    private static let maxAnswer = 64 * 1024
    /// As much of that is passed on, in characters.
    private static let maxDetail = 1024

    init(_ upstream: Upstream) { self.upstream = upstream }

    private var loop: EventLoop { upstream.loop }

    // MARK: The line

    /// Waits for its turn to call the hook of a session. From any thread.
    ///
    /// - Parameter time: how long others may take.
    func turn(of session: String, within time: Duration) -> Progress<HookTurn, Problem> {
        let promise = Promise<HookTurn, Problem>()
        loop.execute { [self] in enter(session, within: time, promise) }
        return .pending(promise)
    }

    private func enter(_ session: String, within time: Duration, _ promise: Promise<HookTurn, Problem>) {
        if lines[session] != nil {
            guard lines[session]!.count < Self.longestLine else { return promise.keep(.failure(.hookBusy)) }
            let timer = loop.schedule(after: time * Self.longestLine) { self.giveUp(promise, session) }
            lines[session]!.append((promise, timer))
            return
        }
        guard underWay < Self.most else { return promise.keep(.failure(.hookBusy)) }
        underWay += 1
        lines[session] = []
        takeTurn(session, until: .now + time * 2, holding: time * 2, promise)
    }

    private func giveUp(_ promise: Promise<HookTurn, Problem>, _ session: String) {
        guard let index = lines[session]?.firstIndex(where: { $0.promise === promise }) else { return }
        lines[session]!.remove(at: index)
        promise.keep(.failure(.hookBusy))
    }

    /// Takes the turn from the other nodes.
    private func takeTurn(
        _ session: String, until deadline: Instant, holding time: Duration, _ promise: Promise<HookTurn, Problem>
    ) {
        let store = upstream.service.store
        store.takeTurn(.hook, of: session, for: time, isForced: false, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                switch result {
                case .success(.taken): promise.keep(.success(HookTurn(session, self)))
                case .success where Instant.now < deadline:
                    loop.schedule(after: Self.look) { self.takeTurn(session, until: deadline, holding: time, promise) }
                case .success:
                    leave(session)
                    promise.keep(.failure(.hookBusy))
                case .failure(let failure):
                    leave(session)
                    promise.keep(.failure(Problem(failure)))
                }
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

    /// Lets the next one in the line have the turn.
    private func leave(_ session: String) {
        guard lines[session]?.isEmpty == false else {
            lines[session] = nil
            underWay -= 1
            return
        }
        let (promise, timer) = lines[session]!.removeFirst()
        // It would hold the turn with the promise.
        timer.cancel()
        let time = upstream.match(session)?.definition.hook?.timeout ?? .seconds(1)
        takeTurn(session, until: .now + time * 2, holding: time * 2, promise)
    }

    // MARK: The call

    /// Asks the owner of a list whether edits count. From any thread.
    func ask(_ hook: ListDefinition.Hook, at url: String, id: String, _ payload: [UInt8]) -> Progress<Void, Problem> {
        let promise = Promise<Void, Problem>()
        loop.execute { [self] in
            let signature = StandardWebhook.fields(
                id: id, seconds: Int(WallTime.now.seconds), body: payload, secret: hook.secret)
            let request = Transfer.Request(
                url: url, body: payload,
                fields: [Field("Content-Type", "application/json")] + signature.map { Field($0.name, $0.value) },
                timeout: hook.timeout, maxBytes: Self.maxAnswer, isCut: true)
            upstream.calls.start(request) { promise.keep(Self.verdict($0)) }
        }
        return .pending(promise)
    }

    private static func verdict(_ result: Result<Transfer.Answer, Transfer.Failure>) -> Result<Void, Problem> {
        guard case .success(let answer) = result else { return .failure(.hookUnavailable()) }
        switch answer.status {
        case 200..<300: return .success(())
        case 408, 429: return .failure(.hookUnavailable(answer.retryAfter))
        case 400..<500: return .failure(Problem(.editRefused, detail(answer.body) ?? "the list's owner refuses it"))
        default: return .failure(.hookUnavailable(answer.retryAfter))
        }
    }

    /// What an owner says of its refusal, as a problem (RFC 9457) or any other object with a detail.
    private static func detail(_ body: [UInt8]) -> String? {
        guard let detail = JSONSlice.members(of: body)?["detail"]?.string, !detail.isEmpty else { return nil }
        return String(detail.prefix(maxDetail))
    }
}

/// The turn to call a session's hook, and to commit what that agreed to. It ends when nobody holds it any more.
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
