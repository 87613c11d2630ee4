import Foundation

/// Requests that the server holds while nothing changes, to be abandoned when there is something else to ask or to
/// show.
final class HeldRequests: @unchecked Sendable {
    private let lock = NSLock()
    // Protected by the lock.
    private var interruptions = 0
    private var requests: [UUID: @Sendable () -> Void] = [:]

    /// How often `interrupt` was called.
    var generation: Int { lock.withLock { interruptions } }

    /// Abandons the requests in progress.
    func interrupt() {
        let abandoned = lock.withLock {
            interruptions += 1
            return requests.values
        }
        for cancel in abandoned { cancel() }
    }

    /// Asks; nil if requests were abandoned since `generation` and no answer came.
    func answer<Answer: Sendable>(
        since generation: Int, asking: @escaping @Sendable () async throws(ServerProblem) -> Answer?
    ) async throws(ServerProblem) -> Answer? {
        let id = UUID()
        let started = lock.withLock {
            guard generation == interruptions else { return nil as Task<Answer?, any Error>? }
            let request = Task { try await asking() }
            requests[id] = { request.cancel() }
            return request
        }
        guard let request = started else { return nil }
        let result = await withTaskCancellationHandler {
            await request.result
        } onCancel: {
            request.cancel()
        }
        let isWanted = lock.withLock {
            requests[id] = nil
            return generation == interruptions
        }
        do {
            return try result.get()
        } catch {
            guard isWanted else { return nil }
            throw error as? ServerProblem ?? ServerProblem(title: "No connection", detail: "\(error)")
        }
    }
}
