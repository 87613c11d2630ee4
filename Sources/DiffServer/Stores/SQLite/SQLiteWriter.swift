// Group commit: writes go into a list; one thread takes the whole list, writes it in one transaction, and calls back
// once that is on disk. While one fsync runs the next group gathers, so the speed of the disk determines the size of
// groups, and nobody waits for a timer.

import Dispatch
import HTTPCore

/// Writes to a database, many in one transaction.
final class SQLiteWriter: @unchecked Sendable {  // the database belongs to `queue`, the rest to locks
    typealias Write = @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Outcome

    /// `write` runs within a transaction, and may run twice; `done` is called when it is durable, or has failed.
    private struct Job {
        let write: Write
        let done: Completion<Void>
    }

    enum Outcome: Sendable {
        case written
        /// The version that it follows was not there.
        case conflict
    }

    private let database: SQLiteDatabase
    private let watch: SQLiteWatch
    private let health: StoreHealth
    private let queue = DispatchQueue(label: "diff.sqlite.write")
    private let jobs = Locked<[Job]>([])

    /// Writes in a transaction at most: each of them waits for all.
    private static let largestGroup = 1024

    init(_ database: SQLiteDatabase, _ watch: SQLiteWatch, _ health: StoreHealth) {
        (self.database, self.watch, self.health) = (database, watch, health)
    }

    func submit(_ write: @escaping Write, done: @escaping Completion<Void>) {
        let isFirst = jobs.withLock { jobs in
            jobs.append(Job(write: write, done: done))
            return jobs.count == 1
        }
        if isFirst { queue.async { self.writeAll() } }
    }

    /// Writes without calling back.
    func submit(_ write: @escaping @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Void) {
        submit { (database) throws(SQLiteDatabase.Failure) in
            try write(database)
            return .written
        } done: { _ in
        }
    }

    /// Writes everything that was submitted, moves the log into the file, and closes. What is submitted later fails.
    func close() {
        queue.sync {
            writeAll()
            // Otherwise the log of the database that replaced this one would be removed.
            if lost() == nil { database.close() }
        }
    }

    /// Checks the files while nobody writes.
    func check() { queue.async { _ = self.lost() } }

    /// Why nothing can be written; nil if it can.
    private func lost() -> StoreFailure? {
        guard let trouble = watch.trouble(database) else {
            health.recover(.file)
            return nil
        }
        health.fail(.file, because: trouble)
        return .unavailable("its files are not what they were")
    }

    private func writeAll() {
        while true {
            let group = jobs.withLock { jobs in
                let group = Array(jobs.prefix(Self.largestGroup))
                jobs.removeFirst(group.count)
                return group
            }
            if group.isEmpty { return }
            write(group)
        }
    }

    private func write(_ group: [Job]) {
        if let failure = lost() { return group.forEach { $0.done(.failure(failure)) } }
        let outcomes: [Outcome]
        do throws(SQLiteDatabase.Failure) {
            outcomes = try written(group)
        } catch {
            if !database.isIdle { _ = try? database.run("ROLLBACK") }
            // If one session's write fails by itself, the others are written without it.
            if error.isLocal, group.count > 1 { return group.forEach { write([$0]) } }
            if !error.isLocal { health.fail(.writes, because: error.message) }
            for job in group { job.done(.failure(StoreFailure(error))) }
            return
        }
        if let failure = lost() { return group.forEach { $0.done(.failure(failure)) } }
        health.recover(.writes)
        for (job, outcome) in zip(group, outcomes) {
            job.done(outcome == .written ? .success(()) : .failure(.conflict))
        }
    }

    private func written(_ group: [Job]) throws(SQLiteDatabase.Failure) -> [Outcome] {
        // If memory was short, the rollback of the last transaction may have failed too.
        if !database.isIdle { try database.run("ROLLBACK") }
        try database.run("BEGIN IMMEDIATE")
        var outcomes: [Outcome] = []
        for job in group { outcomes.append(try job.write(database)) }
        try database.run("COMMIT")
        return outcomes
    }
}
