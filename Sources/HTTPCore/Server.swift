import CDiffSystem
// Instants, locks and budgets are part of the interface.
@_exported import DiffClock

/// An HTTP/1.1 server: sockets, TLS, messages, and the loops that drive them. A `Service` decides how messages are
/// answered. Loops and workers also carry connections to stores and to other servers.
///
///     let server = Server(options: ServerOptions(listen: [.tcp(host: "127.0.0.1", port: 8080)]), service: service)
///     let addresses = try server.start()
///     …
///     await server.drain(within: .seconds(10))
public final class Server: Sendable {
    private let options: ServerOptions
    private let service: any Service
    private let workers: Workers
    private let counts = Locked(Counters())
    private let peers: PeerConnections?
    /// The context of new connections; replaced as a whole when the files are read again.
    private let certificates = Locked<TLSContext?>(nil)
    private let running = Locked(Running())

    private struct Running {
        var shards: [Shard] = []
        var sockets: [ListeningSocket] = []
        var capacity: ConnectionCapacity?
        var isDraining = false
    }

    /// A server that is not running yet.
    ///
    /// - Parameter workers: compress large answers; by default, the server starts its own.
    public init(options: ServerOptions, service: any Service, workers: Workers? = nil) {
        (self.options, self.service) = (options, service)
        peers = options.maxPeerConnections.map(PeerConnections.init)
        self.workers = workers ?? Workers(count: options.loops)
    }

    /// Opens all sockets and starts the loops. Call it once. The server then runs until it is drained, even if nothing
    /// refers to it.
    ///
    /// Ignores SIGPIPE for the whole process and sets malloc's thresholds.
    ///
    /// - Returns: the addresses, with actual ports in place of 0.
    public func start() throws(ListenError) -> [SocketAddress] {
        signal(SIGPIPE, SIG_IGN)
        options.limitAllocator()
        try reloadCertificates()
        let loops = try (0..<max(1, options.loops)).map { index throws(ListenError) in
            try EventLoop(index: index, polling: options.polling)
        }
        var sockets: [ListeningSocket] = []
        let capacity: ConnectionCapacity
        do throws(ListenError) {
            for address in options.listen {
                sockets += try ListeningSocket.open(address, options: options).map { $0.secured(options.tls != nil) }
            }
            for address in options.listenPlainly { sockets += try ListeningSocket.open(address, options: options) }
            capacity = try connectionCapacity()
        } catch {
            sockets.forEach { $0.close() }
            throw error
        }
        let outputLimit = OutputBufferLimit(budget: options.outgoing)
        let shards = loops.map {
            Shard(
                loop: $0, options: options, capacity: capacity, service: service, workers: workers, counts: counts,
                peers: peers, certificates: certificates, outputLimit: outputLimit)
        }
        outputLimit.cover(shards)
        running.withLock { [sockets] in ($0.shards, $0.sockets, $0.capacity) = (shards, sockets, capacity) }
        for shard in shards {
            shard.loop.execute { [sockets] in sockets.forEach(shard.listen) }
            shard.loop.start()
        }
        return sockets.map(\.address)
    }

    /// How many connections the limit of descriptors leaves room for, now that everything else is open.
    private func connectionCapacity() throws(ListenError) -> ConnectionCapacity {
        let limit = Descriptors.limit
        let free = limit - Descriptors.open - options.reservedDescriptors
        if let capacity = ConnectionCapacity(for: options.maxConnections, free: free) { return capacity }
        throw ListenError(address: "connections", reason: "the file descriptor limit of \(limit) leaves none for them")
    }

    /// Reads the certificate, the key and the authorities again, for new connections. If a file is missing or wrong,
    /// nothing changes. Does nothing without TLS.
    public func reloadCertificates() throws(ListenError) {
        guard let tls = options.tls else { return }
        let context = try TLSContext(tls)
        certificates.withLock { $0 = context }
    }

    /// The earliest expiry in the certificate chain for new connections, in seconds since 1970; nil without TLS.
    public var certificateExpiry: Int? { certificates.withLock { $0?.expiry } }

    /// The loops, for work without a connection.
    public var loops: [EventLoop] { running.withLock { $0.shards.map(\.loop) } }

    /// Counters since the start.
    public var counters: Counters {
        var counters = counts.withLock { $0 }
        counters.connectionLimit = running.withLock { $0.capacity?.connections } ?? options.maxConnections
        counters.openConnections = options.openConnections.value
        return counters
    }

