import Foundation

#if canImport(Network)
    import Network
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

/// Pauses that end early when there is a reason to try again: a network that is back, an app that is in front again.
final class Naps: @unchecked Sendable {
    private let lock = NSLock()
    /// The lock's.
    private var sleeping: [UUID: Task<Void, Never>] = [:]

    #if canImport(Network)
        private let monitor = NWPathMonitor()
    #endif
    #if canImport(UIKit) && !os(watchOS)
        private var observer: (any NSObjectProtocol)?
    #endif

    init() {
        #if canImport(Network)
            monitor.pathUpdateHandler = { [weak self] path in
                if path.status == .satisfied { self?.wake() }
            }
            monitor.start(queue: DispatchQueue(label: "diffserver.network"))
        #endif
        #if canImport(UIKit) && !os(watchOS)
            observer = NotificationCenter.default.addObserver(
                forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil
            ) { [weak self] _ in self?.wake() }
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

    /// Sleeps for seconds, until `wake`, or until the task is cancelled.
    func sleep(for seconds: TimeInterval) async {
        let id = UUID()
        let nap = lock.withLock {
            let nap = Task { await Task.pause(for: seconds) }
            sleeping[id] = nap
            return nap
        }
        await withTaskCancellationHandler {
            await nap.value
        } onCancel: {
            nap.cancel()
        }
        lock.withLock { sleeping[id] = nil }
    }

    /// Ends all pauses.
    func wake() {
        for nap in lock.withLock({ Array(sleeping.values) }) { nap.cancel() }
    }
}
