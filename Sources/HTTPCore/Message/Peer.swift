/// Who is on the other end of a connection.
public struct Peer: Sendable, Hashable {
    /// The address of the client. For a Unix socket, the path of the socket.
    public let remote: SocketAddress
    /// The address that the client reached.
    public let local: SocketAddress
    /// Whether the connection is encrypted.
    public let isTLS: Bool
    /// The subject of the client's certificate (RFC 4514 order reversed as OpenSSL prints it), if it gave one that was verified.
    public let clientCertificateSubject: String?

    /// The address of the client as text, without its port.
    public var address: String { remote.host }
    /// Whether the client is this machine: 127/8, ::1, either of them in the other's clothes, or a Unix socket.
    public var isLoopback: Bool { remote.isLoopback }
    /// Whether the connection came over a Unix socket.
    public var isUnix: Bool { remote.isUnix }
    /// Whether the client reached an address that only this machine has.
    public var localIsLoopback: Bool { local.isLoopback }

    /// A peer, for tests of a service as well.
    public init(
        remote: SocketAddress, local: SocketAddress, isTLS: Bool = false, clientCertificateSubject: String? = nil
    ) {
        self.remote = remote
        self.local = local
        self.isTLS = isTLS
        self.clientCertificateSubject = clientCertificateSubject
    }
}
