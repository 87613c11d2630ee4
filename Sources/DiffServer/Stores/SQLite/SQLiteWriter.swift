// Group commit: whoever wants something written puts it into a list; one thread takes the whole list, writes it in one transaction, and tells
// everybody once that is on the disk. While one fsync runs the next group gathers, so the disk's own pace decides how large groups are,
// and nobody waits for a timer.

import CSQLite
import Dispatch
import HTTPCore

/// Writes to a database, many in one transaction.
final class SQLiteWriter: @unchecked Sendable {  // the database belongs to `queue`, the rest to locks
    /// Something to write. `write` runs within a transaction and may run twice; `done` is told when it is durable, or why it is not.
    struct Job: Sendable {
        let write: @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Outcome
        let done: @Sendable (Result<Outcome, StoreFailure>) -> Void
    }

    /// What became of it.
    enum Outcome: Sendable {
        case written
        /// What it stood on was not there.
        case conflict
    }

    private let database: SQLiteDatabase
    private let queue = DispatchQueue(label: "diff.sqlite.write")
    private let jobs = Locked<[Job]>([])
    /// Why the last group could not be written.
    private let trouble = Locked<String?>(nil)

    /// How many are written at once at most: each keeps its answer waiting for all.
    private static let largestGroup = 1024

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Nil while all is well.
    var isWell: Bool { trouble.withLock { $0 == nil } }

    func submit(_ job: Job) {
        let isFirst = jobs.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        if isFirst { queue.async { self.writeAll() } }
    }

    /// Returns when everything that was submitted is written.
    func finish() { queue.sync { writeAll() } }

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
        do throws(SQLiteDatabase.Failure) {
            try database.run("BEGIN IMMEDIATE")
            var outcomes: [Outcome] = []
            for job in group { outcomes.append(try job.write(database)) }
            try database.run("COMMIT")
            trouble.withLock { $0 = nil }
            for (job, outcome) in zip(group, outcomes) { job.done(.success(outcome)) }
        } catch {
            if !database.isIdle { _ = try? database.run("ROLLBACK") }
            let reason = error.message
            trouble.withLock { $0 = reason }
            for job in group { job.done(.failure(.unavailable(reason))) }
        }
    }
}
