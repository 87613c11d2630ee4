// Group commit: one thread takes all writes that wait, writes them in one transaction, and calls back once that is on
// disk. While one fsync runs the next group gathers, so nobody waits for a timer.

import DiffClock
import DiffSessions
import DiffStores
import Dispatch

/// Writes to a database, many in one transaction.
final class SQLiteWriter: @unchecked Sendable {  // the database belongs to `queue`, the rest to locks
    /// - Returns: false if the version to be replaced is missing.
    typealias Write = @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Bool

    /// `write` runs within a transaction, and may run twice; `done` is called when it is durable, or has failed.
    private struct Job {
        let write: Write
        /// Whether the write only deletes, which is possible on a full disk too.
        let frees: Bool
        let done: Completion<Void>
    }

    private let database: SQLiteDatabase
    private let watch: SQLiteWatch
    private let health: StoreHealth
    /// The most pages of the file; nil for no limit. A write that does not grow the file is always possible.
    private let mostPages: Int?
    private let reserve: SQLiteReserve
    private let queue = DispatchQueue(label: "diff.sqlite.write")
    private let jobs = Locked<[Job]>([])

    /// The most writes in a transaction: each waits for all of them.
    private static let largestGroup = 1024

    init(
        _ database: SQLiteDatabase, _ watch: SQLiteWatch, _ health: StoreHealth, mostPages: Int?, reserve: SQLiteReserve
    ) {
        (self.database, self.watch, self.health) = (database, watch, health)
        (self.mostPages, self.reserve) = (mostPages, reserve)
    }

    func submit(frees: Bool = false, _ write: @escaping Write, done: @escaping Completion<Void>) {
        let isFirst = jobs.withLock { jobs in
            jobs.append(Job(write: write, frees: frees, done: done))
            return jobs.count == 1
        }
        if isFirst { queue.async { self.writeAll() } }
    }

    /// Writes without calling back.
    func submit(_ write: @escaping @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Void) {
        submit { (database) throws(SQLiteDatabase.Failure) in
            try write(database)
            return true
        } done: { _ in
        }
    }

    /// Writes everything submitted, checkpoints the log, and closes. Later writes fail.
    func close() {
        queue.sync {
            writeAll()
            // Otherwise closing would remove the log of the database that replaced this one.
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
                if jobs.count <= Self.largestGroup { return exchange(&jobs, with: []) }
                let group = Array(jobs.prefix(Self.largestGroup))
                jobs.removeFirst(group.count)
                return group
            }
            if group.isEmpty { return }
            write(group)
        }
    }

    /// - Parameter isRetry: whether space was just freed for the group.
    private func write(_ group: [Job], isRetry: Bool = false) {
        if let failure = fileFailure() { return group.forEach { $0.done(.failure(failure)) } }
        guard group.allSatisfy(\.frees) || mayGrow() else { return write(group, onFullDisk: .fullDisk) }
        let outcomes: [Bool]
        do throws(SQLiteDatabase.Failure) {
            outcomes = try written(group)
        } catch {
            if !database.isIdle { _ = try? database.run("ROLLBACK") }
            if error.isFullDisk {
                if isRetry { return refuse(group, error) }
                reserve.release()
                truncateLog()
                return write(group, isRetry: true)
            }
            // The failure may concern one session only, so each write is tried alone.
            if error.isLocal, group.count > 1 { return group.forEach { write([$0]) } }
            if !error.isLocal { health.fail(.writes, because: error.message) }
            for job in group { job.done(.failure(StoreFailure(error))) }
            return
        }
        if let failure = fileFailure() { return group.forEach { $0.done(.failure(failure)) } }
        if reserve.isHeld || !group.allSatisfy(\.frees) { health.recover(.writes) } else { truncateLog() }
        for (job, isWritten) in zip(group, outcomes) { job.done(isWritten ? .success(()) : .failure(.conflict)) }
    }

    /// Checkpoints the log into the file, where deletes have freed space, and truncates it.
    private func truncateLog() { _ = try? database.run("PRAGMA wal_checkpoint(TRUNCATE)") }

    /// Whether to accept more than deletes: their reserve is held, or the file has as much free space.
    private func mayGrow() -> Bool {
        if reserve.isHeld { return true }
        let free = (try? database.integer("PRAGMA freelist_count")) ?? 0
        return free * SQLiteFile.pageSize >= SQLiteReserve.size || reserve.hold()
    }

    /// Fails all writes but the deletes, which are tried without the others; those already tried so fail too.
    private func write(_ group: [Job], onFullDisk failure: SQLiteDatabase.Failure) {
        health.fail(.writes, because: failure.message)
        let freeing = group.filter(\.frees)
        let others = freeing.count == group.count ? freeing : group.filter { !$0.frees }
        for job in others { job.done(.failure(StoreFailure(failure))) }
        if !freeing.isEmpty, freeing.count < group.count { write(freeing) }
    }

    /// Fails writes for which there was no room, even without the reserve, if that is so of each alone. The store stays
    /// available if a small write fits, so that no large one turns away everybody else's.
    private func refuse(_ group: [Job], _ failure: SQLiteDatabase.Failure) {
        if group.count > 1 { return group.forEach { write([$0]) } }
        guard !group[0].frees, mayGrow(), (try? database.probe()) != nil else {
            return write(group, onFullDisk: failure)
        }
        health.recover(.writes)
        health.refuses(because: failure.message)
        group[0].done(.failure(StoreFailure(failure)))
    }

    private func written(_ group: [Job]) throws(SQLiteDatabase.Failure) -> [Bool] {
        // If memory was short, the rollback of the last transaction may have failed too.
        if !database.isIdle { try database.run("ROLLBACK") }
        try database.run("BEGIN IMMEDIATE")
        let pages = mostPages == nil ? 0 : try database.integer("PRAGMA page_count")
        var outcomes: [Bool] = []
        for job in group { outcomes.append(try job.write(database)) }
        if let mostPages, try database.integer("PRAGMA page_count") > max(mostPages, pages) { throw .limit }
        try database.run("COMMIT")
        return outcomes
    }
}

