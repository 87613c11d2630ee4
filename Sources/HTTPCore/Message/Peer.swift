/// Who is on the other end of a connection. A value of one reference: cheap to pass and to keep.
public struct Peer: Sendable, Hashable {
    private let ends: Ends

    /// What is known of a connection's ends. Immutable, so it can be read from any thread.
    private final class Ends: Sendable {
        let remote: SocketAddress
        let local: SocketAddress
        let isTLS: Bool
        let clientCertificateSubject: String?

        init(_ remote: SocketAddress, _ local: SocketAddress, _ isTLS: Bool, _ clientCertificateSubject: String?) {
            self.remote = remote
            self.local = local
            self.isTLS = isTLS
            self.clientCertificateSubject = clientCertificateSubject
        }
    }

    /// The address of the client. For a Unix socket, the path of the socket.
    public var remote: SocketAddress { ends.remote }
    /// The address that the client reached.
    public var local: SocketAddress { ends.local }
    /// Whether the connection is encrypted.
    public var isTLS: Bool { ends.isTLS }
    /// The subject of the client's certificate as one line (RFC 2253), if it gave one; it has been verified then.
    public var clientCertificateSubject: String? { ends.clientCertificateSubject }

    /// What counts as one peer where each has a limit; nil over a Unix socket.
    public var network: PeerNetwork? { PeerNetwork(remote) }
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
        ends = Ends(remote, local, isTLS, clientCertificateSubject)
    }

    /// Whether two peers are the same in every respect.
    public static func == (a: Peer, b: Peer) -> Bool {
        a.remote == b.remote && a.local == b.local && a.isTLS == b.isTLS
            && a.clientCertificateSubject == b.clientCertificateSubject
    }

    /// Feeds what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(remote)
        hasher.combine(local)
    }
}
