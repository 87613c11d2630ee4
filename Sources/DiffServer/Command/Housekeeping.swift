import CDiffSystem
import DiffService
import Dispatch
import HTTPCore
import Synchronization

/// The work done each second, on a separate thread.
enum Housekeeping {
    /// Runs until the process ends. The log is nil if it does not go to a file.
    static func start(_ service: DiffService, _ server: Server, _ log: LogFile?) {
        SystemThread.start(named: "housekeeping") {
            let table = service.table
            var freeMemory = FreeMemory(slack: table.bounds.bytes / 16)
            var excess = ExcessMemory(budget: table.bounds.bytes)
            let excessShare = MemoryShare(of: table.account.excess)
            var saturation = Saturation()
            while true {
                for quarter in 1...4 {
                    usleep(250_000)
                    // What short-lived requests free within a second is a large part of a small budget, and a walk over
                    // its heap takes a few milliseconds.
                    guard quarter == 4 || table.bounds.bytes < 128 << 20 else { continue }
                    table.account.connections.age()
                    freeMemory.trim(used: table.size.bytes)
                    guard let resident = ProcessFigures.memory?.resident else { continue }
                    excess.update(resident: resident)
                    excessShare.hold(excess.bytes)
                }
                service.sweep()
                if log?.follow() == true { service.journal.log("log file reopened: the old one was moved or removed") }
                if let line = saturation.line(for: server.counters) { service.journal.log(line, level: "warning") }
            }
        }
    }
}

// MARK: - Memory

/// Returns memory that the allocator holds unused: evicted sessions leave holes between those that stay.
struct FreeMemory {
    /// Unaccounted bytes of the process that are worth a try.
    let slack: Int
    /// The size of the process after the last try, if that was useless.
    private(set) var useless: Int?

    /// Returns memory to the system if the process holds `slack` bytes more than the accounted `used` ones. Each try
    /// walks over the whole heap, under its locks. So one that brought less than a quarter of the slack is not repeated
    /// until the size of the process has changed by as much.
    mutating func trim(
        used: Int, resident: () -> Int? = { ProcessFigures.memory?.resident }, trim: () -> Void = { malloc_trim(0) }
    ) {
        guard let before = resident(), before > used + slack else { return useless = nil }
        if let useless, before > useless - slack / 4, before < useless + slack / 4 { return }
        trim()
        useless = resident().flatMap { $0 > before - slack / 4 ? $0 : nil }
    }
}

/// Resident memory above 17/16 of the budget and 32 MiB: fragmentation, which no counter sees. Thousands of requests
/// that end at once leave holes too small to be returned, into which sessions do not fit; without this, 64 MiB over
/// SQLite reached 140 MiB.
struct ExcessMemory {
    private let limit: Int
    private let most: Int
    /// The bytes that sessions must do without: at most half of the budget.
    private(set) var bytes = 0
    private var last = 0

    init(budget: Int) { (limit, most) = (budget / 16 * 17 + (32 << 20), budget / 2) }

    /// Goes half of the way to what would have met the limit: evicted sessions come back later, if at all. A peak that
    /// has passed by the next time does not count.
    mutating func update(resident: Int) {
        bytes = min(max(0, bytes + (min(resident, last) - limit) / 2), most)
        last = resident
    }
}

/// Returns the memory of evicted sessions as soon as there is much of it. Otherwise the process holds it beside the
/// memory of new sessions, which seldom fit into the holes.
/// With 64 MiB, four clients that put states of 1 KB to 1 MB into ever new sessions bring the process to 94–103 MiB,
/// and without this to 121–132 MiB, where 112 MiB are promised. Each put costs half as much again.
final class EvictedMemory: Sendable {
    /// Bytes that are worth a walk over the heap.
    private let worth: Int
    private let bytes = Atomic<Int>(0)
    private let queue = DispatchQueue(label: "diff.memory")

    init(worth: Int) { self.worth = worth }

    /// Counts bytes just freed. From any thread; another one walks over the heap.
    func add(_ freed: Int) {
        let before = bytes.add(freed, ordering: .relaxed).oldValue
        guard before < worth, before + freed >= worth else { return }
        queue.async { [self] in
            bytes.store(0, ordering: .relaxed)
            malloc_trim(0)
        }
    }
}

// MARK: - Saturation

/// Reports when connections reach their limit and when that is over, and nothing in between.
struct Saturation {
    private var isReported = false
    private var refused = 0
    private var pauses = 0

    /// The line for the log, if one is due. It is over when a tenth of the limit is free again, so that single clients
    /// that come and go do not fill the log.
    mutating func line(for counters: Server.Counters) -> String? {
        defer { (refused, pauses) = (counters.refusedConnections, counters.acceptPauses) }
        let isFull = counters.refusedConnections > refused || counters.acceptPauses > pauses
        if isFull, !isReported {
            isReported = true
            return counters.acceptPauses > pauses
                ? "cannot accept connections: no file descriptors or memory left"
                : "connection limit of \(counters.connectionLimit) reached: refusing more"
        }
        guard isReported, !isFull, counters.openConnections < counters.connectionLimit - counters.connectionLimit / 10
        else { return nil }
        isReported = false
        return "accepting connections again: \(counters.openConnections) of \(counters.connectionLimit) open"
    }
}