// MARK: - Writes of the store

extension SQLiteStore {
    package func swap(_ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor)
        -> Stored<SessionSlot>
    {
        guard table.hasRoom(for: next) else { return .done(.failure(.capacity)) }
        return .timed(.commit, in: table.storeTimes) { done in
            guard let before else { return create(name, next, done) }
            let (slot, read) = (before.slot, before.session)
            follow(slot, read: read, done) { [self] last in
                guard next.follows(last, at: read.head.revision) else { return done(.failure(.conflict)) }
                let commit = commit(next, slot.name, to: slot, after: last, done)
                let hasEntered = pendingWrites.enter(slot, behind: last.version, next: commit.session) {
                    submit(commit)
                }
                if !hasEntered { done(.failure(.conflict)) }
            }
        }
    }

    package func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void> {
        .timed(.delete, in: table.storeTimes) { done in
            follow(session.slot, read: session.session, done) { [self, slot = session.slot] before in
                guard revision == nil || before.head.revision == revision else { return done(.failure(.conflict)) }
                drop(slot, before, done)
            }
        }
    }

    package func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void> {
        .timed(.delete, in: table.storeTimes) { discard(name, $0) }
    }

    package func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void> {
        .timed(.revoke, in: table.storeTimes) { done in
            writer.submit { (database) throws(SQLiteDatabase.Failure) in
                try database.revoke(name, upTo: moment)
                return true
            } done: { [table] result in
                if case .success = result { table.revocations.add(name, upTo: moment) }
                done(result)
            }
        }
    }

    private func create(_ name: String, _ session: Session, _ done: @escaping Completion<SessionSlot>) {
        guard !table.holds(name) else { return done(.failure(.conflict)) }
        guard pendingWrites.enterAlone(name, again: { [self] in create(name, session, done) }) else { return }
        submit(commit(session, name, done))
    }

    /// Calls `write` with the session that the write must follow, once that is known; fails if there is none.
    private func follow<Value>(
        _ slot: SessionSlot, read: Session, _ done: @escaping Completion<Value>,
        _ write: @escaping @Sendable (Session) -> Void
    ) {
        switch pendingWrites.last(of: slot, read: read) {
        case .gone: done(.failure(.conflict))
        case .unknown: pendingWrites.afterQueued(of: slot.name) { [self] in follow(slot, read: read, done, write) }
        case .session(let last): write(last)
        }
    }

    private func commit(
        _ next: Session, _ name: String, to slot: SessionSlot? = nil, after before: Session? = nil,
        _ done: @escaping Completion<SessionSlot>
    ) -> PendingCommit {
        PendingCommit(
            next, named: name, to: slot, after: before, id: lastEntry.add(1, ordering: .relaxed).newValue, in: table,
            pendingWrites, by: hash, done)
    }

    private func submit(_ commit: PendingCommit) {
        writer.submit { [hash, table] (database) throws(SQLiteDatabase.Failure) in
            // Twice: for the record, and for SQLite's row of it.
            let room = commit.log.isCheckpoint ? 2 * commit.session.head.footprint : 0
            return try table.account.records.charging(room) { () throws(SQLiteDatabase.Failure) in
                try database.write(commit, by: hash)
            }
        } done: { [self] result in
            if let slot = commit.slot, let before = commit.before { failed(result, before, slot) }
            commit.finish(result)
        }
    }

    private func drop(_ slot: SessionSlot, _ before: Session, _ done: @escaping Completion<Void>) {
        let hasEntered = pendingWrites.enter(slot, behind: before.version, next: nil) {
            writer.submit(frees: true) { (database) throws(SQLiteDatabase.Failure) in
                try database.delete(slot.name, version: before.version)
            } done: { [self] result in
                if case .success = result { _ = table.drop(slot, at: nil) }
                failed(result, before, slot)
                pendingWrites.leave(slot.name, result)
                done(result)
            }
        }
        if !hasEntered { done(.failure(.conflict)) }
    }

    /// After a conflict, drops what the database did not have, for the next request to read: the file was changed
    /// outside.
    private func failed(_ result: Result<Void, StoreFailure>, _ before: Session, _ slot: SessionSlot) {
        if case .failure(.conflict) = result { _ = table.drop(slot, .version(before.version)) }
    }

    private func discard(_ name: String, _ done: @escaping Completion<Void>) {
        guard pendingWrites.enterAlone(name, again: { [self] in discard(name, done) }) else { return }
        writer.submit(frees: true) { (database) throws(SQLiteDatabase.Failure) in
            try database.delete(name)
            return true
        } done: { [self] result in
            pendingWrites.leave(name, result)
            done(result)
        }
    }
}
