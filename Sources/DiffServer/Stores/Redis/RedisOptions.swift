import HTTPCore

/// How a Redis is spoken to.
struct RedisOptions: Sendable {
    /// How its certificate is verified; nil trusts the system's authorities. Used only where the address wants TLS.
    var tls: OutgoingTLS?
    /// For a connection until it can take commands, and for a sentinel to answer.
    var connectTimeout = Duration.seconds(2)
    /// For an answer. A server that hangs is lost after it.
    var commandTimeout = Duration.seconds(5)
    /// Before a connection is tried again: from the first of these, doubled each time, to the second.
    var backOff = BackOff.Bounds()
    /// Commands that wait for a first attempt to connect.
    var maxWaiting = 10_000
    /// How the connection is called in `CLIENT LIST`.
    var name = "diffserver"
    /// Hears, on the loop, what an operator may want to know: a lost connection and why, and one that is there again.
    var notice: @Sendable (String) -> Void = { _ in }
}
