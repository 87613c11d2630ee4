import Dispatch
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension URLSession {
    /// Carries a request to the server and its answer back, until the task is cancelled.
    ///
    /// As `data(for:)`, but for one thing: there, on Linux, a task that is cancelled waits for the queue that is about
    /// to resume it, and that for the task, both for ever (swift-corelibs-foundation). Here nobody waits for the queue.
    func carry(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let carried = Carried()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                carried.begin(
                    dataTask(with: request) { data, response, error in
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
