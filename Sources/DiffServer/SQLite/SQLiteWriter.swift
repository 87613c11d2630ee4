// Group commit: writes go into a list; one thread takes the whole list, writes it in one transaction, and calls back
// once that is on disk. While one fsync runs the next group gathers, so the speed of the disk determines the size of
// groups, and nobody waits for a timer.

import DiffClock
import DiffSessions
import DiffStores
import Dispatch
import SnapshotKit

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
            if fileFailure() == nil { database.close() }
        }
    }

    /// Checks the files while nobody writes.
    func check() { queue.async { _ = self.fileFailure() } }

    /// Why nothing can be written; nil if it can.
    private func fileFailure() -> StoreFailure? {
        guard let problem = watch.problem(database) else {
            health.recover(.file)
            return nil
        }
        health.fail(.file, because: problem)
        return .unavailable("its files were changed while in use")
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
        if let failure = fileFailure() { return group.forEach { $0.done(.failure(failure)) } }
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
        if let failure = fileFailure() { return group.forEach { $0.done(.failure(failure)) } }
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

// MARK: - Writes of the store

extension SQLiteStore {
    package func swap(_ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor)
        -> Stored<SessionSlot>
    {
        .of { done in
            if let before {
                commit(next, to: before.slot, after: before.session, done)
            } else {
                create(name, next, done)
            }
        }
    }

    package func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void> {
        .of { drop(session.slot, after: session.session, at: revision, $0) }
    }

    package func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void> { .of { discard(name, $0) } }

    package func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void> {
        .of { done in
            writer.submit { (database) throws(SQLiteDatabase.Failure) in
                try database.revoke(name, upTo: moment)
                return .written
            } done: { [table] result in
                if case .success = result { table.revocations.add(name, upTo: moment) }
                done(result)
            }
        }
    }

    private func create(_ name: String, _ session: Session, _ done: @escaping Completion<SessionSlot>) {
        guard table.hasRoom(for: session) else { return done(.failure(.capacity)) }
        guard !table.holds(name) else { return done(.failure(.conflict)) }
        guard pendingWrites.enterAlone(name, again: { [self] in create(name, session, done) }) else { return }
        let commit = logCommit(session.renamed(), after: nil)
        let session = commit.session
        writer.submit { [hash, records] (database) throws(SQLiteDatabase.Failure) in
            // The record, and the row that SQLite makes of it.
            try records.charging(2 * session.head.footprint) { () throws(SQLiteDatabase.Failure) in
                try database.insert(commit, named: name, by: hash) ? .written : .conflict
            }
        } done: { [self] result in
            let outcome = result.flatMap { table.create(name, session) }
            pendingWrites.leave(name, result)
            done(outcome)
        }
    }

    private func commit(
        _ next: Session, to slot: SessionSlot, after read: Session, _ done: @escaping Completion<SessionSlot>
    ) {
        guard table.hasRoom(for: next) else { return done(.failure(.capacity)) }
        switch pendingWrites.last(of: slot, read: read) {
        case .gone: done(.failure(.conflict))
        case .unknown: pendingWrites.afterQueued(of: slot.name) { [self] in commit(next, to: slot, after: read, done) }
        case .session(let before):
            guard next.follows(before, at: read.head.revision) else { return done(.failure(.conflict)) }
            commit(next.renamed(), to: slot, standingOn: before, done)
        }
    }

    private func commit(
        _ next: Session, to slot: SessionSlot, standingOn before: Session, _ done: @escaping Completion<SessionSlot>
    ) {
        let commit = logCommit(next, after: before)
        let next = commit.session
        let hasEntered = pendingWrites.enter(slot, behind: before.version, next: next) {
            writer.submit { [hash, records] (database) throws(SQLiteDatabase.Failure) in
                let room = commit.isCheckpoint ? 2 * next.head.footprint : 0
                return try records.charging(room) { () throws(SQLiteDatabase.Failure) in
                    try database.update(commit, named: slot.name, after: before, by: hash) ? .written : .conflict
                }
            } done: { [self] result in
                switch result {
                // This brings back a session that was evicted meanwhile.
                case .success: _ = table.commit(next, to: slot, after: before)
                case .failure(let failure): failed(failure, before, slot)
                }
                pendingWrites.leave(slot.name, result)
                done(result.map { slot })
            }
        }
        if !hasEntered { done(.failure(.conflict)) }
    }

    private func drop(
        _ slot: SessionSlot, after read: Session, at revision: Revision?, _ done: @escaping Completion<Void>
    ) {
        switch pendingWrites.last(of: slot, read: read) {
        case .gone: done(.failure(.conflict))
        case .unknown:
            pendingWrites.afterQueued(of: slot.name) { [self] in drop(slot, after: read, at: revision, done) }
        case .session(let before):
            guard revision == nil || before.head.revision == revision else { return done(.failure(.conflict)) }
            drop(slot, before, done)
        }
    }

    private func drop(_ slot: SessionSlot, _ before: Session, _ done: @escaping Completion<Void>) {
        let hasEntered = pendingWrites.enter(slot, behind: before.version, next: nil) {
            writer.submit { (database) throws(SQLiteDatabase.Failure) in
                try database.delete(slot.name, version: before.version) ? .written : .conflict
            } done: { [self] result in
                switch result {
                case .success: _ = table.drop(slot, at: nil)
                case .failure(let failure): failed(failure, before, slot)
                }
                pendingWrites.leave(slot.name, result)
                done(result)
            }
        }
        if !hasEntered { done(.failure(.conflict)) }
    }

    /// After a conflict, drops the version that the database did not have: the file was changed from outside, and the
    /// next request reads it.
    private func failed(_ failure: StoreFailure, _ before: Session, _ slot: SessionSlot) {
        if failure == .conflict { _ = table.drop(slot, at: before.head.revision) }
    }

    private func discard(_ name: String, _ done: @escaping Completion<Void>) {
        guard pendingWrites.enterAlone(name, again: { [self] in discard(name, done) }) else { return }
        writer.submit { (database) throws(SQLiteDatabase.Failure) in
            try database.delete(name)
            return .written
        } done: { [self] result in
            pendingWrites.leave(name, result)
            done(result)
        }
    }
}
