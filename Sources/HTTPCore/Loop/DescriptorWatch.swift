import CDiffSystem
import Glibc

/// A descriptor of a library that reads and writes by itself, watched by a loop: the library is told in every turn in
/// which there is something to do (level-triggered, see epoll(7)). Confined to the loop.
public final class DescriptorWatch: EventReceiver {
    /// What a descriptor is ready for, or is watched for.
    public struct Readiness: OptionSet, Sendable {
        /// The bits of epoll(7).
        public let rawValue: UInt32

        /// What these bits of epoll(7) say.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Something can be read.
        public static let input = Readiness(rawValue: EPOLLIN.rawValue)
        /// There is room to write.
        public static let output = Readiness(rawValue: EPOLLOUT.rawValue)
        /// It failed, or its peer hung up. Told whether or not it is watched for.
        public static let failure = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    }

    private let descriptor: Int32
    private let loop: EventLoop
    private let isReady: (Readiness) -> Void
    private var isWatched = false

    /// One that waits for nothing yet.
    public init(_ descriptor: Int32, on loop: EventLoop, _ isReady: @escaping (Readiness) -> Void) {
        (self.descriptor, self.loop, self.isReady) = (descriptor, loop, isReady)
    }

    /// Waits for these from now on; false if the kernel has no room for the descriptor.
    public func wait(for readiness: Readiness) -> Bool {
        precondition(loop.isCurrent, "confined to its loop")
        guard isWatched else {
            isWatched = loop.watch(descriptor, self, events: readiness.rawValue)
            return isWatched
        }
        return loop.rewatch(descriptor, events: readiness.rawValue)
    }

    /// Waits no more. Called before the descriptor is closed.
    public func end() {
        guard exchange(&isWatched, with: false) else { return }
        loop.unwatch(descriptor)
    }

    func receive(events: UInt32) { if isWatched { isReady(Readiness(rawValue: events)) } }
}
