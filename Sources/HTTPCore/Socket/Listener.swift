import CDiffSystem
import Glibc

/// One listening socket on one loop.
///
/// When the process has no descriptor left, accept fails while the backlog keeps the socket readable, and a loop that
/// tried again would spin. So the listener takes its socket out of the loop and comes back when a connection has
/// closed, or after a moment.
final class Listener: EventReceiver {
    let descriptor: Int32
    /// The address it is bound to.
    let address: SocketAddress
    /// Whether other loops accept from the same socket.
    let isShared: Bool
    let isTLS: Bool
    private let shard: Shard
    private var state = ListenerState.open
    private var alarm: Alarm?

    /// How many connections the next event accepts. What is left in the backlog is a new event at once; but to ask an
    /// empty backlog costs a call, and where connections come one by one that is a call for each of them. So it grows
    /// while each event finds as many.
    private var allowance = 1
    /// How many events in a row found as many.
    private var fullTurns = 0

    /// How many connections are accepted before the others have their turn.
    private static let acceptsInTurn = 64
    private static let pause = Duration.milliseconds(100)

    init(descriptor: Int32, address: SocketAddress, isShared: Bool, isTLS: Bool, shard: Shard) {
        (self.descriptor, self.address, self.isShared, self.isTLS) = (descriptor, address, isShared, isTLS)
        self.shard = shard
    }

    func start() {
        let flags = isShared ? EPOLLIN.rawValue | EPOLLEXCLUSIVE.rawValue : EPOLLIN.rawValue
        if !shard.loop.watch(descriptor, self, events: flags) { pause() }
    }

    /// Takes what is in the backlog and accepts no more.
    func stop() {
        if let alarm { shard.loop.disarm(alarm) }
        guard state.end() else { return }
        accept(atMost: 1024)
        shard.loop.unwatch(descriptor)
    }

    func receive(events: UInt32) {
        let accepted = accept(atMost: allowance)
        guard accepted == allowance else {
            allowance = max(1, accepted)
            fullTurns = 0
            return
        }
        fullTurns += 1
        guard fullTurns == 16 else { return }
        allowance = min(allowance * 8, Self.acceptsInTurn)
        fullTurns = 0
    }

    /// Tries again: a descriptor has become free.
    func resume() {
        if state.resume() { start() }
    }

    /// - Returns: how many.
    @discardableResult
    private func accept(atMost limit: Int) -> Int {
        for count in 0..<limit {
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
            case EAGAIN: return count
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                pause()
                return count
            default: continue  // the connection was lost in the backlog
            }
        }
        return limit
    }

    private func pause() {
        guard state.pause() else { return }
        shard.loop.unwatch(descriptor)
        shard.counters.acceptPauses.add(1, ordering: .relaxed)
        let alarm = alarm ?? Alarm { [unowned self] in resume() }
        self.alarm = alarm
        shard.loop.arm(alarm, at: shard.loop.now + Self.pause)
    }
}

/// Whether a listener accepts. Each change says whether it came about.
enum ListenerState {
    case open
    /// Until a descriptor is free.
    case paused
    /// For good: the server goes down.
    case ended

    mutating func pause() -> Bool { change(to: .paused, from: self == .open) }
    mutating func resume() -> Bool { change(to: .open, from: self == .paused) }
    /// True where it was open.
    mutating func end() -> Bool {
        defer { self = .ended }
        return self == .open
    }

    private mutating func change(to next: ListenerState, from isPossible: Bool) -> Bool {
        if isPossible { self = next }
        return isPossible
    }
}
