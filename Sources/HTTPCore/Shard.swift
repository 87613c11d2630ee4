import CDiffSystem
import Glibc

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
    let relief: BacklogRelief
    private var listeners: [Listener] = []
    private(set) var connections: [Connection] = []
    /// Set while draining.
    private var whenEmpty: (() -> Void)?

    init(
        loop: EventLoop, options: ServerOptions, capacity: ConnectionCapacity, service: any Service, workers: Workers,
        counts: Locked<Server.Counters> = Locked(.init()), peers: PeerConnections? = nil,
        certificates: Locked<TLSContext?> = Locked(nil), relief: BacklogRelief
    ) {
        (self.loop, self.options, self.capacity) = (loop, options, capacity)
        timeouts = Timeouts(options.connectionLimits)
        (self.service, self.workers, self.counts, self.peers) = (service, workers, counts, peers)
        (self.certificates, self.relief) = (certificates, relief)
    }

    func listen(_ socket: ListeningSocket) {
        let descriptor = socket.isShared ? socket.descriptors[0] : socket.descriptors[loop.index]
        let listener = Listener(
            descriptor: descriptor, address: socket.address, isShared: socket.isShared && options.loops > 1,
            isTLS: socket.isTLS, shard: self)
        listeners.append(listener)
        listener.start()
    }

    /// Adds one to a counter.
    func count(_ counter: WritableKeyPath<Server.Counters, Int>) { counts.withLock { $0[keyPath: counter] += 1 } }

    /// Takes over an accepted socket.
    func add(_ descriptor: Int32, _ storage: sockaddr_storage, listener: Listener) {
        count(\.acceptedConnections)
        let open = options.openConnections.value
        guard open < capacity.connections + capacity.overflow,
            let remote = listener.address.isUnix ? listener.address : SocketAddress(storage)
        else {
            count(\.refusedConnections)
            close(descriptor)
            return
        }
        var peerSlot: PeerSlot?
        var isServed = true
        if let peers, let network = PeerNetwork(remote) {
            guard let taken = peers.slot(for: network) else {
                count(\.refusedConnectionsOfPeers)
                close(descriptor)
                return
            }
            isServed = taken.isServed
            peerSlot = consume taken
        }
        guard let transport = transport(descriptor, isTLS: listener.isTLS) else {
            close(descriptor)
            return
        }
        let peer = Peer(remote: remote, isTLS: listener.isTLS)
        let connection = Connection(
            shard: self, transport: transport, descriptor: descriptor, peer: peer, peerSlot: peerSlot)
        adopt(connection)
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
        let socket = SocketTransport(descriptor: descriptor)
        guard isTLS else { return socket }
        return certificates.withLock { $0 }.flatMap { TLSTransport(socket, context: $0) }
    }

    /// Makes a connection one of this loop's.
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

    /// Accepts no more, lets every connection finish its exchange, and calls `completion` when the last has closed.
    func drain(_ completion: @escaping () -> Void) {
        for listener in listeners { listener.stop() }
        whenEmpty = completion
        for connection in connections { connection.drain() }
        endIfDrained()
    }

    /// Closes whatever is still open.
    func abandon() {
        for connection in connections { connection.handle(.lost) }
    }

    private func endIfDrained() {
        guard connections.isEmpty, let completion = whenEmpty.take() else { return }
        listeners = []
        completion()
    }
}
