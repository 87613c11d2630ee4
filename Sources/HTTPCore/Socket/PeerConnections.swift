// How many connections each peer has, over all loops. A slot is a value that cannot be copied and gives itself back
// at its end, so each that was taken is given back once, however its connection closes, or if none comes about at all.
// Rejected: to count up where a connection is adopted and down where it is removed; each early return between them
// would have to know that it owes a slot.

/// Counts the connections of each peer.
///
/// Taking a slot and giving it back take a lock and one look-up each. Only peers with a connection are remembered.
final class PeerConnections: Sendable {
    /// Connections of one peer that are served at once.
    let limit: Int
    private let counts = Locked<[PeerNetwork: Count]>([:])

    /// What one peer has. A connection that is being told so takes no slot of one that could be served.
    private struct Count {
        var served = 0
        var told = 0
    }

    /// How many more of one peer may live until they have heard 503; still more are closed without a word. Few: they
    /// take slots of everybody's limit meanwhile.
    static let overflow = 16

    init(limit: Int) { self.limit = limit }

    /// A slot for one connection more of a peer; nil where it has not even room to be told that there is none.
    func slot(for network: PeerNetwork) -> PeerSlot? {
        let isServed = counts.withLock { counts -> Bool? in
            var count = counts[network] ?? Count()
            let isServed = count.served < limit
            guard isServed || count.told < Self.overflow else { return nil }
            if isServed { count.served += 1 } else { count.told += 1 }
            counts[network] = count
            return isServed
        }
        guard let isServed else { return nil }
        return PeerSlot(isServed: isServed, network: network, among: self)
    }

    fileprivate func giveBack(_ network: PeerNetwork, isServed: Bool) {
        counts.withLock { counts in
            guard var count = counts[network] else { preconditionFailure("a slot that nobody took") }
            if isServed { count.served -= 1 } else { count.told -= 1 }
            counts[network] = count.served + count.told > 0 ? count : nil
        }
    }

    /// Slots that are taken, and the peers who have some. For tests.
    var taken: (slots: Int, peers: Int) {
        counts.withLock { ($0.values.reduce(0) { $0 + $1.served + $1.told }, $0.count) }
    }
}

/// What one connection takes of its peer's room, given back where the value ends.
struct PeerSlot: ~Copyable, Sendable {
    /// Whether the connection is served; else it is told that there are too many.
    let isServed: Bool
    private let network: PeerNetwork
    private let connections: PeerConnections

    fileprivate init(isServed: Bool, network: PeerNetwork, among connections: PeerConnections) {
        (self.isServed, self.network, self.connections) = (isServed, network, connections)
    }

    deinit { connections.giveBack(network, isServed: isServed) }
}
