import Synchronization

/// An exchange whose answer comes later: exactly one answer, from any thread.
///
/// Its connection reads no further request until then, so pipelined answers stay in order. One that is forgotten without an answer
/// answers 500 itself.
public final class Pending: Sendable {
    /// The loop of the connection.
    public let loop: EventLoop
    private let isAnswered = Atomic<Bool>(false)
    private let link: PendingLink

    init(loop: EventLoop, _ link: PendingLink) {
        self.loop = loop
        self.link = link
    }

    deinit {
        answer(Response(status: 500))
    }

    /// Gives the answer. Dropped if the connection is gone; every call behind the first is ignored.
    public func answer(_ response: Response) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        if loop.isCurrent { link.deliver(response) } else { loop.execute { [link] in link.deliver(response) } }
    }

    /// Has `action` called, on the loop and once, if the peer goes away before the answer: its connection is lost, or it sends nothing
    /// more, which is how a client that has given up looks. An answer still reaches a peer that has only shut its own side.
    public func onGone(_ action: @escaping @Sendable () -> Void) {
        if loop.isCurrent { link.register(action) } else { loop.execute { [link] in link.register(action) } }
    }
}

/// The loop's end of a pending exchange. The connection holds this and not the `Pending`, so that one that the service forgot is noticed.
/// Only the loop touches it.
final class PendingLink: @unchecked Sendable {
    private var connection: Connection?
    private var whenGone: (@Sendable () -> Void)?
    private var hasLeft = false

    init(_ connection: Connection) {
        self.connection = connection
    }

    func deliver(_ response: Response) {
        whenGone = nil
        connection?.deliver(response)
        connection = nil
    }

    func register(_ action: @escaping @Sendable () -> Void) {
        if hasLeft { action() } else { whenGone = action }
    }

    /// The peer has shut its side; an answer can still reach it.
    func peerLeft() {
        hasLeft = true
        let action = whenGone
        whenGone = nil
        action?()
    }

    func connectionClosed() {
        connection = nil
        peerLeft()
    }
}
