// Sessions in a database on this machine. The file is this process's alone, so what the table holds is the head, and
// reads of sessions that it holds never ask the database. A commit is written first and put into the table then:
// whatever a client was ever told is on the disk.

import Dispatch
import Glibc
import HTTPCore
import SnapshotKit
import Synchronization

/// Sessions that survive the process, and the machine.
final class SQLiteStore: SessionStore, @unchecked Sendable {  // `database` belongs to `readQueue`
    let table: SessionTable
    let hash: KeyedHash
    let isSole = true
    private let file: SQLiteFile
    private let database: SQLiteDatabase
    private let readQueue = DispatchQueue(label: "diff.sqlite.read")
    private let isDurable: Bool
    private let watch: SQLiteWatch
    private let health: StoreHealth
    let writer: SQLiteWriter
    let pendingWrites = PendingWrites()
    /// The newest entry of the log.
    private let lastEntry: Atomic<UInt64>
    /// Counts records while they are read or written: one at a time, each way, since a record is made on the thread
    /// that writes it.
    let records: MemoryBudget
    /// Who waits for sessions that are being read.
    private let loads = SharedLoads<String, SessionView?>()

    /// The machine's calendar.
    private let wall: @Sendable () -> WallClock
    /// When it was written down last how late it is.
    private let clockKept = Locked(Instant.now)

    /// - Throws: if the file cannot be used.
    init(
        path: String, isDurable: Bool, digestKey: String?, table: SessionTable, health: StoreHealth = StoreHealth(),
        wall: @escaping @Sendable () -> WallClock = { WallClock() }
    ) throws(StoreError) {
        self.wall = wall
        self.table = table
        records = table.messages.records
        self.health = health
        self.isDurable = isDurable
        signal(SIGXFSZ, SIG_IGN)  // A file that may not grow is an error of the write, not the end of the process.
        file = try SQLiteFile(path: path)
        let connection = try file.connection(isDurable: isDurable, memory: table.bounds.bytes)
        hash = .digests(try file.digestKey(digestKey, connection))
        watch = SQLiteWatch(path: path)
        _ = watch.trouble(connection)
        try file.startClock(connection, wall: wall())
        do throws(SQLiteDatabase.Failure) {
            lastEntry = Atomic(try connection.lastEntry())
        } catch { throw StoreError("\(path): \(error.message)") }
        do throws(SQLiteDatabase.Failure) {
            for (session, moment) in try connection.revoked() { table.revocations.add(session, upTo: moment) }
        } catch {
            health.warn(
                "\(path): cannot read which tokens were revoked (\(error.message)); refusing all tokens made "
                    + "before now")
            table.revocations.addAll(upTo: WallTime.milliseconds)
        }
        writer = SQLiteWriter(connection, watch, health)
        database = try file.connection(isDurable: isDurable, memory: table.bounds.bytes)
        database.clock = connection.clock
    }

    var isReady: Bool { health.isWell }

    /// Writes what waits, moves the log into the file and removes it: then the file alone is the database.
    func close() {
        readQueue.sync {
            if watch.trouble(database) == nil { database.close() }
        }
        keepClock()
        writer.close()
        file.release()
    }

    /// What writes a session down behind another.
    func logCommit(_ next: Session, after before: Session?) -> LogCommit {
        LogCommit(
            next, after: before, id: lastEntry.add(1, ordering: .relaxed).newValue,
            revisions: table.bounds.history.revisions, by: hash)
    }

    // MARK: Reading

    func pending(_ name: String) -> Session? { pendingWrites.newest(name)?.session }

    func expected(_ name: String) -> SessionView? {
        // Once it has left memory its queue has to end, so that it can be read again.
        guard let (slot, session) = pendingWrites.newest(name), table.slot(name) === slot else { return nil }
        return SessionView(slot, session, of: table, isHead: false)
    }

    func load(_ name: String, again: Bool, on loop: EventLoop) -> Stored<SessionView?> {
        if !again, let view = table.view(name) { return .done(.success(view)) }
        return .of { done in
            if again { pendingWrites.afterThose(of: name) { [self] in open(name, done) } } else { open(name, done) }
        }
    }

    private func open(_ name: String, _ done: @escaping Completion<SessionView?>) {
        if let view = table.view(name) { return done(.success(view)) }
        if loads.join(name, done) { load(name) }
    }

    private func load(_ name: String) {
        guard pendingWrites.enterAlone(name, again: { [self] in load(name) }) else { return }
        readQueue.async { [self] in
            let result = found(name)
            // A write may follow at once: nobody who comes behind it is told this.
            let waiting = loads.taken(name)
            pendingWrites.leave(name, .success(()))
            for done in waiting { done(result) }
        }
    }

    private func found(_ name: String) -> Result<SessionView?, StoreFailure> {
        // Somebody else may have made it while this request was waiting.
        if let view = table.view(name) { return .success(view) }
        let result = reading { (database) throws(SQLiteDatabase.Failure) in try database.session(named: name) }
        return result.flatMap { found in found.map { adopt($0, name) } ?? .success(nil) }
    }

