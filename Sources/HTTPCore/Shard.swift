import CDiffSystem
import Glibc
import Synchronization

/// One loop's share of a server: its listeners and its connections. Only the loop touches it once the server runs.
///
/// Held by what it holds, so that a server whose handle was dropped goes on serving; draining takes the knot apart.
final class Shard: @unchecked Sendable {
    let loop: EventLoop
    let options: ServerOptions
    let capacity: ConnectionCapacity
    let limits: ConnectionLimits
    let timeouts: Timeouts
    let service: any Service
    let workers: Workers
    let counters: ServerCounters
    let tls: Certificates
    let relief: BacklogRelief
    private(set) var listeners: [Listener] = []
    private(set) var connections: [Connection] = []
    private var whenEmpty: (() -> Void)?
    private var isDraining = false

    init(
        loop: EventLoop, options: ServerOptions, capacity: ConnectionCapacity, service: any Service, workers: Workers,
        counters: ServerCounters, tls: Certificates, relief: BacklogRelief
    ) {
        (self.loop, self.options, self.capacity) = (loop, options, capacity)
        limits = options.connectionLimits
        timeouts = Timeouts(options.connectionLimits)
        (self.service, self.workers, self.counters, self.tls, self.relief) = (service, workers, counters, tls, relief)
    }

    func listen(_ socket: ListeningSocket) {
        let descriptor = socket.isShared ? socket.descriptors[0] : socket.descriptors[loop.index]
        let listener = Listener(
            descriptor: descriptor, address: socket.address, isShared: socket.isShared && options.loops > 1,
            isTLS: socket.isTLS, shard: self)
        listeners.append(listener)
        listener.start()
    }

    /// Takes over an accepted socket.
    func add(_ descriptor: Int32, _ storage: sockaddr_storage, listener: Listener) {
        counters.accepted.add(1, ordering: .relaxed)
        let open = options.openConnections.value
        guard open < capacity.connections + capacity.overflow,
            let remote = SocketAddress(storage, unixPath: listener.address.unixPath)
        else {
            counters.refused.add(1, ordering: .relaxed)
            close(descriptor)
            return
        }
        var peerSlot: PeerSlot?
        var isServed = true
        if let peers = counters.peers, let network = PeerNetwork(remote) {
            guard let taken = peers.slot(for: network) else {
                counters.refusedOfPeers.add(1, ordering: .relaxed)
                close(descriptor)
                return
            }
            isServed = taken.isServed
            peerSlot = consume taken
        }
        let peer = Peer(remote: remote, isTLS: listener.isTLS)
        guard let transport = transport(descriptor, listener) else {
            close(descriptor)
            return
        }
        let connection = Connection(
            shard: self, transport: transport, descriptor: descriptor, peer: peer, peerSlot: peerSlot)
        adopt(connection)
        if open >= capacity.connections {
            counters.refused.add(1, ordering: .relaxed)
            connection.refuse(.tooManyConnections(limit: capacity.connections))
        } else if !isServed, let peers = counters.peers {
            counters.refusedOfPeers.add(1, ordering: .relaxed)
            connection.refuse(.tooManyOfPeer(limit: peers.limit))
        }
        connection.begin()
    }

    private func transport(_ descriptor: Int32, _ listener: Listener) -> (any Transport)? {
        let socket = SocketTransport(descriptor: descriptor)
        guard listener.isTLS else { return socket }
        return tls.current.flatMap { TLSTransport(socket, context: $0) }
    }

    /// Makes a connection one of this loop.
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
        if isDraining {
            if connections.isEmpty { finishDraining() }
        } else {
            for listener in listeners { listener.resume() }
        }
    }

    /// Accepts no more, lets every connection finish its exchange, and calls `completion` when the last is gone.
    func drain(_ completion: @escaping () -> Void) {
        for listener in listeners { listener.stop() }
        isDraining = true
        whenEmpty = completion
        for connection in connections { connection.drain() }
        if connections.isEmpty { finishDraining() }
    }

    /// Ends what is still open.
    func abandon() {
        for connection in connections {
            connection.handle(.lost)
        }
    }

    private func finishDraining() {
        let completion = whenEmpty
        listeners = []
        whenEmpty = nil
        completion?()
    }
}

extension Connection {
    /// The server goes down: this exchange is the last.
    func drain() {
        handle(.drainBegan(isWithinHead: parser.isWithinHead || !isStarved))
        mark()
    }
}

extension SocketAddress {
    var unixPath: String {
        switch self {
        case .v4, .v6: ""
        case .unix(let path): path
        }
    }
}

/// What a server counts, across its loops, besides the connections that are open.
final class ServerCounters: Sendable {
    let accepted = Atomic<Int>(0)
    let refused = Atomic<Int>(0)
    let refusedOfPeers = Atomic<Int>(0)
    let acceptPauses = Atomic<Int>(0)
    let relieved = Atomic<Int>(0)
    /// The connections of each peer; nil where they have no limit.
    let peers: PeerConnections?

    init(peerLimit: Int? = nil) { peers = peerLimit.map(PeerConnections.init) }
}
