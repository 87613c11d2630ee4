/// How long a connection may take for what, and how much it may hold meanwhile.
public struct ConnectionLimits: Sendable, Hashable {
    /// From the first octet of a head to its end, and for a TLS handshake; later is 408 and close. Default 10 s.
    public var headTimeout = Duration.seconds(10)
    /// The span over which the rate of a body is measured, again and again. Default 10 s.
    public var bodyWindow = Duration.seconds(10)
    /// Octets a second that a body brings at least, over each window; less is 408 and close. Default 1 KiB/s.
    public var minBodyRate = 1024
    /// A connection without a request, from its start or the last answer; then it is closed without a word. Default 65
    /// s.
    public var idleTimeout = Duration.seconds(65)
    /// The span over which it is measured how fast a peer takes what waits for it, again and again until nothing waits.
    /// Default 30 s.
    public var writeStall = Duration.seconds(30)
    /// Octets a second that a peer takes at least, over each window in which something waited; who takes less is
    /// closed. Default 1 KiB/s.
    public var minWriteRate = 1024
    /// How long the rest of the input is read away behind the last answer. Default 2 s.
    public var lingerTimeout = Duration.seconds(2)
    /// How much of it is read away. Default 1 MiB.
    public var maxLingerBytes = 1024 * 1024
    /// A request body of a length that is known and at most this is read away if the service answered without it; a
    /// longer one ends the connection. Default 64 KiB.
    public var maxDiscardBytes = 64 * 1024
    /// Octets of answers waiting for the peer from which no further request of the connection is read. Default 256 KiB.
    public var maxBacklogBytes = 256 * 1024

    /// The defaults.
    public init() {}
}
