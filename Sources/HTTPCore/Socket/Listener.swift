import CDiffSystem

/// One listening socket on one loop.
///
/// When the process runs out of descriptors, accept fails while the backlog keeps the socket readable, and a loop that
/// tried again would spin. So the listener stops watching its socket until a connection has closed or a pause is over.
final class Listener: EventReceiver {
    let descriptor: Int32
    let socket: ListeningSocket
    private let shard: Shard
    private var state = ListenerState.open
    private lazy var alarm = Alarm { [unowned self] in resume() }

    /// How many connections the next event accepts. If the backlog holds more, another event follows at once; asking an
    /// empty one costs a system call. So this grows only while events keep using all of it.
    private var allowance = 1
    private var fullIterations = 0

    private static let acceptsInIteration = 64
    private static let pause = Duration.milliseconds(100)

    init(_ socket: ListeningSocket, shard: Shard) {
        descriptor = socket.isShared ? socket.descriptors[0] : socket.descriptors[shard.loop.index]
        (self.socket, self.shard) = (socket, shard)
    }

    func start() {
        let isShared = socket.isShared && shard.options.loops > 1
        if !shard.loop.watch(descriptor, self, for: .connections(isShared: isShared)) { pause() }
    }

    /// Accepts what is in the backlog, and no more. Closes the socket, unless it is shared with other loops.
    /// Connections in the backlog of an inherited socket are left to the next process.
    func stop() {
        shard.loop.disarm(alarm)
        guard state.end() else { return }
        if !socket.isInherited { accept(atMost: 1 << 16) }
        if socket.isShared { shard.loop.unwatch(descriptor) } else { shard.loop.close(descriptor) }
    }

    func receive(_ readiness: Readiness) {
        let accepted = accept(atMost: allowance)
        guard accepted == allowance else {
            allowance = max(1, accepted)
            fullIterations = 0
            return
        }
        fullIterations += 1
        guard fullIterations == 16 else { return }
        allowance = min(allowance * 8, Self.acceptsInIteration)
        fullIterations = 0
    }

    func resume() { if state.resume() { start() } }

    /// Returns how many were accepted.
    @discardableResult
    private func accept(atMost limit: Int) -> Int {
        for count in 0..<limit {
            var storage = sockaddr_storage()
            let accepted = SystemSocket.accept(descriptor, &storage)
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
        shard.count(\.acceptPauses)
        shard.loop.arm(alarm, at: shard.loop.now + Self.pause)
    }
}

/// Whether a listener accepts. Each change returns whether it happened.
enum ListenerState {
    case open
    /// Until a descriptor is free.
    case paused
    /// The server is shutting down.
    case ended

    mutating func pause() -> Bool { change(to: .paused, if: self == .open) }
    mutating func resume() -> Bool { change(to: .open, if: self == .paused) }
    mutating func end() -> Bool { change(to: .ended, if: self != .ended) }

    private mutating func change(to next: ListenerState, if isPossible: Bool) -> Bool {
        if isPossible { self = next }
        return isPossible
    }
}
