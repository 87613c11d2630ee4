import HTTPCore

/// How connections to a Redis behave.
struct RedisOptions: Sendable {
    /// How its certificate is verified; nil trusts the system's authorities. Used only if the address asks for TLS.
    var tls: OutgoingTLS?
    /// Until a connection can take commands, and for a sentinel's answer.
    var connectTimeout = Duration.seconds(2)
    /// For an answer. The connection to a server that takes longer is closed.
    var commandTimeout = Duration.seconds(5)
    /// Pauses before a connection is tried again.
    var backOff = BackOff.Bounds()
    /// Commands that may wait for a first attempt to connect.
    var maxWaiting = 10_000
    /// The connection's name in `CLIENT LIST`.
    var name = "diffserver"
    /// Is told of failures and recoveries.
    var health = StoreHealth()
    /// Whether a refused login does not matter, as with sentinels: most have no password, though their servers do.
    var mayRefuseLogin = false
}
