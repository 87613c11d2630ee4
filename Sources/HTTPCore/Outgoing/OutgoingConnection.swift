import CDiffSystem

/// A connection to another server, plain or TLS. Stays open until one side closes it, even if nothing refers to it.
///
/// Confined to its loop: every call is made there, and so is every call of a handler, never from within a call of the
/// owner. Everything sent in one iteration of the loop leaves at its end. A name's addresses are tried one after the
/// other.
public final class OutgoingConnection: EventReceiver, IterationEndReceiver, @unchecked Sendable {
    /// The owner's callbacks.
    public struct Handlers {
        /// The connection is open. Called at most once.
        public var opened: () -> Void
        /// Bytes have arrived; they are valid during the call only.
        public var received: (UnsafeRawBufferPointer) -> Void
        /// The connection is lost, or was never made. Called at most once, and not after `close`.
        public var closed: (Loss) -> Void

        /// Handlers for all three.
        public init(
            opened: @escaping () -> Void, received: @escaping (UnsafeRawBufferPointer) -> Void,
            closed: @escaping (Loss) -> Void
        ) {
            (self.opened, self.received, self.closed) = (opened, received, closed)
        }
    }

    /// Why a connection is lost.
    public enum Loss: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name has no address.
        case unresolved(String)
        /// No address accepted the connection.
        case unreachable(String)
        /// The handshake failed: most often, the certificate is not trusted or not for that host.
        case insecure(String)
        /// It did not open in time.
        case timedOut
        /// The peer closed it.
        case ended
        /// An error of the socket or of TLS.
        case broken(String)

