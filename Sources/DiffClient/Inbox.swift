import Foundation

/// What one loop over `updates` waits for: news of its request, and whatever else wakes it. Nothing is lost between two
/// waits.
final class Inbox: @unchecked Sendable {
    /// Reads, passes on the bytes of a stream of events, and returns what comes at last.
    typealias Reading =
        @Sendable (_ events: @escaping @Sendable (Data) -> Void) async throws(ServerProblem) -> News.Item

    private let lock = NSLock()
    // Protected by the lock.
    private var request: Task<Void, Never>?
    /// Counts requests: what an abandoned one brings is dropped.
    private var number = 0
    private var news = News()
    /// Holds one wake-up, until somebody waits. A task that is cancelled as it waits ends it.
    private var signal = Inbox.makeSignal()

    deinit { request?.cancel() }

    /// When the last bytes of a stream arrived, if any have.
    var lastHeard: TimeInterval? { lock.withLock { news.lastHeard } }

    /// Abandons the request in progress for another one, or for none.
    func ask(_ reading: Reading?) {
        let abandoned = lock.withLock {
            defer { request = reading.map { begin($0, number) } }
            (number, news) = (number + 1, News())
            return request
        }
        abandoned?.cancel()
    }

    private func begin(_ reading: @escaping Reading, _ number: Int) -> Task<Void, Never> {
        Task { [weak self] in
            let end: News.Outcome
            do throws(ServerProblem) {
                end = .success(
                    try await reading { [weak self] bytes in self?.tell(number) { $0.take(bytes, at: .uptime) } })
            } catch { end = .failure(error) }
            self?.tell(number) { $0.finish(end) }
        }
    }

    private func tell(_ number: Int, _ change: (inout News) -> Void) {
        let (isReady, finished) = lock.withLock { () -> (Bool, Task<Void, Never>?) in
            guard number == self.number else { return (false, nil) }
            change(&news)
            return (!news.isEmpty, news.isOver ? request : nil)
        }
        finished?.cancel()
        if isReady { wake() }
    }

    /// Waits for the request's next news; nil if something else has happened, or the time has come.
    ///
    /// - Throws: `ServerProblem` if the request has failed.
    func next(until time: TimeInterval) async throws(ServerProblem) -> News.Item? {
        if let news = lock.withLock({ news.next() }) { return try news.get() }
        let clock = Task {
            await Task.pause(for: time - .uptime)
            if !Task.isCancelled { wake() }
        }
        var woken = lock.withLock { signal.stream.makeAsyncIterator() }
        if await woken.next() == nil { lock.withLock { signal = Self.makeSignal() } }
        clock.cancel()
        return try lock.withLock { news.next() }?.get()
    }

    /// Makes the loop look again.
    func wake() { lock.withLock { signal.continuation }.yield() }

    private static func makeSignal() -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }
}

/// Wakes loops when there is something else to ask for, or to show.
final class Bell: @unchecked Sendable {
    private let lock = NSLock()
    // Protected by the lock.
    private var listeners: [() -> Inbox?] = []
    private var rings = 0

    /// How often it was rung.
    var count: Int { lock.withLock { rings } }

    func ring() {
        let woken = lock.withLock {
            rings += 1
            return listeners.compactMap { $0() }
        }
        for inbox in woken { inbox.wake() }
    }

    /// From now on wakes whoever waits there.
    func wakes(_ inbox: Inbox) {
        lock.withLock {
            listeners.removeAll { $0() == nil }
            listeners.append { [weak inbox] in inbox }
        }
    }
}

// MARK: - News

/// What a request has brought and nobody has read yet.
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
    private var items: [Item] = []
    private var end: Outcome?
    /// Whether no more is wanted.
    private(set) var isOver = false
    /// When the last bytes arrived, if any have.
    private(set) var lastHeard: TimeInterval?

    /// Whether nothing is to be read.
    var isEmpty: Bool { items.isEmpty && end == nil }

    /// Takes the next of them.
    mutating func next() -> Outcome? {
        if !items.isEmpty { return .success(items.removeFirst()) }
        defer { end = nil }
        return end
    }

    /// Takes bytes of a stream.
    mutating func take(_ bytes: Data, at now: TimeInterval) {
        lastHeard = now
        for outcome in parser.read(bytes) where !isOver {
            guard case .success(let item) = outcome else {
                finish(outcome)
                continue
            }
            // Of several revisions only the last counts.
            if case (.revision, .revision?) = (item, items.last) { items.removeLast() }
            items.append(item)
        }
        if items.count(where: { if case .changes = $0 { true } else { false } }) > 1 {
            items = []
            finish(.success(.overrun))
        }
    }

    /// Ends after what has come so far, unless it is over already.
    mutating func finish(_ outcome: Outcome) {
        if !isOver { (isOver, end) = (true, outcome) }
    }
}

/// Parses server-sent events (HTML Living Standard §9.2) from pieces that may break anywhere.
struct EventParser {
    private var line: [UInt8] = []
    private var name = ""
    private var id = ""
    private var data: [UInt8]?

    /// Parses further bytes; returns what complete events say. O(n).
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
