import Foundation

#if canImport(Network)
    import Network
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

/// Says when there is a reason to ask anew: a network that is another one, an app that is in front again.
final class Connectivity: @unchecked Sendable {
    /// What is given up then: pauses after failures, and requests over a connection that may be dead and not say so.
    let held = HeldRequests()

    #if canImport(Network)
        private let monitor = NWPathMonitor()
    #endif
    #if canImport(UIKit) && !os(watchOS)
        private var observer: (any NSObjectProtocol)?
    #endif

    init() {
        #if canImport(Network)
            // It tells the path that there is, and then each other one.
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
