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
    /// Sizes of messages.
    public var messageLimits = MessageLimits()
    /// Times and amounts of one connection.
    public var connectionLimits = ConnectionLimits()
    /// Connections at once, all loops together; one more is answered 503 and closed. Fewer where the process may not
    /// have so many descriptors. Default 20,000.
    public var maxConnections = 20_000
    /// Connections at once of one peer (`PeerNetwork`), all loops together; one more is answered 503 and closed. Of one
    /// peer 16 may hear that at once, still more are closed without a word. Unix sockets have none. Default nil: none.
    public var maxPeerConnections: Int?
    /// Counts, and bounds, what has come of messages that are not complete. Default: no bound.
    public var incoming = MemoryBudget()
    /// Counts answers that wait for their readers. Where they are more than its limit, the connections on which most
    /// waits are closed until they are not. Default: no bound.
    public var outgoing = MemoryBudget()
    /// Counts the connections that are open.
    public var openConnections = ConnectionCount()
    /// Descriptors that are left to what else the process opens from the start on: files, connections of its own.
    /// Default 16.
    public var reservedDescriptors = 16
    /// The smallest body that is sent as gzip, in octets, if the answer allows it and the client wants it. Default 1
    /// KiB.
    public var minCompressedBytes = 1024
    /// Whether freed memory up to some MiB stays with the process. Without it glibc returns every large body's pages
    /// and takes them anew, and a body of 100 KB costs three times as much. Default true.
    public var keepsFreedMemory = true
    /// The permissions of a Unix socket. Default 0o660.
    public var unixPermissions: UInt32 = 0o660

    /// The defaults, for these addresses.
    public init(listen: [ListenAddress]) {
        self.listen = listen
        loops = availableCores()
    }
}
