import Synchronization

/// An exchange that is answered later: exactly once, from any thread. If it is released unanswered, it answers 500.
/// Its connection reads no further request until then. A peer that has only shut down its own side is still answered.
public final class Pending: Sendable {
    /// The loop of the connection.
    public let loop: EventLoop
    private let isAnswered = Atomic<Bool>(false)
    private let link: PendingLink

    init(loop: EventLoop, _ link: PendingLink) { (self.loop, self.link) = (loop, link) }

    deinit { answer(Response(status: 500)) }

    /// Whether the connection is lost, so that nobody needs the answer.
    public var isGone: Bool { link.isLost }

    /// Sends the answer, or drops it if the connection is gone. Only the first call counts.
    public func answer(_ response: Response) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        loop.perform { [link] in link.deliver(response) }
    }

    /// Replaces the request's head by one that takes less memory, since the answer may take long.
    public func shortenHead(to head: RequestHead) { loop.perform { [link] in link.shortenHead(to: head) } }

    /// Calls `action` once, on the loop, if the connection is lost before the answer. A peer that has shut down its
    /// side may be gone or waiting: half a second later it is probed.
    public func onGone(_ action: @escaping @Sendable () -> Void) { loop.perform { [link] in link.register(action) } }
}

/// The loop's side of a pending exchange. The connection does not hold the `Pending`, so it is noticed if that goes.
final class PendingLink: @unchecked Sendable {
    private var connection: Connection?
    private var whenGone: (@Sendable () -> Void)?
    private let lost = Atomic<Bool>(false)
    /// A lost connection counts until its work is done: otherwise a client that never waits could queue any amount.
    private var connections: ConnectionCount?
    private var peerPermit: PeerPermit?

    /// From any thread.
    var isLost: Bool { lost.load(ordering: .relaxed) }

    init(_ connection: Connection) { self.connection = connection }

    deinit { connections?.subtract() }

    func deliver(_ response: Response) {
        whenGone = nil
        connection?.deliver(response)
        connection = nil
    }

    func shortenHead(to head: RequestHead) { connection?.shortenHead(to: head) }

    func register(_ action: @escaping @Sendable () -> Void) {
        // Once answered, there is no connection any more.
        if isLost { action() } else if connection != nil { whenGone = action }
    }

    func connectionClosed(_ peerPermit: consuming PeerPermit?) {
        self.peerPermit = peerPermit
        connections = connection?.shard.options.openConnections
        connections?.add()
        connection = nil
        lost.store(true, ordering: .relaxed)
        whenGone.take()?()
    }
}
