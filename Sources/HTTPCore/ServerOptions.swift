import DiffClock

/// How a server is set up.
public struct ServerOptions: Sendable {
    /// Where to listen. With `tls`, TCP addresses speak TLS; Unix sockets never do.
    public var listen: [ListenAddress]
    /// TCP addresses that speak plain HTTP even with `tls`.
    public var listenPlainly: [ListenAddress] = []
    /// Encryption, or nil for none.
    public var tls: TLSOptions?
    /// Event loops, each on a thread of its own. Default: one for each core that the process may use.
    public var loops: Int
    /// How the loops wait for descriptors. Default: the cheapest on this system.
    public var polling = Polling.preferred
    /// Limits of messages.
    public var messageLimits = MessageLimits()
    /// Limits of a connection.
    public var connectionLimits = ConnectionLimits()
    /// Connections at once; one more is answered 503 and closed. Fewer if descriptors are lacking. Default 20,000.
    public var maxConnections = 20_000
    /// Connections at once of one `PeerNetwork`; up to 16 more are answered 503, and beyond that closed silently.
    /// Default nil: no limit.
    public var maxPeerConnections: Int?
    /// Counts and limits the received octets of incomplete messages, which leave `MemoryBudget.sparedPart` for whole
    /// ones. Default: no limit.
    public var incoming = MemoryBudget()
    /// Counts answers that wait for their readers. While they exceed the limit, the connections with the most waiting
    /// output are closed. Default: no limit.
    public var outgoing = MemoryBudget()
    /// Counts open connections.
    public var openConnections = ConnectionCount()
    /// Descriptors reserved for whatever else the process opens later: files, connections of its own. Default 16.
    public var reservedDescriptors = 16
    /// The smallest body, in octets, that is sent as gzip if answer and client allow it. Default 1 KiB.
    public var minCompressedBytes = 1024
    /// Freed memory that each arena of malloc keeps at its end, in bytes. Blocks of an eighth of that or more are
    /// returned as soon as they are freed. With glibc's 128 KiB, the pages of each body are fetched anew, and a body of
    /// 100 KB costs three times as much. Default 16 MiB.
    public var keptMemory = 16 << 20
    /// The permissions of a Unix socket. Default 0o660.
    public var unixPermissions: UInt32 = 0o660

    /// Sets malloc's thresholds, as `Server.start` does; a process that starts threads earlier should do so first.
    public func limitAllocator() { Machine.limitAllocator(kept: keptMemory, arenas: loops) }

    /// Default options for these addresses.
    public init(listen: [ListenAddress]) {
        self.listen = listen
        loops = Machine.cores
    }
}

/// Limits on a connection's time and memory.
public struct ConnectionLimits: Sendable, Hashable {
    /// From the first octet of a head to its end, and for a TLS handshake; then 408 and close. Default 10 s.
    public var headTimeout = Duration.seconds(10)
    /// The window over which a body's rate is measured. Default 10 s.
    public var bodyWindow = Duration.seconds(10)
    /// The least octets per second of a body in each window; fewer are 408 and close. Default 1 KiB/s.
    public var minBodyRate = 1024
    /// From the start or the last answer to the next request; then the connection is closed silently. Default 65 s.
    public var idleTimeout = Duration.seconds(65)
    /// The window over which a peer's read rate is measured while output waits for it. Default 30 s.
    public var writeStall = Duration.seconds(30)
    /// The least octets per second that a peer reads in each such window, or it is disconnected. Default 1 KiB/s.
    public var minWriteRate = 1024
    /// How long a new connection may take to send its first request while the server shuts down. Default 1 s.
    public var firstRequestTimeout = Duration.seconds(1)
    /// How long input is discarded after the last answer. Default 2 s.
    public var lingerTimeout = Duration.seconds(2)
    /// How much input is discarded after the last answer. Default 1 MiB.
    public var maxLingerBytes = 1024 * 1024
    /// The longest body that is discarded if the service answered without it, to keep the connection. Default 64 KiB.
    public var maxDiscardBytes = 64 * 1024
    /// While this many octets wait for the peer, no further request of the connection is read. Default 256 KiB.
    public var maxBacklogBytes = 256 * 1024

    /// The defaults.
    public init() {}
}

/// How large the parts of a message may be, in octets.
public struct MessageLimits: Sendable, Hashable {
    /// The request line without its CR LF; a longer one is 414. At most `largest`, default 16 KiB.
    public var maxRequestLineBytes = 16 * 1024
    /// A header or trailer section with its line ends; a longer one is 431. At most `largest`, default 32 KiB.
    public var maxHeaderBytes = 32 * 1024
    /// The upper bound of both: a head is read as one piece.
    public static let largest = 256 * 1024
    /// Field lines of a header or trailer section; more are 431. Default 100.
    public var maxFields = 100
    /// The size line of a chunk; a longer one is 400. Default 1 KiB.
    public var maxChunkLineBytes = 1024
    /// A body's chunk extensions in total, without the first 16 octets of each; more are 400. Default 8 KiB.
    public var maxChunkExtensionBytes = 8 * 1024

    /// The defaults.
    public init() {}
}

/// Encryption of connections: TLS 1.2 and 1.3, with forward secrecy and authenticated encryption only.
public struct TLSOptions: Sendable, Hashable {
    /// A PEM file with the server's certificate, followed by its chain.
    public var certificateFile: String
    /// A PEM file with the private key, without a passphrase.
    public var keyFile: String
    /// A PEM file with the authorities of client certificates; nil asks for none.
    public var clientAuthorityFile: String?
    /// With `clientAuthorityFile`, whether clients without a certificate are refused in the handshake. Default true.
    public var requiresClientCertificate = true

    /// TLS with this certificate and key.
    public init(certificateFile: String, keyFile: String, clientAuthorityFile: String? = nil) {
        (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
        self.clientAuthorityFile = clientAuthorityFile
    }

    /// Checks the files without a server. Throws what is wrong with them.
    public func check() throws(ListenError) { _ = try TLSContext(self) }
}
