import Synchronization

/// An exchange whose answer comes later: exactly one answer, from any thread.
///
/// Its connection reads no further request until then, so pipelined answers stay in order. A peer that only shut its
/// own side is answered as any other. One that is forgotten without an answer answers 500 itself, unless the connection
/// is lost.
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

    /// Has `action` called, on the loop and once, if the connection is lost before the answer, which nobody waits for
    /// then. A peer that has shut its side may be gone too, or may wait: half a second later it is asked.
    public func onGone(_ action: @escaping @Sendable () -> Void) {
        if loop.isCurrent { link.register(action) } else { loop.execute { [link] in link.register(action) } }
    }
}

/// The loop's end of a pending exchange. The connection holds this and not the `Pending`, so that one that the service
/// forgot is noticed. Only the loop touches it.
final class PendingLink: @unchecked Sendable {
    private var connection: Connection?
    private var whenGone: (@Sendable () -> Void)?
    private var isLost = false

    init(_ connection: Connection) {
        self.connection = connection
    }

    func deliver(_ response: Response) {
        whenGone = nil
        connection?.deliver(response)
        connection = nil
    }

    func register(_ action: @escaping @Sendable () -> Void) {
        // One that was answered meanwhile has no connection any more.
        if isLost { action() } else if connection != nil { whenGone = action }
    }

    func connectionClosed() {
        connection = nil
        isLost = true
        let action = whenGone
        whenGone = nil
        action?()
    }
}
