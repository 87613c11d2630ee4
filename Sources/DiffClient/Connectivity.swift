import Foundation

#if canImport(Network)
    import Network
#endif

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

/// Notices reasons to ask again at once: a change of the network, or the app returning to the foreground. Knows what
/// the server cannot do.
final class Connectivity: @unchecked Sendable {
    /// How many reasons were noticed. A change ends pauses after failures, and requests on connections that may be
    /// silently dead.
    let reconnections = Watched(0)
    /// Whether the server has not refused `content=delta` yet.
    let serverKnowsDelta = Watched(true)

    private var ends: [() -> Void] = []

    init() {
        #if canImport(Network)
            let monitor = NWPathMonitor()
            // The first update is the current path.
            nonisolated(unsafe) var isKnown = false
            monitor.pathUpdateHandler = { [reconnections] path in
                if isKnown, path.status == .satisfied { reconnections.change { $0 += 1 } }
                isKnown = true
            }
            monitor.start(queue: DispatchQueue(label: "diffserver.network"))
            ends.append(monitor.cancel)
        #endif
        #if canImport(UIKit) && !os(watchOS)
            let observer = NotificationCenter.default.addObserver(
                forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil
            ) { [reconnections] _ in reconnections.change { $0 += 1 } }
            ends.append { NotificationCenter.default.removeObserver(observer) }
        #endif
    }

    deinit { for end in ends { end() } }
}
