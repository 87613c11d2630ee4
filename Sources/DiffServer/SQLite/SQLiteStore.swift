// Only this process uses the file, so a session in the table is the head, and reading it never asks the database. A
// commit is written first, and only then put into the table: whatever a client was ever told is on disk. The store has
// its own queues, one for reading and one for writing.

import CDiffSystem
import DiffClock
import DiffSessions
import DiffStores
import Dispatch
import SnapshotKit
import Synchronization

/// Sessions that survive restarts of the process and of the machine.
package final class SQLiteStore: SessionStore, @unchecked Sendable {  // `database` belongs to `readQueue`
    package let table: SessionTable
    package let hash: KeyedHash
    package let isSole = true
    private let file: SQLiteFile
    private let database: SQLiteDatabase
    private let readQueue = DispatchQueue(label: "diff.sqlite.read")
    private let isDurable: Bool
    private let watch: SQLiteWatch
    private let health: StoreHealth
    let writer: SQLiteWriter
    let pendingWrites = PendingWrites()
    let lastEntry: Atomic<UInt64>
    private let loads: SharedLoads<String, SessionView?>

    private let wall: @Sendable () -> WallClock
    private let clockKept = Locked(Instant.now)

    /// - Parameters:
    ///   - maxBytes: the largest size of the file; nil for no limit.
    ///   - newKey: the digest key of a new database if `digestKey` is nil.
    package init(
        path: String, isDurable: Bool, maxBytes: Int? = nil, digestKey: String?, newKey: String, table: SessionTable,
        health: StoreHealth = StoreHealth(), wall: @escaping @Sendable () -> WallClock = { WallClock() }
    ) throws(StoreError) {
        (self.table, self.health, self.isDurable, self.wall) = (table, health, isDurable, wall)
        loads = SharedLoads(limit: table.account.maxWaiting)
        signal(SIGXFSZ, SIG_IGN)  // A file size limit fails the write, instead of ending the process.
        file = try SQLiteFile(path: path)
        if let warning = file.warning { health.warn(warning) }
        let cache = min(table.bounds.bytes / 32, 16 << 20)
        table.account.pages.charge(2 * cache)
        let connection = try file.connection(isDurable: isDurable, cache: cache)
        watch = SQLiteWatch(path: path)
        do throws(SQLiteDatabase.Failure) {
            hash = .digests(try connection.digestKey(digestKey, orElse: newKey))
            _ = watch.problem(connection)
            try connection.startClock(wall: wall())
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
        let pages = maxBytes.map { $0 / SQLiteFile.pageSize }
        writer = SQLiteWriter(connection, watch, health, mostPages: pages, reserve: SQLiteReserve(beside: path))
        database = try file.connection(isDurable: isDurable, cache: cache)
        database.clock = connection.clock
    }

    package var availability: StoreAvailability { health.isHealthy ? .whole : .away }
    package var silentSince: Instant? { health.silentSince }

    /// Writes everything that waits, and checkpoints the write-ahead log: then the file is the whole database.
    package func close() {
        readQueue.sync { if watch.problem(database) == nil { database.close() } }
        keepClock()
        writer.close()
        file.release()
    }

    // MARK: Reading

    package func pending(_ name: String) -> Session? { pendingWrites.newest(name)?.session }

    package func expected(_ name: String) -> SessionView? {
        // Once the session is evicted, its queue must drain before it can be read again.
        pendingWrites.expected(name, in: table)
    }

    package func load(_ name: String, again: Bool, on executor: any WorkExecutor) -> Stored<SessionView?> {
        if !again, let view = table.view(name) { return .done(.success(view)) }
        return .timed(.load, in: table.storeTimes) { done in
            @Sendable func open() {
                if let view = table.view(name) { return done(.success(view)) }
                if loads.join(name, done) { load(name) }
            }
            if again { pendingWrites.afterQueued(of: name) { open() } } else { open() }
        }
    }

    private func load(_ name: String) {
        if pendingWrites.enterAlone(name, again: { [self] in load(name) }) { read(name) }
    }

    /// - Parameter share: the reservation for a large session.
    private func read(_ name: String, in share: MemoryShare? = nil) {
        readQueue.async { [self] in
            let most = share == nil ? WorkCost.iteration.bytes : .max
            let found = reading(name) { (database) throws(SQLiteDatabase.Failure) in
                try database.session(named: name, upTo: most)
            }
            if case .success(let large?) = found, large.size > most {
                return table.account.records.reserve(large.size) { self.read(name, in: $0) }
            }
            // Another request may have created it meanwhile.
            let result =
                table.view(name).map { .success($0) }
                ?? found.flatMap { found in found.map { adopt($0, name, share) } ?? .success(nil) }
            // A write may follow at once, and later requests must not get this result.
            let waiting = loads.removeAll(for: name)
            pendingWrites.leave(name, .success(()))
            for done in waiting { done(result) }
        }
    }

    /// Reads from the database, on its queue: a session, or (nil) something else.
    private func reading<Value>(
        _ session: String? = nil, _ read: (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Value
    ) -> Result<Value, StoreFailure> {
        if watch.problem(database) != nil {
            writer.check()
            return .failure(.unavailable("its files were changed while in use"))
        }
        do throws(SQLiteDatabase.Failure) {
            let value = try read(database)
            health.recover(.reads)
            health.answers()
            return .success(value)
        } catch {
            if !error.isLocal { health.fail(.reads, because: error.message) }
            if let session, error.isLocal { return .failure(.damaged(session)) }
            return .failure(StoreFailure(error))
        }
    }

    private func adopt(
        _ found: FoundSession, _ name: String, _ share: MemoryShare?
    ) -> Result<SessionView?, StoreFailure> {
        do throws(SessionRecord.Failure) {
            guard hash.sum(found.record.meta) == found.sum, !found.hasGap else { throw .damaged }
            let session = try Session.found(
                found.record, covered: found.covered.map { FoundEntry($0.id, $0.body, by: hash) },
                behind: found.behind.map { FoundEntry($0.id, $0.body, by: hash) }, version: found.version,
                by: transition(of: name))
            guard session.head.revision.text == found.revision else { throw .damaged }
            guard let slot = table.adopt(session, as: name, inPlaceOf: nil) else { return .success(table.view(name)) }
            let left = database.clock.moment(milliseconds: found.expires) - .now
            table.stored(slot, until: .now + (left - session.settings.timeToLive / 16))
            share?.hold(session.head.footprint)
            return .success(SessionView(slot, session, of: table, share: share))
        } catch {
            return .failure(StoreFailure(error, of: name))
        }
    }

    // MARK: Listing

    /// Lists the database's sessions; for those in memory, the table knows the exact expiry.
    package func list(_ range: SessionRange) -> Stored<SessionPage> {
        .timed(.list, in: table.storeTimes) { done in
            readQueue.async { [self] in
                let found = reading { (database) throws(SQLiteDatabase.Failure) in try database.sessions(range) }
                done(
                    found.map { found in
                        let listed = found.prefix(range.limit)
                        return SessionPage(
                            entries: listed.compactMap { entry in
                                guard let (expires, isAlive) = table.end(of: entry.name) else { return entry }
                                var entry = entry
                                entry.expires = expires
                                return isAlive ? entry : nil
                            }, next: found.count > range.limit ? listed.last?.name : nil)
                    })
            }
        }
    }

    // MARK: Time

    package func sweep() {
        for slot in table.sweep(at: .now) { forget(slot.name, within: slot.recency.timeToLive / 2) }
        for (slot, left) in table.usedSinceStored() + table.readWhileAway() {
            let name = slot.name
            writer.submit { [table] (database) throws(SQLiteDatabase.Failure) in
                // The row may be another session's by now.
                if table.anySlot(name) === slot { try database.extend(name, by: left) }
            }
        }
        writer.check()
        if clockKept.withLock({ $0 + .seconds(600) <= .now }) { keepClock() }
        // This also finds out whether the database can be read.
        health.asks()
        readQueue.async { [self] in
            // They expired while they were not in memory. Those in memory were used since.
            let expired = reading { (database) throws(SQLiteDatabase.Failure) in try database.expired() }
            for name in (try? expired.get()) ?? [] where !table.isInUse(name) { forget(name) }
            guard !isDurable else { return }
            _ = reading { (database) throws(SQLiteDatabase.Failure) in
                try database.run("PRAGMA wal_checkpoint(PASSIVE)")
            }
        }
        // An unready process gets no writes, so it must probe to learn when it is ready again.
        if health.isFailing(.writes) {
            writer.submit { (database) throws(SQLiteDatabase.Failure) in try database.probe() }
        }
    }

    /// Records the clock, every ten minutes and at the end: a killed process leaves it at most that late.
    private func keepClock() {
        clockKept.withLock { $0 = .now }
        writer.submit { [wall] (database) throws(SQLiteDatabase.Failure) in try database.keepClock(wall: wall()) }
    }

    /// Removes a session unless its row expires later than `span` from now. Alone, since the row may still be read.
    private func forget(_ name: String, within span: Duration = .zero) {
        // Otherwise the session is in use.
        guard pendingWrites.enterAlone(name, again: {}) else { return }
        guard !table.isInUse(name) else { return pendingWrites.leave(name, .success(())) }
        writer.submit(frees: true) { (database) throws(SQLiteDatabase.Failure) in
            try database.forgetExpired(name, within: span)
            return true
        } done: { [pendingWrites] in
            pendingWrites.leave(name, $0)
        }
    }
}

extension StoreFailure {
    init(_ failure: SQLiteDatabase.Failure) { self = failure.isLimit ? .full : .unavailable(failure.message) }
}
