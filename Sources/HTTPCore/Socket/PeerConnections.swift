// How many connections each peer has, over all loops. A slot is a noncopyable value that gives itself back when it is
// destroyed: once, however its connection ends, or if there never is one. Rejected: counting up where a connection is
// adopted and down where it is removed; each early return in between would have to remember the slot.

/// Counts the connections of each peer.
///
/// Taking a slot or giving it back costs a lock and a look-up. Only peers with connections are stored.
final class PeerConnections: Sendable {
    /// The most connections of a peer served at once.
    let limit: Int
    private let counts = Locked<[PeerNetwork: Count]>([:])

    /// A peer's connections. Those that are being refused take no slot of those served.
    private struct Count {
        var served = 0
        var refused = 0
    }

    /// How many more connections of a peer may be open to be answered 503; beyond that they are closed silently. Few,
    /// since they count towards the limit for all.
    static let overflow = 16

    init(limit: Int) { self.limit = limit }

    /// A slot for one more connection of a peer; nil if not even a refusal is possible.
    func slot(for network: PeerNetwork) -> PeerSlot? {
        let isServed = counts.withLock { counts -> Bool? in
            var count = counts[network] ?? Count()
            let isServed = count.served < limit
            guard isServed || count.refused < Self.overflow else { return nil }
            if isServed { count.served += 1 } else { count.refused += 1 }
            counts[network] = count
            return isServed
        }
        guard let isServed else { return nil }
        return PeerSlot(isServed: isServed, network: network, among: self)
    }

    fileprivate func giveBack(_ network: PeerNetwork, isServed: Bool) {
        counts.withLock { counts in
            guard var count = counts[network] else { preconditionFailure("a slot that nobody took") }
            if isServed { count.served -= 1 } else { count.refused -= 1 }
            counts[network] = count.served + count.refused > 0 ? count : nil
        }
    }

    /// Slots taken, and the peers that have any. For tests.
    var taken: (slots: Int, peers: Int) {
        counts.withLock { ($0.values.reduce(0) { $0 + $1.served + $1.refused }, $0.count) }
    }
}

/// One of a peer's connections, given back when the value is destroyed.
struct PeerSlot: ~Copyable, Sendable {
    /// Whether the connection is served, or refused.
    let isServed: Bool
    private let network: PeerNetwork
    private let connections: PeerConnections

    fileprivate init(isServed: Bool, network: PeerNetwork, among connections: PeerConnections) {
        (self.isServed, self.network, self.connections) = (isServed, network, connections)
    }

    deinit { connections.giveBack(network, isServed: isServed) }
}