    /// Reads from the database, on its queue.
    private func reading<Value>(
        _ read: (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Value
    ) -> Result<Value, StoreFailure> {
        if watch.trouble(database) != nil {
            writer.check()
            return .failure(.unavailable("its files are not what they were"))
        }
        do throws(SQLiteDatabase.Failure) {
            let value = try read(database)
            health.recover(.reads)
            return .success(value)
        } catch {
            if !error.isLocal { health.fail(.reads, because: error.message) }
            return .failure(StoreFailure(error))
        }
    }

    private func adopt(_ found: FoundSession, _ name: String) -> Result<SessionView?, StoreFailure> {
        do throws(SessionRecord.Failure) {
            guard hash.sum(found.record.meta) == found.sum, !found.hasGap else { throw .damaged }
            let transition = SessionTransition(
                name: name, bounds: table.bounds.history, hash: hash, now: .now, isLogged: true)
            // The record, and what is made of it before the table counts that.
            let session = try records.charging(2 * found.record.head.count) { () throws(SessionRecord.Failure) in
                try Session.found(
                    found.record, covered: found.covered.map { FoundEntry($0.id, $0.body, by: hash) },
                    behind: found.behind.map { FoundEntry($0.id, $0.body, by: hash) }, version: found.version,
                    by: transition)
            }
            guard session.head.revision.text == found.revision else { throw .damaged }
            guard let slot = table.adopt(session, as: name, inPlaceOf: nil) else { return self.found(name) }
            let left = database.clock.moment(milliseconds: found.expires) - .now
            table.stored(slot, until: .now + (left - session.settings.timeToLive / 16))
            return .success(SessionView(slot, session, of: table))
        } catch {
            switch error {
            case .damaged: return .failure(.damaged(name))
            case .format(let format): return .failure(.unavailable("the record of \"\(name)\" has format \(format)"))
            }
        }
    }

    // MARK: Listing

    /// What the database has; of sessions that are here the table knows better when they end.
    func list(_ range: SessionRange) -> Stored<SessionPage> {
        .of { done in
            readQueue.async { [self] in
                let found = reading { (database) throws(SQLiteDatabase.Failure) in try database.sessions(range) }
                done(
                    found.map { found in
                        let listed = found.prefix(range.limit)
                        return SessionPage(
                            entries: listed.compactMap { entry in
                                guard let (expires, isAlive) = table.end(of: entry.name) else { return entry }
                                return isAlive ? entry.ending(expires) : nil
                            }, next: found.count > range.limit ? listed.last?.name : nil)
                    })
            }
        }
    }

    // MARK: Time

    /// Everything that changes a session of this store goes through this process.
    func watch(_ slot: SessionSlot) {}

    func sweep() {
        for slot in table.sweep(at: .now) { forget(slot.name, within: slot.recency.timeToLive / 2) }
        for (slot, left) in table.usedSinceStored() + table.readWhileAway() {
            let name = slot.name
            writer.submit { (database) throws(SQLiteDatabase.Failure) in try database.extend(name, by: left) }
        }
        writer.check()
        if clockKept.withLock({ $0 + .seconds(600) <= .now }) { keepClock() }
        // It also finds out whether what could not be read can be read again.
        readQueue.async { [self] in forgetUnused() }
        if !isDurable {
            readQueue.async { [self] in
                _ = reading { (database) throws(SQLiteDatabase.Failure) in
                    try database.run("PRAGMA wal_checkpoint(PASSIVE)")
                }
            }
        }
        // Nobody may write to a process that is not ready, so it has to find out by itself that it is again.
        if health.isFailing(.writes) {
            writer.submit { (database) throws(SQLiteDatabase.Failure) in try database.probe() }
        }
    }

    /// Every ten minutes and at the end: a process that is killed leaves a clock that is late by no more than that.
    private func keepClock() {
        clockKept.withLock { $0 = .now }
        writer.submit { [wall] (database) throws(SQLiteDatabase.Failure) in try database.keepClock(wall: wall()) }
    }

    /// Takes out sessions whose time ran out while they were not in memory. Those that are there have been used since.
    private func forgetUnused() {
        let expired = reading { (database) throws(SQLiteDatabase.Failure) in try database.expired() }
        for name in (try? expired.get()) ?? [] where !table.isInUse(name) { forget(name) }
    }

    /// Takes out a session whose time is over here; alone, since its row may still be found. A row that was written
    /// since ends later than `span`.
    private func forget(_ name: String, within span: Duration = .zero) {
        // Whoever is there uses it.
        guard pendingWrites.enterAlone(name, again: {}) else { return }
        guard !table.isInUse(name) else { return pendingWrites.leave(name, .success(())) }
        writer.submit { (database) throws(SQLiteDatabase.Failure) in
            try database.forgetExpired(name, within: span)
            return .written
        } done: { [pendingWrites] in
            pendingWrites.leave(name, $0)
        }
    }
}

extension StoreFailure {
    init(_ failure: SQLiteDatabase.Failure) { self = .unavailable(failure.message) }
}