        /// The reason, for people.
        public var description: String {
            switch self {
            case .unresolved(let reason), .unreachable(let reason), .broken(let reason): reason
            case .insecure(let reason): "TLS: \(reason)"
            case .timedOut: "connecting timed out"
            case .ended: "the server closed the connection"
            }
        }
    }

    private enum Phase { case resolving, connecting, securing, open, closed }

    private let destination: ConnectAddress
    private let loop: EventLoop
    private let tls: OutgoingTLS?
    private var handlers: Handlers?
    private var phase = Phase.resolving
    private var addresses: [SocketAddress] = []
    private var lastError = "no address"
    private var descriptor: Int32 = -1
    private var transport: (any Transport)?
    private let output: OutputQueue
    private let alarm = Alarm()
    private var input = InputSide.drained
    private var watchesOutput = true
    var isMarked = false

    private static let resolver = Workers(count: 1)

    private static let readsInIteration = 16

    /// Begins to connect, plainly without `tls`. `limit`: how long it may take to open.
    public init(
        to destination: ConnectAddress, tls: OutgoingTLS? = nil, on loop: EventLoop, within limit: Duration,
        _ handlers: Handlers
    ) {
        precondition(loop.isCurrent, "confined to its loop")
        (self.destination, self.loop, self.tls, self.handlers) = (destination, loop, tls, handlers)
        output = OutputQueue(loop.resources)
        alarm.action = { [weak self] in self?.lose(.timedOut) }
        loop.arm(alarm, at: loop.now + limit)
        resolve()
    }

    deinit { transport?.close(gracefully: false) }

    /// Sends `bytes`, once the connection is open. Dropped after it is closed.
    public func send(_ bytes: [UInt8]) {
        precondition(loop.isCurrent, "confined to its loop")
        guard phase != .closed, !bytes.isEmpty else { return }
        output.append(body: bytes)
        if phase == .open { mark() }
    }

    /// Closes, after handing the kernel whatever it takes at once.
    public func close() {
        precondition(loop.isCurrent, "confined to its loop")
        if phase == .open, let transport { _ = output.flush(transport) }
        finish(gracefully: phase == .open)
    }

    // MARK: Connecting

    private func resolve() {
        if case .unix(let path) = destination { return loop.execute { self.connect([.unix(path: path)]) } }
        Self.resolver.run { [self] in
            do throws(ListenError) {
                let addresses = try destination.resolved()
                loop.execute { self.connect(addresses) }
            } catch {
                loop.execute { self.lose(.unresolved(error.reason)) }
            }
        }
    }

    private func connect(_ addresses: [SocketAddress]) {
        guard phase == .resolving else { return }
        (self.addresses, phase) = (addresses, .connecting)
        connectNext()
    }

    private func connectNext() {
        while let address = addresses.first {
            addresses.removeFirst()
            if begin(address) { return }
            dropSocket()
        }
        lose(.unreachable(lastError))
    }

    /// Returns whether the connection is being made; if not, `lastError` says why.
    private func begin(_ address: SocketAddress) -> Bool {
        descriptor = SystemSocket.open(address.family)
        guard descriptor >= 0 else {
            lastError = String(cString: strerror(errno))
            return false
        }
        transport = SocketTransport(descriptor: descriptor, on: loop)
        if !address.isUnix {
            setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        }
        let status = address.withRaw { CDiffSystem.connect(descriptor, $0, $1) }
        guard status == 0 || (status == -1 && errno == EINPROGRESS) else {
            lastError = status == nil ? "the path is too long for a Unix socket" : String(cString: strerror(errno))
            return false
        }
        watchesOutput = true
        return loop.watch(descriptor, self, for: .edges(forOutput: true))
    }

    private func dropSocket() {
        transport.take()?.close(gracefully: false)
        descriptor = -1
    }

    private func finishConnecting() {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        guard error == 0 else {
            lastError = String(cString: strerror(error))
            dropSocket()
            return connectNext()
        }
        // The event may belong to an earlier socket with the same descriptor.
        var storage = sockaddr_storage()
        guard storage.fill({ getpeername(descriptor, $0, $1) }).result == 0 else { return }
        guard let tls, let socket = transport else { return open() }
        guard let secure = TLSTransport(socket, context: tls, host: destination.host) else {
            return lose(.insecure("out of memory"))
        }
        transport = secure
        phase = .securing
    }

    private func open() {
        loop.disarm(alarm)
        phase = .open
        input.wake()
        handlers?.opened()
    }

    // MARK: Passing bytes

    func receive(_ readiness: Readiness) {
        input.wake(readiness)
        if phase == .connecting { finishConnecting() }
        if phase == .securing, let transport = transport as? TLSTransport {
            switch transport.prepare() {
            case .ready: open()
            case .blocked: break
            case .plainText, .failed: lose(.insecure(transport.failure))
            }
        }
        read()
        flush()
    }

    func iterationEnds() {
        read()
        flush()
    }

    private func mark() { loop.mark(self, asLast: true) }

    private func read() {
        var reads = 0
        while input.isReadable, phase == .open, let transport {
            reads += 1
            guard reads <= Self.readsInIteration else { return mark() }
            let scratch = loop.resources.scratch
            let result = transport.receive(into: scratch)
            input.took(result, isLast: result.count < scratch.count && transport.shortReceiveIsLast)
            switch result {
            case .moved(let count): handlers?.received(UnsafeRawBufferPointer(scratch).slice(0, count))
            case .blocked: break
            case .ended: lose(.ended)
            case .failed: breakDown()
            }
        }
    }

    private func flush() {
        guard phase == .open, let transport else { return }
        switch output.flush(transport) {
        case nil: watch(forOutput: false)
        case .blocked, .moved: watch(forOutput: true)
        case .ended, .failed: breakDown()
        }
    }

    /// Not always for output: a Unix socket raises an edge of room for everything that the peer reads.
    private func watch(forOutput wanted: Bool) {
        guard wanted != watchesOutput else { return }
        watchesOutput = wanted
        loop.rewatch(descriptor, for: .edges(forOutput: wanted))
    }

    // MARK: Ending

    private func breakDown() {
        let reason = (transport as? TLSTransport)?.failure ?? ""
        lose(.broken(reason.isEmpty ? String(cString: strerror(errno)) : reason))
    }

    private func lose(_ loss: Loss) { finish(gracefully: false)?.closed(loss) }

    /// Returns the handlers, unless the connection was closed before.
    @discardableResult
    private func finish(gracefully: Bool) -> Handlers? {
        phase = .closed
        loop.disarm(alarm)
        transport.take()?.close(gracefully: gracefully)
        return handlers.take()
    }
}

/// The destination of an outgoing connection.
public enum ConnectAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address, and a port.
    case tcp(host: String, port: UInt16)
    /// A path in the file system.
    case unix(path: String)

    /// The usual notation: `redis.example:6379`, `[::1]:6379`, `unix:/run/redis.sock`.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The host that a certificate must be for; nil for a Unix socket.
    var host: String? { if case .tcp(let host, _) = self { host } else { nil } }

    /// The addresses to try, in order. Blocks.
    func resolved() throws(ListenError) -> [SocketAddress] {
        switch self {
        case .tcp(let host, let port): try SocketAddress.resolved(host: host, port: port)
        case .unix(let path): [.unix(path: path)]
        }
    }

    /// A connected, blocking socket, for commands, which have nothing else to do. Nil if nobody answers.
    ///
    /// - Parameter seconds: the time limit for connecting, and for each read and write.
    public func connected(seconds: Int) -> Int32? {
        for address in (try? resolved()) ?? [] {
            let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var limit = timeval(tv_sec: seconds, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
            }
            if address.withRaw({ connect(descriptor, $0, $1) }) == 0 { return descriptor }
            close(descriptor)
        }
        return nil
    }
}
