import DiffClock

/// The other end of a connection.
public struct Peer: Sendable, Hashable {
    /// The address of the client. For a Unix socket, the path of the socket.
    public let remote: SocketAddress
    /// Whether the connection is encrypted.
    public let isTLS: Bool

    /// A peer; public for tests of a service.
    public init(remote: SocketAddress, isTLS: Bool = false) { (self.remote, self.isTLS) = (remote, isTLS) }

    /// The peer's network, for limits per peer; nil over a Unix socket.
    public var network: PeerNetwork? { PeerNetwork(remote) }
    /// The address of the client as text, without its port.
    public var address: String { remote.host }
    /// Whether the client is on this machine: 127/8, ::1, 127/8 mapped into IPv6, or a Unix socket.
    public var isLoopback: Bool { remote.isLoopback }
    /// Whether the connection came over a Unix socket.
    public var isUnix: Bool { remote.isUnix }
}

/// The unit of limits per peer: an IPv4 address, or the /64 of an IPv6 address.
///
/// A site gets at least a /64 (RFC 6177 §2), and its machines change addresses within it at will (RFC 8981). An IPv4
/// address mapped into IPv6 (RFC 4291 §2.5.5.2) counts as IPv4: a client is one peer, whichever listener it uses.
public enum PeerNetwork: Sendable, Hashable {
    /// An IPv4 address in host order.
    case v4(UInt32)
    /// The first 64 bits of an IPv6 address in host order; `scope` is the interface of a link-local one.
    case v6(prefix: UInt64, scope: UInt32)

    /// The network of an address; nil for a Unix socket, which is protected by its permissions alone.
    public init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address, _): self = .v4(address)
        case .v6(let high, let low, _, let scope):
            let isMapped = high == 0 && low >> 32 == 0xFFFF
            self = isMapped ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(prefix: high, scope: scope)
        case .unix: return nil
        }
    }
}

/// Counts the connections of each peer, over all loops. A permit returns when it is destroyed: once, however its
/// connection ends, or if there never is one, so no early return has to remember it.
final class PeerConnections: Sendable {
    /// The most connections of a peer served at once.
    let limit: Int
    /// Connections that are being refused take none of the served ones' permits.
    private let counts = Locked<[PeerNetwork: (served: Int, refused: Int)]>([:])

    /// How many more of a peer's connections are answered 503. Few, since they count towards the limit for all.
    static let overflow = 16

    init(limit: Int) { self.limit = limit }

    /// A permit for one more connection of a peer; nil if not even a refusal is possible.
    func permit(for network: PeerNetwork) -> PeerPermit? {
        let isServed = counts.withLock { counts -> Bool? in
            var count = counts[network] ?? (0, 0)
            let isServed = count.served < limit
            guard isServed || count.refused < Self.overflow else { return nil }
            if isServed { count.served += 1 } else { count.refused += 1 }
            counts[network] = count
            return isServed
        }
        guard let isServed else { return nil }
        return PeerPermit(isServed: isServed, network: network, connections: self)
    }

    fileprivate func release(_ network: PeerNetwork, isServed: Bool) {
        counts.withLock { counts in
            guard var count = counts[network] else { preconditionFailure("a permit that nobody took") }
            if isServed { count.served -= 1 } else { count.refused -= 1 }
            counts[network] = count.served + count.refused > 0 ? count : nil
        }
    }

    /// Permits in use, and the peers that have any. For tests.
    var inUse: (permits: Int, peers: Int) {
        counts.withLock { ($0.values.reduce(0) { $0 + $1.served + $1.refused }, $0.count) }
    }
}

/// One of a peer's connections, given back when the value is destroyed.
struct PeerPermit: ~Copyable, Sendable {
    let isServed: Bool
    fileprivate let network: PeerNetwork
    fileprivate let connections: PeerConnections

    deinit { connections.release(network, isServed: isServed) }
}
