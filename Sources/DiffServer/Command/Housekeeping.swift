import Glibc
import HTTPCore

/// What is done once a second, whatever clients do, on a thread of its own.
struct Housekeeping {
    private let service: DiffService
    private let server: Server
    private var freeMemory: FreeMemory
    private var saturation = Saturation()
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
        service.sweep()
        freeMemory.giveBack(used: service.table.size.bytes)
        if file?.follow() == true { service.journal.log("the log goes on here: its file was moved or removed") }
        if let line = saturation.line(for: server.counters) { service.journal.log(line, level: "warning") }
    }
}
