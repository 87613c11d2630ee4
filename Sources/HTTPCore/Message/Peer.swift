/// The other end of a connection.
public struct Peer: Sendable, Hashable {
    /// The address of the client. For a Unix socket, the path of the socket.
    public let remote: SocketAddress
    /// Whether the connection is encrypted.
    public let isTLS: Bool

    /// A peer; public for tests of a service.
    public init(remote: SocketAddress, isTLS: Bool = false) { (self.remote, self.isTLS) = (remote, isTLS) }

    /// What limits per peer apply to; nil over a Unix socket.
    public var network: PeerNetwork? { PeerNetwork(remote) }
    /// The address of the client as text, without its port.
    public var address: String { remote.host }
    /// Whether the client is on this machine: 127/8, ::1, 127/8 mapped into IPv6, or a Unix socket.
    public var isLoopback: Bool { remote.isLoopback }
    /// Whether the connection came over a Unix socket.
    public var isUnix: Bool { remote.isUnix }
}
