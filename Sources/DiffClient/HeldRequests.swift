import Foundation

/// Requests that the server holds while nothing changes. They are given up when something else is to be asked or shown.
final class HeldRequests: @unchecked Sendable {
    private let lock = NSLock()
    // All of these are the lock's.
    private var interruptions = 0
    private var requests: [UUID: @Sendable () -> Void] = [:]

    /// How often requests were given up so far.
    var moment: Int { lock.withLock { interruptions } }

    /// Gives up those that are under way.
    func interrupt() {
        let given = lock.withLock {
            interruptions += 1
            return Array(requests.values)
        }
        for giveUp in given { giveUp() }
    }

    /// Asks; nil if requests were given up since `moment`, and no answer came.
    func answer<Answer: Sendable>(
        since moment: Int, asking: @escaping @Sendable () async throws(ServerProblem) -> Answer?
    ) async throws(ServerProblem) -> Answer? {
        let id = UUID()
        let started = lock.withLock {
            guard moment == interruptions else { return nil as Task<Answer?, any Error>? }
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
            return moment == interruptions
        }
        do {
            return try result.get()
        } catch {
            guard isWanted else { return nil }
            throw error as? ServerProblem ?? ServerProblem(title: "No connection", detail: "\(error)")
        }
    }
}
