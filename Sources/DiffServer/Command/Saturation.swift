import HTTPCore

/// Reports when connections reach their limit and when that is over, and nothing in between.
struct Saturation {
    private var isTold = false
    private var refused = 0
    private var pauses = 0

    /// The line for the log, if one is due. It is over when a tenth of the limit is free again, so that single clients
    /// that come and go do not fill the log.
    mutating func line(for counters: Server.Counters) -> String? {
        defer { (refused, pauses) = (counters.refusedConnections, counters.acceptPauses) }
        let isFull = counters.refusedConnections > refused || counters.acceptPauses > pauses
        if isFull, !isTold {
            isTold = true
            return counters.acceptPauses > pauses
                ? "cannot accept connections: no file descriptors or memory left"
                : "connection limit of \(counters.connectionLimit) reached: refusing more"
        }
        guard isTold, !isFull, counters.openConnections < counters.connectionLimit - counters.connectionLimit / 10
        else { return nil }
        isTold = false
        return "accepting connections again: \(counters.openConnections) of \(counters.connectionLimit) open"
    }
}
