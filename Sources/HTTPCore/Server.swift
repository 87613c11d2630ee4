import CDiffSystem
import Glibc

/// An HTTP/1.1 server.
///
///     let server = Server(options: ServerOptions(listen: [.tcp(host: "127.0.0.1", port: 8080)]), service: service)
///     let addresses = try server.start()
///     …
///     await server.drain(within: .seconds(10))
public final class Server: Sendable {
    private let options: ServerOptions
    private let service: any Service
    private let workers: Workers
    private let counts: ServerCounters
    private let certificates = Certificates()
    private let running = Locked<Running>(Running())

    private struct Running {
        var shards: [Shard] = []
        var sockets: [ListeningSocket] = []
        var capacity: ConnectionCapacity?
        var isDraining = false
    }

    /// A server that does not run yet.
    ///
    /// - Parameter workers: compress large answers; by default, threads of the server's own.
    public init(options: ServerOptions, service: any Service, workers: Workers? = nil) {
        self.options = options
        self.service = service
        counts = ServerCounters(peerLimit: options.maxPeerConnections)
        self.workers = workers ?? Workers(count: options.loops)
    }

    /// Opens all sockets and starts the loops. To be called once. From then on the server runs until it is drained,
    /// whether or not anybody holds it.
    ///
    /// Ignores SIGPIPE for the process and, with `keepsFreedMemory`, sets malloc's thresholds.
    ///
    /// - Returns: the addresses, with the ports that were taken for port 0.
    public func start() throws(ListenError) -> [SocketAddress] {
        signal(SIGPIPE, SIG_IGN)
        if options.keepsFreedMemory {
            mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024)
            mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024)
            // What one thread frees another may take: each arena of glibc's keeps its own free memory.
            mallopt(M_ARENA_MAX, Int32(options.loops))
        }
        try reloadCertificates()
        var loops: [EventLoop] = []
        for index in 0..<max(1, options.loops) { loops.append(try EventLoop(index: index)) }
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
        let relief = BacklogRelief(budget: options.outgoing)
        let shards = loops.map {
            Shard(
                loop: $0, options: options, capacity: capacity, service: service, workers: workers, counters: counts,
                tls: certificates, relief: relief)
        }
        relief.cover(shards)
        running.withLock { [sockets] in
            $0.shards = shards
            $0.sockets = sockets
            $0.capacity = capacity
        }
        for shard in shards {
            shard.loop.execute { [sockets] in sockets.forEach(shard.listen) }
            shard.loop.start()
        }
        return sockets.map(\.address)
    }

    /// What of the limit of descriptors is left to connections, now that all else is open.
    private func connectionCapacity() throws(ListenError) -> ConnectionCapacity {
        let limit = Descriptors.limit
        let free = limit - Descriptors.open - options.reservedDescriptors
        if let capacity = ConnectionCapacity(for: options.maxConnections, free: free) { return capacity }
        throw ListenError(address: "connections", reason: "the file descriptor limit of \(limit) leaves none for them")
    }

    /// Reads the certificate, the key and the authorities again. Connections keep what they began with; new ones get
    /// the new. If a file is missing or wrong, nothing changes. Does nothing without TLS.
    public func reloadCertificates() throws(ListenError) {
        guard let tls = options.tls else { return }
        certificates.current = try TLSContext(tls)
    }

    /// The loops, for work that belongs to no connection.
    public var loops: [EventLoop] { running.withLock { $0.shards.map(\.loop) } }

    /// What was counted since the start.
    public var counters: Counters {
        Counters(
            connectionLimit: running.withLock { $0.capacity?.connections } ?? options.maxConnections,
            openConnections: options.openConnections.value,
            acceptedConnections: counts.accepted.load(ordering: .relaxed),
            refusedConnections: counts.refused.load(ordering: .relaxed),
            refusedConnectionsOfPeers: counts.refusedOfPeers.load(ordering: .relaxed),
            acceptPauses: counts.acceptPauses.load(ordering: .relaxed),
            relievedConnections: counts.relieved.load(ordering: .relaxed))
    }

    /// Goes down: accepts no more, closes idle connections, says `Connection: close` with every answer from now on, and
    /// closes what is still open after `limit`. Streams are for the service to end; until then they stay, within the
    /// limit.
    ///
    /// - Parameter completion: called once, on some thread, when the last connection is gone and the loops have ended.
    public func drain(within limit: Duration, completion: @escaping @Sendable () -> Void) {
        let (shards, sockets, isFirst) = running.withLock { running in
            defer { running.isDraining = true }
            return (running.shards, running.sockets, !running.isDraining)
        }
        guard isFirst, !shards.isEmpty else { return completion() }
        let remaining = Locked(shards.count)
        for shard in shards {
            shard.loop.execute {
                let deadline = shard.loop.schedule(after: limit) { shard.abandon() }
                shard.drain {
                    deadline.cancel()
                    shard.loop.end()
                    let isLast = remaining.withLock { count in
                        count -= 1
                        return count == 0
                    }
                    guard isLast else { return }
                    sockets.forEach { $0.close() }
                    for socket in sockets where socket.address.isUnix { unlink(socket.address.unixPath) }
                    completion()
                }
            }
        }
    }

    /// The same, waiting.
    public func drain(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            drain(within: limit) { continuation.resume() }
        }
    }

    /// What a server counts.
    public struct Counters: Sendable, Hashable {
        /// Connections at once: `ServerOptions.maxConnections`, or less where the process may not have so many
        /// descriptors.
        public var connectionLimit: Int
        /// Connections that are open now.
        public var openConnections: Int
        /// Connections that were accepted.
        public var acceptedConnections: Int
        /// Connections that were closed because there were too many; a part of those accepted.
        public var refusedConnections: Int
        /// Connections that were closed because their peer had too many; a part of those accepted.
        public var refusedConnectionsOfPeers = 0
        /// How often accepting had to pause because the process or the machine had no descriptor or no memory left.
        public var acceptPauses: Int
        /// Connections that were closed because too much waited for their peers in all.
        public var relievedConnections: Int
    }
}

/// The cores that this process may use.
func availableCores() -> Int {
    var mask = [UInt64](repeating: 0, count: 128)
    guard sched_getaffinity(0, mask.count * 8, &mask) == 0 else {
        return max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }
    return max(1, mask.reduce(0) { $0 + $1.nonzeroBitCount })
}
