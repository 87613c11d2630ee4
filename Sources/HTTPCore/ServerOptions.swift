import CDiffSystem

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
    /// Limits of messages.
    public var messageLimits = MessageLimits()
    /// Limits of a connection.
    public var connectionLimits = ConnectionLimits()
    /// Connections at once, over all loops; one more is answered 503 and closed. Fewer if the process lacks
    /// descriptors. Default 20,000.
    public var maxConnections = 20_000
    /// Connections at once of one peer (`PeerNetwork`), over all loops; up to 16 more are answered 503, and beyond that
    /// closed silently. Does not apply to Unix sockets. Default nil: no limit.
    public var maxPeerConnections: Int?
    /// Counts and limits what has arrived of incomplete messages. Default: no limit.
    public var incoming = MemoryBudget()
    /// Counts answers that wait for their readers. While they exceed the limit, the connections with the most waiting
    /// output are closed. Default: no limit.
    public var outgoing = MemoryBudget()
    /// Counts open connections.
    public var openConnections = ConnectionCount()
    /// Descriptors reserved for whatever else the process opens later: files, connections of its own. Default 16.
    public var reservedDescriptors = 16
    /// The smallest body, in octets, that is sent as gzip if the answer allows it and the client wants it. Default 1
    /// KiB.
    public var minCompressedBytes = 1024
    /// Freed memory that each arena of malloc keeps at its end, in bytes. Blocks of an eighth of that or more are
    /// returned as soon as they are freed, since the hole of a large block is seldom filled again. Little makes large
    /// bodies slow: with glibc's 128 KiB the pages of each are fetched anew, and one of 100 KB costs three times as
    /// much. Default 16 MiB.
    public var keptMemory = 16 << 20
    /// The permissions of a Unix socket. Default 0o660.
    public var unixPermissions: UInt32 = 0o660

    /// Sets malloc's thresholds. `Server.start` does; a process that starts threads before should do so first, since
    /// each of them may be given an arena of its own, and keeps it.
    public func limitAllocator() {
        mallopt(M_TRIM_THRESHOLD, Int32(clamping: keptMemory))
        mallopt(M_MMAP_THRESHOLD, Int32(clamping: keptMemory / 8))
        // An arena keeps its free memory to itself, so more arenas than loops would waste it.
        mallopt(M_ARENA_MAX, Int32(loops))
    }

    /// Default options for these addresses.
    public init(listen: [ListenAddress]) {
        self.listen = listen
        loops = availableCores()
    }
}
