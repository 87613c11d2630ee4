// Group commit: whoever wants something written puts it into a list; one thread takes the whole list, writes it in one
// transaction, and tells everybody once that is on the disk. While one fsync runs the next group gathers, so the disk's
// own pace decides how large groups are, and nobody waits for a timer.

import Dispatch
import HTTPCore

/// Writes to a database, many in one transaction.
final class SQLiteWriter: @unchecked Sendable {  // the database belongs to `queue`, the rest to locks
    typealias Write = @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Outcome

    /// Something to write. `write` runs within a transaction and may run twice; `done` is told when it is durable, or
    /// why it is not.
    private struct Job {
        let write: Write
        let done: @Sendable (Result<Void, StoreFailure>) -> Void
    }

    /// What became of it.
    enum Outcome: Sendable {
        case written
        /// What it stood on was not there.
        case conflict
    }

    private let database: SQLiteDatabase
    private let watch: SQLiteWatch
    private let health: StoreHealth
    private let queue = DispatchQueue(label: "diff.sqlite.write")
    private let jobs = Locked<[Job]>([])

    /// How many are written at once at most: each keeps its answer waiting for all.
    private static let largestGroup = 1024

    init(_ database: SQLiteDatabase, _ watch: SQLiteWatch, _ health: StoreHealth) {
        (self.database, self.watch, self.health) = (database, watch, health)
    }

    func submit(_ write: @escaping Write, done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void) {
        let isFirst = jobs.withLock { jobs in
            jobs.append(Job(write: write, done: done))
            return jobs.count == 1
        }
        if isFirst { queue.async { self.writeAll() } }
    }

    /// Writes something of which nobody needs to hear.
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
            // Else the log of whoever took its place would be removed.
            if lost() == nil { database.close() }
        }
    }

    /// Looks after the files though nobody writes.
    func check() { queue.async { _ = self.lost() } }

    /// Nil, or why nothing can be written.
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
            // One session's damage is not the others' trouble.
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
        // Where memory was short, the end of the last one may have failed too.
        if !database.isIdle { try database.run("ROLLBACK") }
        try database.run("BEGIN IMMEDIATE")
        var outcomes: [Outcome] = []
        for job in group { outcomes.append(try job.write(database)) }
        try database.run("COMMIT")
        return outcomes
    }
}
