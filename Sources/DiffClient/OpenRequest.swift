import Foundation

/// A stream, or a poll in progress. Releasing it abandons the request.
final class OpenRequest: Sendable {
    /// Reads a request's answer. Passes the bytes of a stream to `events` until that returns false, and returns the
    /// last news.
    typealias Reading =
        @Sendable (_ events: @escaping @Sendable (Data) -> Bool) async throws(ServerProblem) -> News.Item

    let news = Watched(News()) { !$0.isEmpty }
    private let task: Task<Void, Never>

    init(waking alarm: Alarm, _ reading: @escaping Reading) {
        news.wakes(alarm)
        task = Task { [news] in
            let end: News.Outcome
            do throws(ServerProblem) {
                end = .success(try await reading { bytes in news.change { $0.take(bytes, at: .uptime) } })
            } catch { end = .failure(error) }
            news.change { $0.finish(end) }
        }
    }

    deinit { task.cancel() }

    func next() -> News.Outcome? { news.change { $0.next() } }
}

// MARK: - Waking loops

/// Wakes a waiting loop. If the loop is not waiting, its next wait ends at once.
struct Alarm: Sendable {
    private let signal = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    fileprivate var bell: AsyncStream<Void>.Continuation { signal.continuation }

    /// Waits for the alarm, or until a time. Cancelling a waiting task ends the alarm for good.
    func wait(until time: TimeInterval) async {
        let clock = Task { [bell] in
            await Task.pause(for: time - .uptime)
            if !Task.isCancelled { bell.yield() }
        }
        for await _ in signal.stream { break }
        clock.cancel()
    }
}

/// A value that changes while loops wait for it.
final class Watched<Value: Sendable>: @unchecked Sendable {
    /// Whether a change wakes the loops.
    private let isDue: @Sendable (Value) -> Bool
    private let lock = NSLock()
    // Protected by the lock.
    private var current: Value
    private var bells: [AsyncStream<Void>.Continuation] = []

    init(_ value: Value, wakesIf isDue: @escaping @Sendable (Value) -> Bool = { _ in true }) {
        (current, self.isDue) = (value, isDue)
    }

    var value: Value { lock.withLock { current } }

    @discardableResult
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.withLock {
            defer { if isDue(current) { wake() } }
            return body(&current)
        }
    }

    /// Adds a loop to be woken by changes.
    func wakes(_ loop: Alarm) {
        lock.withLock {
            wake()
            bells.append(loop.bell)
        }
    }

    /// Wakes the loops, and forgets those that have ended. Requires the lock.
    private func wake() { bells.removeAll { if case .terminated = $0.yield() { true } else { false } } }
}

// MARK: - News

/// News of a request, still unread.
struct News: Sendable {
    enum Item: Sendable, Equatable {
        /// An answer, as JSON.
        case changes([UInt8])
        /// The reader has this revision now, but nothing that it shows has changed.
        case revision(String)
        /// More arrived than was read: a new stream, from the revision shown, brings all of it in one step.
        case overrun
        /// The server has no streams, or something on the way holds them back.
        case unavailable
    }

    typealias Outcome = Result<Item, ServerProblem>

    private var parser = EventParser()
    private var queue: [Outcome] = []
    /// Whether no more news is wanted.
    private var isOver = false
    /// When the last bytes of a stream arrived, if any have.
    private(set) var lastHeard: TimeInterval?

    var isEmpty: Bool { queue.isEmpty }

    mutating func next() -> Outcome? { isEmpty ? nil : queue.removeFirst() }

    /// Takes bytes of a stream; returns whether more are wanted.
    mutating func take(_ bytes: Data, at now: TimeInterval) -> Bool {
        lastHeard = now
        for outcome in parser.read(bytes) where !isOver {
            // Of several revisions only the last counts.
            if case (.success(.revision), .success(.revision)?) = (outcome, queue.last) { queue.removeLast() }
            queue.append(outcome)
            if case .failure = outcome { isOver = true }
        }
        if queue.count(where: { if case .success(.changes) = $0 { true } else { false } }) > 1 {
            (queue, isOver) = ([.success(.overrun)], true)
        }
        return !isOver
    }

    /// Ends after the news so far, unless it is over already.
    mutating func finish(_ outcome: Outcome) {
        if !isOver { queue.append(outcome) }
        isOver = true
    }
}

/// Parses server-sent events (HTML Living Standard §9.2) from pieces that may break anywhere.
struct EventParser {
    private var line: [UInt8] = []
    private var name = ""
    private var id = ""
    private var data: [UInt8]?

    /// Parses further bytes; returns the news in complete events. O(n).
    mutating func read(_ piece: some Sequence<UInt8>) -> [News.Outcome] {
        var outcomes: [News.Outcome] = []
        for byte in piece {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if !line.isEmpty { field() } else if let outcome = end() { outcomes.append(outcome) }
            line.removeAll(keepingCapacity: true)
        }
        return outcomes
    }

    /// Processes a line; a line without a name is a comment.
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

    private mutating func end() -> News.Outcome? {
        defer { (name, id, data) = ("", "", nil) }
        return switch (name, data) {
        case ("changes", let data?): .success(.changes(data))
        case ("end", let data?): .failure(ServerProblem(json: Data(data)))
        case (_, nil) where !id.isEmpty: .success(.revision(id))
        default: nil
        }
    }
}
