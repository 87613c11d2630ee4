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
    /// The least octets per second that a peer reads in each such window; a slower one is disconnected. Default 1
    /// KiB/s.
    public var minWriteRate = 1024
    /// How long input is discarded after the last answer. Default 2 s.
    public var lingerTimeout = Duration.seconds(2)
    /// How much input is discarded after the last answer. Default 1 MiB.
    public var maxLingerBytes = 1024 * 1024
    /// The longest request body of known length that is discarded if the service answered without it; a longer one ends
    /// the connection. Default 64 KiB.
    public var maxDiscardBytes = 64 * 1024
    /// While this many octets wait for the peer, no further request of the connection is read. Default 256 KiB.
    public var maxBacklogBytes = 256 * 1024

    /// The defaults.
    public init() {}
}
