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
    let held = HeldRequests()

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
            monitor.pathUpdateHandler = { [held] path in
                if isKnown, path.status == .satisfied { held.interrupt() }
                isKnown = true
            }
            monitor.start(queue: DispatchQueue(label: "diffserver.network"))
        #endif
        #if canImport(UIKit) && !os(watchOS)
            observer = NotificationCenter.default.addObserver(
                forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil
            ) { [held] _ in held.interrupt() }
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