    /// Makes each answer end its connection from now on, so that clients and proxies keep none for later. New
    /// connections are accepted as before.
    public func announceEnd() {
        for shard in running.withLock({ $0.shards }) { shard.loop.execute { shard.announceEnd() } }
    }

    /// Shuts down: accepts only the connections that the kernel has completed, closes idle ones, ends the others with
    /// their answers, and after `limit` closes what is still open. Ending streams is up to the service.
    ///
    /// - Parameters:
    ///   - settling: how long the kernel may take to complete connections that it has begun.
    ///   - quiet: idle connections close once none has been used for this long: a proxy may be sending a request.
    ///   - whenQuiet: called once, on some thread, when the server no longer listens and idle connections close.
    ///   - completion: called once, on some thread, when the last connection has closed and the loops have ended.
    public func drain(
        within limit: Duration, settling: Duration = .zero, quiet: Duration = .zero,
        whenQuiet: @escaping @Sendable () -> Void = {}, completion: @escaping @Sendable () -> Void
    ) {
        let (shards, sockets, isFirst) = running.withLock { running in
            defer { running.isDraining = true }
            return (running.shards, running.sockets, !running.isDraining)
        }
        guard isFirst, !shards.isEmpty else { return completion() }
        announceEnd()
        sockets.forEach { $0.refuseNew() }
        let stopped = Self.last(of: shards.count) { for socket in sockets where socket.isShared { socket.close() } }
        let quieted = Self.last(of: shards.count, whenQuiet)
        // All loops end together: a request of one may wait for what another does.
        let emptied = Self.last(of: shards.count) {
            for shard in shards { shard.loop.end() }
            completion()
        }
        for shard in shards {
            shard.loop.schedule(after: settling) {
                shard.stopListening()
                stopped()
                let deadline = shard.loop.schedule(after: limit) { shard.abandon() }
                shard.drain(quiet, whenQuiet: quieted) {
                    deadline.cancel()
                    emptied()
                }
            }
        }
    }

    /// Runs an action at the last of this many calls.
    private static func last(of calls: Int, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let left = Locked(calls)
        return {
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { action() }
        }
    }

    /// Closes at once whatever is still open, and accepts nothing more, even if a `drain` has not stopped that yet.
    public func abandon() {
        for shard in running.withLock({ $0.shards }) { shard.loop.execute { shard.abandon() } }
    }

    /// Shuts down, and returns when the last connection has closed.
    public func drain(within limit: Duration) async {
        await withCheckedContinuation { continuation in drain(within: limit) { continuation.resume() } }
    }

    /// What a server counts.
    public struct Counters: Sendable, Hashable {
        /// The most connections at once: `ServerOptions.maxConnections`, or fewer if the process lacks descriptors.
        public var connectionLimit = 0
        /// Connections that are open now, and lost ones whose work is not done.
        public var openConnections = 0
        /// Connections accepted, including those closed at once.
        public var acceptedConnections = 0
        /// Connections closed because there were too many.
        public var refusedConnections = 0
        /// Connections closed because their peer had too many.
        public var refusedConnectionsOfPeers = 0
        /// How often accepting paused for lack of descriptors or memory.
        public var acceptPauses = 0
        /// Connections closed because too much output was queued over all connections.
        public var relievedConnections = 0
    }
}

/// One loop's share of a server: its listeners and its connections. Confined to the loop once the server runs.
///
/// Listeners and connections retain it, so a server whose handle was dropped keeps serving; draining breaks the cycle.
final class Shard: @unchecked Sendable {
    let loop: EventLoop
    let options: ServerOptions
    let capacity: ConnectionCapacity
    let timeouts: Timeouts
    let service: any Service
    let workers: Workers
    let counts: Locked<Server.Counters>
    let peers: PeerConnections?
    let certificates: Locked<TLSContext?>
    let outputLimit: OutputBufferLimit
    private var listeners: [Listener] = []
    private(set) var connections: [Connection] = []
    /// Whether each further answer ends its connection.
    private var isEnding = false
    /// Both are set while draining.
    private var whenQuiet: (() -> Void)?
    private var whenEmpty: (() -> Void)?

