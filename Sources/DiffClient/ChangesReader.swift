import Dispatch
import Foundation
import SnapshotKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The request by which one iteration reads changes. It is started when somebody waits, and replaced when other rows
/// are to be followed or the client reconnects. A wait may be abandoned, to show an edit, and resumed: nothing is asked
/// twice or lost.
final class ChangesReader: @unchecked Sendable {
    /// How to ask.
    enum Mode: Sendable, Equatable {
        case stream
        /// By a request that the server may hold for so many seconds.
        case poll(TimeInterval)
    }

    /// What a request depends on.
    private struct Terms: Equatable {
        let rows: StateWindow?
        /// Changes when the client reconnects.
        let generation: Int
    }

    /// A request in progress.
    private struct Open {
        let request: OpenRequest
        let terms: Terms
        let mode: Mode
        let start = TimeInterval.uptime
        var isSettled: Bool
    }

    private let lock = NSLock()
    /// Protected by the lock.
    private var open: Open?

    /// How it is asking, and since when.
    var mode: (Mode, start: TimeInterval)? { lock.withLock { open.map { ($0.mode, $0.start) } } }

    /// Whether the request has shown that there is a session: if so, a stream sends the reader's revision at once.
    var isSettled: Bool { lock.withLock { open?.isSettled ?? false } }

    /// Abandons the request.
    func close() { lock.withLock { open = nil } }

    /// Waits for the next update; nil if that took longer than `seconds`, or the task was cancelled.
    ///
    /// - Parameters:
    ///   - rows: the rows to follow; nil for all.
    ///   - revision: the base of a new request.
    ///   - way: how to ask, if there is no request yet.
    func next(
        of client: ListClient, rows: StateWindow?, since revision: String?, by mode: Mode, within seconds: TimeInterval?
    ) async throws(ServerProblem) -> OpenRequest.Update? {
        let terms = Terms(rows: rows, generation: client.connectivity.heldRequests.generation)
        let current = lock.withLock { open?.terms == terms ? open?.request : nil }
        let request: OpenRequest
        if let current {
            request = current
        } else {
            request =
                switch mode {
                case .stream: Carrier.shared.open(try await client.streamRequest(since: revision, in: rows))
                case .poll(let wait):
                    OpenRequest { () throws(ServerProblem) in
                        try await client.changes(since: revision, wait: wait, in: rows)
                    }
                }
            lock.withLock { open = Open(request: request, terms: terms, mode: mode, isSettled: mode != .stream) }
        }
        let update = try await request.next(within: seconds)
        if update != nil { lock.withLock { open?.isSettled = true } }
        return update
    }
}

// MARK: - Carrying requests

/// Carries the requests of all clients, and their streams, through one `URLSession`.
final class Carrier: Sendable {
    static let shared = Carrier()

    private let session: URLSession
    private let routes = Routes()

    /// Inboxes of streams by task identifier. `URLSession.bytes` would need none, but does not exist on Linux.
    private final class Routes: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        private let lock = NSLock()
        /// Protected by the lock.
        private var inboxes: [Int: UpdateInbox] = [:]

        subscript(task: URLSessionTask) -> UpdateInbox? {
            get { lock.withLock { inboxes[task.taskIdentifier] } }
            set { lock.withLock { inboxes[task.taskIdentifier] = newValue } }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            self[dataTask]?.take(response)
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            guard let inbox = self[dataTask], !inbox.take(data) else { return }
            DispatchQueue.global().async { dataTask.cancel() }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            self[task]?.finish(with: error)
            self[task] = nil
        }
    }

    /// No cache, no cookies, and many connections per server: each stream and each held request occupies one, and with
    /// the usual six, the seventh session would starve.
    private init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = 64
        session = URLSession(configuration: configuration, delegate: routes, delegateQueue: nil)
    }

    /// Opens a stream.
    func open(_ request: URLRequest) -> OpenRequest {
        let task = session.dataTask(with: request)
        let inbox = UpdateInbox()
        routes[task] = inbox
        task.resume()
        return OpenRequest(inbox) { DispatchQueue.global().async { task.cancel() } }
    }

    /// Sends a request and waits for its answer, until the task is cancelled.
    ///
    /// Like `URLSession.data(for:)`, which deadlocks on Linux (swift-corelibs-foundation): there a cancelled task waits
    /// for the queue that is about to resume it, and the queue for the task.
    func carry(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let carried = Carried()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                carried.begin(
                    session.dataTask(with: request) { data, response, error in
                        if let data, let response {
                            continuation.resume(returning: (data, response))
                        } else {
                            continuation.resume(throwing: error ?? URLError(.unknown))
                        }
                    })
            }
        } onCancel: {
            DispatchQueue.global().async { carried.cancel() }
        }
    }
}

/// A request that may be cancelled before it is sent.
private final class Carried: @unchecked Sendable {
    private let lock = NSLock()
    // Protected by the lock.
    private var task: URLSessionTask?
    private var isCancelled = false

    func begin(_ task: URLSessionTask) {
        let isCancelled = lock.withLock {
            self.task = task
            return self.isCancelled
        }
        task.resume()
        if isCancelled { task.cancel() }
    }

    func cancel() {
        let task = lock.withLock {
            isCancelled = true
            return self.task
        }
        task?.cancel()
    }
}
