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

    /// Streams by the numbers of their tasks. `URLSession.bytes` would do without, and is not there on Linux.
    private final class Routes: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        private let lock = NSLock()
        /// The lock's.
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

    /// Without cache and cookies, and with connections for many sessions of one server: each stream and each held
    /// request occupies one, and the usual six would let the seventh session starve.
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

    /// Carries a request to the server and its answer back, until the task is cancelled.
    ///
    /// As `URLSession.data(for:)`, but for one thing: there, on Linux, a task that is cancelled waits for the queue
    /// that is about to resume it, and that for the task, both forever (swift-corelibs-foundation). Here nobody waits.
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

/// A request that may be cancelled before it has begun.
private final class Carried: @unchecked Sendable {
    private let lock = NSLock()
    // Both are the lock's.
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
