import Foundation

#if canImport(Network)
    import Network
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

/// Notices reasons to ask again at once: a change of the network, or the app returning to the foreground.
final class Connectivity: @unchecked Sendable {
    /// Abandoned then: pauses after failures, and requests on connections that may be silently dead.
    let heldRequests = HeldRequests()

    #if canImport(Network)
        private let monitor = NWPathMonitor()
    #endif
    #if canImport(UIKit) && !os(watchOS)
        private var observer: (any NSObjectProtocol)?
    #endif

    init() {
        #if canImport(Network)
            // The first update is the current path.
            nonisolated(unsafe) var isKnown = false
            monitor.pathUpdateHandler = { [heldRequests] path in
                if isKnown, path.status == .satisfied { heldRequests.interrupt() }
                isKnown = true
            }
            monitor.start(queue: DispatchQueue(label: "diffserver.network"))
        #endif
        #if canImport(UIKit) && !os(watchOS)
            observer = NotificationCenter.default.addObserver(
                forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil
            ) { [heldRequests] _ in heldRequests.interrupt() }
        #endif
    }

    deinit {
        #if canImport(Network)
            monitor.cancel()
        #endif
        #if canImport(UIKit) && !os(watchOS)
            if let observer { NotificationCenter.default.removeObserver(observer) }
        #endif
    }
}

// MARK: - Held requests

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
