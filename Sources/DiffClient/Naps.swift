import Foundation

#if canImport(Network)
    import Network
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

/// Pauses that end early when there is a reason to try again: a network that is back, an app that is in front again.
final class Naps: @unchecked Sendable {
    private let sleeping = HeldRequests()

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
        _ = try? await sleeping.answer(since: sleeping.moment) { () throws(ServerProblem) in
            await Task.pause(for: seconds)
            return nil
        }
    }

    /// Ends all pauses.
    func wake() { sleeping.interrupt() }
}