    init(
        loop: EventLoop, options: ServerOptions, capacity: ConnectionCapacity, service: any Service, workers: Workers,
        counts: Locked<Server.Counters> = Locked(.init()), peers: PeerConnections? = nil,
        certificates: Locked<TLSContext?> = Locked(nil), outputLimit: OutputBufferLimit
    ) {
        (self.loop, self.options, self.capacity) = (loop, options, capacity)
        timeouts = Timeouts(options.connectionLimits)
        (self.service, self.workers, self.counts, self.peers) = (service, workers, counts, peers)
        (self.certificates, self.outputLimit) = (certificates, outputLimit)
    }

    func listen(_ socket: ListeningSocket) {
        let listener = Listener(socket, shard: self)
        listeners.append(listener)
        listener.start()
    }

    func count(_ counter: WritableKeyPath<Server.Counters, Int>) { counts.withLock { $0[keyPath: counter] += 1 } }

    func add(_ descriptor: Int32, _ storage: sockaddr_storage, listener: Listener) {
        count(\.acceptedConnections)
        let open = options.openConnections.value
        guard open < capacity.connections + capacity.overflow,
            let remote = listener.socket.address.isUnix ? listener.socket.address : SocketAddress(storage)
        else {
            count(\.refusedConnections)
            close(descriptor)
            return
        }
        var peerPermit: PeerPermit?
        var isServed = true
        if let peers, let network = PeerNetwork(remote) {
            guard let permit = peers.permit(for: network) else {
                count(\.refusedConnectionsOfPeers)
                close(descriptor)
                return
            }
            isServed = permit.isServed
            peerPermit = consume permit
        }
        guard let transport = transport(descriptor, isTLS: listener.socket.isTLS) else {
            close(descriptor)
            return
        }
        let peer = Peer(remote: remote, isTLS: listener.socket.isTLS)
        let connection = Connection(
            shard: self, transport: transport, descriptor: descriptor, peer: peer, peerPermit: peerPermit)
        adopt(connection)
        if isEnding { connection.handle(.endAnnounced) }
        if open >= capacity.connections {
            count(\.refusedConnections)
            connection.refuse(.tooManyConnections(limit: capacity.connections))
        } else if !isServed, let peers {
            count(\.refusedConnectionsOfPeers)
            connection.refuse(.tooManyOfPeer(limit: peers.limit))
        }
        connection.begin()
    }

    private func transport(_ descriptor: Int32, isTLS: Bool) -> (any Transport)? {
        let socket = SocketTransport(descriptor: descriptor, on: loop)
        guard isTLS else { return socket }
        return certificates.withLock { $0 }.flatMap { TLSTransport(socket, context: $0) }
    }

    func adopt(_ connection: Connection) {
        connection.shardIndex = connections.count
        connections.append(connection)
        options.openConnections.add()
    }

    func remove(_ connection: Connection) {
        let last = connections.count - 1
        connections.swapAt(connection.shardIndex, last)
        connections[connection.shardIndex].shardIndex = connection.shardIndex
        connections.removeLast()
        options.openConnections.subtract()
        for listener in listeners { listener.resume() }
        endIfDrained()
    }

    func announceEnd() {
        isEnding = true
        for connection in connections { connection.handle(.endAnnounced) }
    }

    /// Accepts the connections that the kernel has completed, and no more.
    fileprivate func stopListening() {
        for listener in listeners { listener.stop() }
    }

    /// Lets every connection finish its exchange, and calls `completion` when the last has closed.
    func drain(_ quiet: Duration, whenQuiet: @escaping () -> Void, _ completion: @escaping () -> Void) {
        (self.whenQuiet, whenEmpty) = (whenQuiet, completion)
        letGo(quiet, openBefore: nil)
        endIfDrained()
    }

    /// Closes idle connections, once no connection of any loop has ended for `quiet`: each request now ends one.
    private func letGo(_ quiet: Duration, openBefore: Int?) {
        let open = options.openConnections.value
        let isQuiet = quiet == .zero || open == openBefore
        let patience = options.connectionLimits.firstRequestTimeout
        for connection in connections { connection.drain(begun: loop.now + (.zero - patience), keepsIdle: !isQuiet) }
        if isQuiet { whenQuiet.take()?() }
        loop.schedule(after: isQuiet ? patience : quiet) { [weak self] in
            self?.letGo(isQuiet ? .zero : quiet, openBefore: open)
        }
    }

    func abandon() {
        stopListening()
        for connection in connections { connection.handle(.lost) }
    }

    private func endIfDrained() {
        guard connections.isEmpty, let completion = whenEmpty.take() else { return }
        listeners = []
        whenQuiet.take()?()
        completion()
    }
}
