import Glibc
import HTTPCore

/// What is done each second, on a thread of its own.
struct Housekeeping {
    private let service: DiffService
    private let server: Server
    private var freeMemory: FreeMemory
    private var excess: ExcessMemory
    private let excessShare: MemoryShare
    private var saturation = Saturation()
    private let log: LogFile?

    /// Runs until the process ends.
    ///
    /// - Parameter log: nil if the log does not go to a file.
    static func start(_ service: DiffService, _ server: Server, _ log: LogFile?) {
        SystemThread.start(named: "housekeeping") {
            var housekeeping = Housekeeping(service, server, log)
            while true {
                for quarter in 1...4 {
                    usleep(250_000)
                    housekeeping.giveBackMemory(isLast: quarter == 4)
                }
                housekeeping.turn()
            }
        }
    }

    private init(_ service: DiffService, _ server: Server, _ log: LogFile?) {
        (self.service, self.server, self.log) = (service, server, log)
        let table = service.table
        freeMemory = FreeMemory(slack: table.bounds.bytes / 16)
        excess = ExcessMemory(budget: table.bounds.bytes)
        excessShare = MemoryShare(of: table.messages.excess)
    }

    /// Below this budget, in bytes, what short-lived requests leave free within a second is a large part of it, and a
    /// walk over the heap takes some milliseconds.
    private static let smallBudget = 128 << 20

    /// - Parameter isLast: in this second.
    private mutating func giveBackMemory(isLast: Bool) {
        guard isLast || service.table.bounds.bytes < Self.smallBudget else { return }
        service.table.messages.connections.age()
        freeMemory.giveBack(used: service.table.size.bytes)
        guard let resident = ProcessFigures.memory?.resident else { return }
        excess.update(resident: resident)
        excessShare.hold(excess.bytes)
    }

    private mutating func turn() {
        service.sweep()
        if log?.follow() == true { service.journal.log("log file reopened: the old one was moved or removed") }
        if let line = saturation.line(for: server.counters) { service.journal.log(line, level: "warning") }
    }
}
