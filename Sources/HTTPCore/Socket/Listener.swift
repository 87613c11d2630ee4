import CSystem
import Glibc

/// One listening socket on one loop.
///
/// When the process has no descriptor left, accept fails while the backlog keeps the socket readable, and a loop that tried again would
/// spin. So the listener takes its socket out of the loop and comes back when a connection has closed, or after a moment.
final class Listener: EventReceiver {
    let descriptor: Int32
    /// The address it is bound to.
    let address: SocketAddress
    /// Whether other loops accept from the same socket.
    let isShared: Bool
    let isTLS: Bool
    private let shard: Shard
    private var isPaused = false
    private var alarm: Alarm?

    /// How many connections are accepted before the others have their turn.
    private static let acceptsInTurn = 64
    private static let pause = Duration.milliseconds(100)

    init(descriptor: Int32, address: SocketAddress, isShared: Bool, isTLS: Bool, shard: Shard) {
        self.descriptor = descriptor
        self.address = address
        self.isShared = isShared
        self.isTLS = isTLS
        self.shard = shard
    }

    func start() {
        let flags = isShared ? EPOLLIN.rawValue | EPOLLEXCLUSIVE.rawValue : EPOLLIN.rawValue
        if !shard.loop.watch(descriptor, self, events: flags) { pause() }
    }

    /// Takes what is in the backlog and accepts no more.
    func stop() {
        if let alarm { shard.loop.disarm(alarm) }
        if !isPaused {
            accept(atMost: 1024)
            shard.loop.unwatch(descriptor)
        }
        isPaused = true
    }

    func receive(events: UInt32) {
        accept(atMost: Self.acceptsInTurn)
    }

    /// Tries again: a descriptor has become free.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        start()
    }

    private func accept(atMost limit: Int) {
        for _ in 0..<limit {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let accepted = withUnsafeMutablePointer(to: &storage) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    accept4(descriptor, $0, &length, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
                }
            }
            if accepted >= 0 {
                shard.add(accepted, storage, listener: self)
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause()
            default: continue  // the connection was lost in the backlog
            }
        }
    }

    private func pause() {
        guard !isPaused else { return }
        isPaused = true
        shard.loop.unwatch(descriptor)
        shard.counters.acceptPauses.add(1, ordering: .relaxed)
        let alarm = alarm ?? Alarm { [unowned self] in resume() }
        self.alarm = alarm
        shard.loop.arm(alarm, at: shard.loop.now + Self.pause)
    }
}
