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
    /// Hears of what fails, and of what is well again.
    var health = StoreHealth()
    /// Whether a login that is refused does not matter, as with sentinels: most have no password, though their servers
    /// do.
    var mayRefuseLogin = false
}
