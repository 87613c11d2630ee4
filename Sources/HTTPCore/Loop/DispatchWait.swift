import CDiffSystem
import DiffClock
import Dispatch

/// Waits for a descriptor through Dispatch (`--event-loop dispatch`). Confined to its loop. The source's handler
/// suspends it until the loop waits again, so a descriptor that stays readable costs nothing meanwhile.
final class DispatchWait {
    private let queue = DispatchQueue(label: "poller")
    private let source: any DispatchSourceRead
    private let arrivals = DispatchSemaphore(value: 0)
    /// Whether the source has suspended itself, as far as the loop knows.
    private var isSuspended = false

    /// Takes ownership of the descriptor, and closes it once Dispatch has released it.
    init(_ descriptor: Int32) {
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [source, arrivals] in
            source.suspend()
            arrivals.signal()
        }
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
    }

    deinit {
        // On the queue, so that no handler is running. A suspended source must not be released.
        queue.sync { source.cancel() }
        if isSuspended || arrivals.wait(timeout: .now()) == .success { source.resume() }
    }

    func wait(until deadline: Instant) {
        if isSuspended { source.resume() }
        let left = max(0, deadline.nanoseconds - Instant.now.nanoseconds)
        let end = deadline == .never ? .distantFuture : DispatchTime.now() + .nanoseconds(Int(left))
        isSuspended = arrivals.wait(timeout: end) == .success
    }
}
