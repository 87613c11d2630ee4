import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A stream that is open, or a poll that is under way. It is given up with this object.
final class OpenRequest: Sendable {
    /// What comes of waiting for it.
    enum News: Sendable {
        case changes([UInt8])
        case revision(String)
        /// More came than was read: a new stream, from the revision that is shown, brings all of it in one step.
        case overrun
        /// There are no streams here, or something on the way holds them back.
        case unavailable
    }

    private let inbox: NewsInbox
    private let giveUp: @Sendable () -> Void

    /// - Parameter giveUp: ends what fills the inbox.
    init(_ inbox: NewsInbox, giveUp: @escaping @Sendable () -> Void) {
        self.inbox = inbox
        self.giveUp = giveUp
    }

    /// A poll, of which one answer comes.
    convenience init(asking: @escaping @Sendable () async throws(ServerProblem) -> [UInt8]) {
        let inbox = NewsInbox(longestStart: .infinity)
        let request = Task {
            do throws(ServerProblem) {
                inbox.take(answer: try await asking())
            } catch {
                inbox.fail(error)
            }
        }
        self.init(inbox) { request.cancel() }
    }

    deinit { giveUp() }

    /// Waits for the next event; nil when the task is cancelled, or so many seconds are over. Then nothing is lost.
    ///
    /// - Throws: `ServerProblem` when the stream has ended, or the server has fallen silent.
    func next(within seconds: TimeInterval? = nil) async throws(ServerProblem) -> News? {
        let clock = Task { [inbox] in
            if let seconds {
                await Task.pause(for: seconds)
                return inbox.interrupt()
            }
            while !Task.isCancelled, let left = inbox.secondsUntilSilent() { await Task.pause(for: left) }
        }
        defer { clock.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiting in
                inbox.wait(waiting)
                if Task.isCancelled { inbox.interrupt() }
            }
        } onCancel: {
            inbox.interrupt()
        }
        return try result?.get()
    }
}

/// What a request has brought and nobody has read yet.
final class NewsInbox: @unchecked Sendable {
    typealias Outcome = Result<OpenRequest.News, ServerProblem>

    /// How much is read of an answer that is no stream, but may be a problem.
    private static let longestProblem = 1 << 16

    private let longestStart, longestSilence: TimeInterval
    private let lock = NSLock()
    // All of these are the lock's.
    private var parser = EventParser()
    private var news: [OpenRequest.News] = []
    private var end: Outcome?
    private var waiting: CheckedContinuation<Outcome?, Never>?
    /// What is to be resumed when the lock is free.
    private var resumed: [(CheckedContinuation<Outcome?, Never>, Outcome?)] = []
    private var refusal: (response: HTTPURLResponse, body: Data)?
    private var hasBegun = false
    private var lastHeard = TimeInterval.uptime

    /// An inbox that is empty.
    ///
    /// - Parameters:
    ///   - longestStart: within how many seconds the first bytes come, which are sent at once.
    ///   - longestSilence: within how many seconds more comes; at least a comment, every 15 seconds.
    init(longestStart: TimeInterval = 5, longestSilence: TimeInterval = 45) {
        self.longestStart = longestStart
        self.longestSilence = longestSilence
    }

    /// Resumes one with the next event or the end; another that waits already is interrupted.
    func wait(_ continuation: CheckedContinuation<Outcome?, Never>) {
        locked {
            resume(with: nil)
            waiting = continuation
            deliver()
        }
    }

    /// Lets go who waits.
    func interrupt() {
        locked { resume(with: nil) }
    }

    /// For how long nothing may come from now on; nil at the end, which is now where that time is over.
    func secondsUntilSilent() -> TimeInterval? {
        locked {
            let left = lastHeard + (hasBegun ? longestSilence : longestStart) - .uptime
            if left > 0, end == nil { return left }
            finish(hasBegun ? .failure(ServerProblem(title: "The server fell silent")) : .success(.unavailable))
            return nil
        }
    }

    /// Takes in what a poll was answered.
    func take(answer: [UInt8]) {
        locked {
            news.append(.changes(answer))
            deliver()
        }
    }

    /// Ends it, since asking failed.
    func fail(_ problem: ServerProblem) { locked { finish(.failure(problem)) } }

    /// Takes the head of the answer in.
    func take(_ response: URLResponse) {
        locked {
            guard let response = response as? HTTPURLResponse else { return finish(.success(.unavailable)) }
            guard (200..<300).contains(response.statusCode) else { return refusal = (response, Data()) }
            let type = response.value(forHTTPHeaderField: "Content-Type") ?? ""
            if !type.hasPrefix("text/event-stream") { finish(.success(.unavailable)) }
        }
    }

    /// Takes bytes in; false if no more are wanted.
    func take(_ bytes: Data) -> Bool {
        locked {
            lastHeard = .uptime
            if let refusal {
                self.refusal?.body.append(bytes)
                return refusal.body.count < Self.longestProblem
            }
            hasBegun = true
            parser.read(bytes) { event in
                guard end == nil else { return }
                switch event {
                case .changes(let answer): news.append(.changes(answer))
                case .revision(let revision):
                    // Of several the last counts.
                    if case .revision = news.last { news.removeLast() }
                    news.append(.revision(revision))
                case .end(let problem): end = .failure(ServerProblem(json: Data(problem)))
                }
            }
            deliver()
            if news.count(where: { if case .changes = $0 { true } else { false } }) > 1 {
                news = []
                finish(.success(.overrun))
            }
            return end == nil
        }
    }

    /// The request is over.
    func finish(with error: (any Error)?) {
        locked {
            if let refusal, refusal.response.statusCode == 406 { return finish(.success(.unavailable)) }
            if let refusal { return finish(.failure(ServerProblem(refusal.response, refusal.body))) }
            let title = hasBegun ? "The stream broke off" : "No connection"
            finish(.failure(ServerProblem(title: title, detail: error?.localizedDescription)))
        }
    }

    /// Ends it behind what came before, unless it has ended already. In the lock.
    private func finish(_ outcome: Outcome) {
        end = end ?? outcome
        deliver()
    }

    /// Hands over what there is, if somebody waits. In the lock.
    private func deliver() {
        guard waiting != nil else { return }
        if let first = news.first {
            news.removeFirst()
            resume(with: .success(first))
        } else if let end {
            resume(with: end)
        }
    }

    /// Lets go who waits, when the lock is free. In the lock.
    private func resume(with outcome: Outcome?) {
        guard let waiting else { return }
        resumed.append((waiting, outcome))
        self.waiting = nil
    }

    /// Does `body` in the lock, and resumes behind it: a task that is cancelled meanwhile holds a lock that resuming it
    /// takes, and wants this one.
    private func locked<Value>(_ body: () -> Value) -> Value {
        let (value, resumed) = lock.withLock {
            let value = body()
            defer { self.resumed = [] }
            return (value, self.resumed)
        }
        for (waiting, outcome) in resumed { waiting.resume(returning: outcome) }
        return value
    }
}
