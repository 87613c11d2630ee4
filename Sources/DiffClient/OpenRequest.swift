import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An open stream, or a poll in progress. Releasing it abandons the request.
final class OpenRequest: Sendable {
    /// What it brings.
    enum Update: Sendable {
        case changes([UInt8])
        case revision(String)
        /// More arrived than was read: a new stream, from the revision shown, brings all of it in one step.
        case overrun
        /// The server has no streams, or something on the way holds them back.
        case unavailable
    }

    private let inbox: UpdateInbox
    private let giveUp: @Sendable () -> Void

    /// - Parameter giveUp: ends the request that fills the inbox.
    init(_ inbox: UpdateInbox, giveUp: @escaping @Sendable () -> Void) {
        self.inbox = inbox
        self.giveUp = giveUp
    }

    /// A poll, which brings one answer.
    convenience init(asking: @escaping @Sendable () async throws(ServerProblem) -> [UInt8]) {
        let inbox = UpdateInbox(longestStart: .infinity)
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

    /// Waits for the next update; nil if the task is cancelled or the time is over, in which case nothing is lost.
    ///
    /// - Throws: `ServerProblem` if the stream has ended, or the server has fallen silent.
    func next(within seconds: TimeInterval? = nil) async throws(ServerProblem) -> Update? {
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

/// Updates that a request has brought and nobody has read yet.
final class UpdateInbox: @unchecked Sendable {
    typealias Outcome = Result<OpenRequest.Update, ServerProblem>

    /// How much is read of a problem, in bytes.
    private static let longestProblem = 1 << 16

    private let longestStart, longestSilence: TimeInterval
    private let lock = NSLock()
    // Protected by the lock.
    private var parser = EventParser()
    private var updates: [OpenRequest.Update] = []
    private var end: Outcome?
    private var waiting: CheckedContinuation<Outcome?, Never>?
    /// To be resumed once the lock is released.
    private var resumed: [(CheckedContinuation<Outcome?, Never>, Outcome?)] = []
    private var refusal: (response: HTTPURLResponse, body: Data)?
    private var hasBegun = false
    private var lastHeard = TimeInterval.uptime

    /// - Parameters:
    ///   - longestStart: seconds to wait for the first bytes, which the server sends at once.
    ///   - longestSilence: seconds to wait for more; the server sends a comment every 15 seconds.
    init(longestStart: TimeInterval = 5, longestSilence: TimeInterval = 45) {
        self.longestStart = longestStart
        self.longestSilence = longestSilence
    }

    /// Resumes the continuation with the next update or the end. One that waits already is interrupted.
    func wait(_ continuation: CheckedContinuation<Outcome?, Never>) {
        locked {
            resume(with: nil)
            waiting = continuation
            deliver()
        }
    }

    /// Resumes whoever waits, without an update.
    func interrupt() {
        locked { resume(with: nil) }
    }

    /// How much longer the server may be silent; nil once the request has ended. Ends it when that time is over.
    func secondsUntilSilent() -> TimeInterval? {
        locked {
            let left = lastHeard + (hasBegun ? longestSilence : longestStart) - .uptime
            if left > 0, end == nil { return left }
            finish(hasBegun ? .failure(ServerProblem(title: "The server fell silent")) : .success(.unavailable))
            return nil
        }
    }

    /// Takes the answer to a poll.
    func take(answer: [UInt8]) {
        locked {
            updates.append(.changes(answer))
            deliver()
        }
    }

    /// Ends with a failure.
    func fail(_ problem: ServerProblem) { locked { finish(.failure(problem)) } }

    /// Takes the head of an answer.
    func take(_ response: URLResponse) {
        locked {
            guard let response = response as? HTTPURLResponse else { return finish(.success(.unavailable)) }
            guard (200..<300).contains(response.statusCode) else { return refusal = (response, Data()) }
            let type = response.value(forHTTPHeaderField: "Content-Type") ?? ""
            if !type.hasPrefix("text/event-stream") { finish(.success(.unavailable)) }
        }
    }

    /// Takes bytes; false if no more are wanted.
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
                case .changes(let answer): updates.append(.changes(answer))
                case .revision(let revision):
                    // Only the last of several counts.
                    if case .revision = updates.last { updates.removeLast() }
                    updates.append(.revision(revision))
                case .end(let problem): end = .failure(ServerProblem(json: Data(problem)))
                }
            }
            deliver()
            if updates.count(where: { if case .changes = $0 { true } else { false } }) > 1 {
                updates = []
                finish(.success(.overrun))
            }
            return end == nil
        }
    }

    /// The request has ended.
    func finish(with error: (any Error)?) {
        locked {
            if let refusal, refusal.response.statusCode == 406 { return finish(.success(.unavailable)) }
            if let refusal { return finish(.failure(ServerProblem(refusal.response, refusal.body))) }
            let title = hasBegun ? "The stream broke off" : "No connection"
            finish(.failure(ServerProblem(title: title, detail: error?.localizedDescription)))
        }
    }

    /// Ends after the updates so far, unless ended already. Requires the lock.
    private func finish(_ outcome: Outcome) {
        end = end ?? outcome
        deliver()
    }

    /// Delivers the next update or the end, if somebody waits. Requires the lock.
    private func deliver() {
        guard waiting != nil else { return }
        if let first = updates.first {
            updates.removeFirst()
            resume(with: .success(first))
        } else if let end {
            resume(with: end)
        }
    }

    /// Resumes whoever waits, once the lock is released. Requires the lock.
    private func resume(with outcome: Outcome?) {
        guard let waiting else { return }
        resumed.append((waiting, outcome))
        self.waiting = nil
    }

    /// Runs `body` with the lock, and resumes continuations after it: a task being cancelled holds a lock that resuming
    /// it needs, and wants this one.
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

// MARK: - Events

/// Parses server-sent events (HTML Living Standard §9.2) from pieces that may break anywhere.
struct EventParser {
    /// An event of a stream.
    enum Event: Sendable, Equatable {
        /// An answer, as JSON.
        case changes([UInt8])
        /// The reader has this revision now, but nothing that it shows has changed.
        case revision(String)
        /// Why the stream ends, as a problem in JSON.
        case end([UInt8])
    }

    private var line: [UInt8] = []
    private var name = ""
    private var id = ""
    private var data: [UInt8]?

    /// Parses further bytes, and passes complete events to `take`. O(n).
    mutating func read(_ piece: some Sequence<UInt8>, _ take: (Event) -> Void) {
        for byte in piece {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if line.isEmpty { end(take) } else { field() }
            line.removeAll(keepingCapacity: true)
        }
    }

    /// Takes a line; one without a name is a comment.
    private mutating func field() {
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "id": id = String(decoding: value, as: UTF8.self)
        case "data": data = data.map { $0 + [UInt8(ascii: "\n")] + value } ?? Array(value)
        default: break
        }
    }

    private mutating func end(_ take: (Event) -> Void) {
        defer { (name, id, data) = ("", "", nil) }
        switch (name, data) {
        case ("changes", let data?): take(.changes(data))
        case ("end", let data?): take(.end(data))
        case (_, nil) where !id.isEmpty: take(.revision(id))
        default: break
        }
    }
}
