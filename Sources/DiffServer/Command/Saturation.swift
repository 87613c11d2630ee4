import HTTPCore

/// Tells a beginning and an end where connections come to their limit, and nothing between.
struct Saturation {
    private var isTold = false
    private var refused = 0
    private var pauses = 0

    /// The line for the log, if one is due. It is over when a tenth of the room is free again, so that one client more
    /// or less does not fill the log.
    mutating func line(for counters: Server.Counters) -> String? {
        defer { (refused, pauses) = (counters.refusedConnections, counters.acceptPauses) }
        let isFull = counters.refusedConnections > refused || counters.acceptPauses > pauses
        if isFull, !isTold {
            isTold = true
            let reason =
                counters.acceptPauses > pauses ? "no descriptor or memory is left for more" : "more are refused"
            return "connections are at their limit of \(counters.connectionLimit): \(reason)"
        }
        guard isTold, !isFull, counters.openConnections < counters.connectionLimit - counters.connectionLimit / 10
        else { return nil }
        isTold = false
        return "connections are below their limit again: "
            + "\(counters.openConnections) of \(counters.connectionLimit) are open"
    }
}
