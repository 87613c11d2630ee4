import Glibc
import HTTPCore

/// What is done once a second, whatever clients do, on a thread of its own.
struct Housekeeping {
    private let service: DiffService
    private let server: Server
    private var freeMemory: FreeMemory
    private var crowd = Crowd()
    private let file = LogFile(descriptor: STDERR_FILENO)

    /// Begins, and goes on until the process ends.
    static func start(_ service: DiffService, _ server: Server) {
        SystemThread.start(named: "housekeeping") {
            var housekeeping = Housekeeping(service, server)
            while true {
                sleep(1)
                housekeeping.turn()
            }
        }
    }

    private init(_ service: DiffService, _ server: Server) {
        (self.service, self.server) = (service, server)
        freeMemory = FreeMemory(slack: service.options.tableBounds.bytes / 16)
    }

    private mutating func turn() {
        service.store.sweep()
        freeMemory.giveBack(used: service.table.size.bytes)
        if file?.follow() == true { service.journal.log("the log goes on here: its file was moved or removed") }
        if let line = crowd.line(for: server.counters) { service.journal.log(line, level: "warning") }
    }
}

/// Tells a beginning and an end where connections come to their limit, and nothing between.
struct Crowd {
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
        return
            "connections are below their limit again: \(counters.openConnections) of \(counters.connectionLimit) are open"
    }
}
