import CDiffSystem
import Glibc

/// Watches a descriptor for a library that does its own reading and writing. Level-triggered (epoll(7)): the library is
/// called again for as long as the descriptor is ready. Confined to the loop.
///
/// The kernel reports the descriptor once, and again only after that has been handled. Otherwise, in a loop too busy to
/// handle all events in one turn, a descriptor that is always ready would be queued again in every turn, ahead of those
/// that become ready later.
public final class DescriptorWatch: EventReceiver {
    /// What a descriptor is ready for, or watched for.
    public struct Readiness: OptionSet, Sendable {
        /// The bits of epoll(7).
        public let rawValue: UInt32

        /// Readiness from the bits of epoll(7).
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Ready to read.
        public static let input = Readiness(rawValue: EPOLLIN.rawValue)
        /// Ready to write.
        public static let output = Readiness(rawValue: EPOLLOUT.rawValue)
        /// Failed, or hung up by the peer. Always reported.
        public static let failure = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    }

    private let descriptor: Int32
    private let loop: EventLoop
    private let isReady: (Readiness) -> Void
    private var isWatched = false
    private var awaited: Readiness = []

    /// A watch that waits for nothing yet.
    public init(_ descriptor: Int32, on loop: EventLoop, _ isReady: @escaping (Readiness) -> Void) {
        (self.descriptor, self.loop, self.isReady) = (descriptor, loop, isReady)
    }

    /// Waits for these from now on; false if the kernel has no memory for the descriptor.
    public func wait(for readiness: Readiness) -> Bool {
        precondition(loop.isCurrent, "confined to its loop")
        awaited = readiness
        guard isWatched else {
            isWatched = loop.watch(descriptor, self, events: oneEvent)
            return isWatched
        }
        return loop.rewatch(descriptor, events: oneEvent)
    }

    private var oneEvent: UInt32 { awaited.rawValue | EPOLLONESHOT.rawValue }

    /// Ends the watch. Call it before closing the descriptor.
    public func end() {
        guard exchange(&isWatched, with: false) else { return }
        loop.unwatch(descriptor)
    }

    func receive(events: UInt32) {
        guard isWatched else { return }
        isReady(Readiness(rawValue: events))
        if isWatched { _ = loop.rewatch(descriptor, events: oneEvent) }
    }
}
