import Foundation

/// Carries the requests of all clients, and their streams, through one `URLSession`.
///
/// Uses a delegate: `URLSession.bytes` does not exist on Linux, and `URLSession.data(for:)` deadlocks there when it is
/// cancelled (swift-corelibs-foundation).
final class Carrier: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    static let shared = Carrier()

    /// No cache, no cookies, and many connections per server: each stream and each held request occupies one, and with
    /// the usual six, the seventh session would starve.
    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = 64
        return URLSession(configuration: configuration, delegate: shared, delegateQueue: nil)
    }()

    private struct Answer {
        var body = Data()
        let events: (@Sendable (Data) -> Bool)?
        let continuation: CheckedContinuation<(Data, URLResponse), any Error>

        /// Keeps only the beginning of an answer that is not the requested stream.
        mutating func take(_ data: Data) { if events == nil || body.count < 1 << 16 { body.append(data) } }
    }

    private let lock = NSLock()
    /// By task identifier. Protected by the lock.
    private var answers: [Int: Answer] = [:]

    /// Sends a request, and returns its answer. Ends early if the task is cancelled. The bytes of a stream of events go
    /// to `events`, until it returns false, and not into the body.
    func carry(_ request: URLRequest, events: (@Sendable (Data) -> Bool)? = nil) async throws -> (Data, URLResponse) {
        let task = Self.session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                lock.withLock { answers[task.taskIdentifier] = Answer(events: events, continuation: continuation) }
                task.resume()
                // A cancellation before the answer was registered had no effect.
                if Task.isCancelled { cancel(task) }
            }
        } onCancel: {
            cancel(task)
        }
    }

    /// Cancels a request in progress, between two calls of the delegate: on Linux, the process ends if a task completes
    /// meanwhile (swift-corelibs-foundation), and a cancelled task waits for the queue that is about to resume it.
    private func cancel(_ task: URLSessionTask) {
        Self.session.delegateQueue.addOperation {
            if self.lock.withLock({ self.answers[task.taskIdentifier] != nil }) { task.cancel() }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isStream = (dataTask.response as? HTTPURLResponse)?.isEventStream ?? false
        let events = lock.withLock { () -> (@Sendable (Data) -> Bool)? in
            if isStream, let events = answers[dataTask.taskIdentifier]?.events { return events }
            answers[dataTask.taskIdentifier]?.take(data)
            return nil
        }
        if events?(data) == false { cancel(dataTask) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let answer = lock.withLock({ answers.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let response = task.response, error == nil {
            answer.continuation.resume(returning: (answer.body, response))
        } else {
            answer.continuation.resume(throwing: error ?? URLError(.unknown))
        }
    }
}

extension HTTPURLResponse {
    var contentType: String { value(forHTTPHeaderField: "Content-Type") ?? "" }
    var isEventStream: Bool { statusCode == 200 && contentType.hasPrefix("text/event-stream") }
}
