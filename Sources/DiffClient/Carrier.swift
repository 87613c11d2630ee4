import Dispatch
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carries the requests of all clients, and their streams, through one `URLSession`.
final class Carrier: Sendable {
    static let shared = Carrier()

    private let session: URLSession
    private let routes = Routes()

    /// Inboxes of streams by task identifier. `URLSession.bytes` would need none, but does not exist on Linux.
    private final class Routes: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        private let lock = NSLock()
        /// Protected by the lock.
        private var inboxes: [Int: NewsInbox] = [:]

        subscript(task: URLSessionTask) -> NewsInbox? {
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
        let inbox = NewsInbox()
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
