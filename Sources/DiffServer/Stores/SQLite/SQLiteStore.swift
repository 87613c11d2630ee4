// Sessions in a database on this machine. The file is this process's alone, so what the table holds is the head, and reads of sessions that
// it holds never ask the database. A commit is written first and put into the table then: whatever a client was ever told is on the disk.

import CSQLite
import Dispatch
import Glibc
import HTTPCore
import SnapshotKit

/// Sessions that survive the process, and the machine.
final class SQLiteStore: SessionStore, @unchecked Sendable {  // `database` belongs to `readQueue`
    let table: SessionTable
    let hash: KeyedHash
    let isImmediate = false
    let isSole = true
    private let file: SQLiteFile
    private let database: SQLiteDatabase
    private let writer: SQLiteWriter
    private let readQueue = DispatchQueue(label: "diff.sqlite.read")
    private let isDurable: Bool

    /// - Throws: if the file cannot be used.
    init(path: String, isDurable: Bool, digestKey: String?, table: SessionTable) throws(StoreError) {
        self.table = table
        self.isDurable = isDurable
        signal(SIGXFSZ, SIG_IGN)  // A file that may not grow is an error of the write, not the end of the process.
        file = try SQLiteFile(path: path)
        let connection = try file.connection(isDurable: isDurable)
        hash = .digests(try file.digestKey(digestKey, connection))
        writer = SQLiteWriter(connection)
        database = try file.connection(isDurable: isDurable)
    }

    var isReady: Bool { writer.isWell }

    // MARK: Reading

    func open(_ name: String, on loop: EventLoop?, _ done: @escaping Completion<Reading?>) {
        if let reading = table.reading(name) { return done(.success(reading)) }
        readQueue.async { [self] in done(load(name)) }
    }

    private func load(_ name: String) -> Result<Reading?, StoreFailure> {
        // Somebody else may have brought it while this request was waiting.
        if let reading = table.reading(name) { return .success(reading) }
        var record: SessionRecord?
        do throws(SQLiteDatabase.Failure) {
            try database.run("SELECT meta, head FROM session WHERE name = ? AND expires > ?", [.text(name), .integer(Self.now)]) {
                record = SessionRecord(meta: $0.blob(0), head: $0.blob(1))
            }
        } catch { return .failure(.unavailable(error.message)) }
        guard let record else { return .success(nil) }
        do throws(SessionRecord.Failure) {
            let session = try record.session(named: name, hash: hash)
            _ = table.adopt(session, as: name, inPlaceOf: nil, at: nil)
            return .success(table.reading(name))
        } catch {
            switch error {
            case .damaged: return .failure(.unavailable("the record of \"\(name)\" is damaged"))
            case .format(let format): return .failure(.unavailable("the record of \"\(name)\" has format \(format)"))
            }
        }
    }

    func recall(_ sequence: UInt64, of slot: SessionSlot, on loop: EventLoop?, _ done: @escaping Completion<Void>) {
        readQueue.async { [self] in
            var body: [UInt8]?
            do throws(SQLiteDatabase.Failure) {
                try database.run(
                    "SELECT body FROM skeleton WHERE session = (SELECT id FROM session WHERE name = ?) AND sequence = ?",
                    [.text(slot.name), .integer(Int(clamping: sequence))]
                ) { body = $0.blob(0) }
            } catch { return done(.failure(.unavailable(error.message))) }
            table.recall(sequence, of: slot, body.flatMap { try? Skeleton(document: $0, hash: hash) })
            done(.success(()))
        }
    }

    // MARK: Writing

    func create(_ name: String, _ session: Session, on loop: EventLoop?, _ done: @escaping Completion<SessionSlot>) {
        guard table.hasRoom(for: session) else { return done(.failure(.capacity)) }
        let record = SessionRecord(session)
        let revision = session.head.revision.text
        let ttl = session.settings.timeToLive
        submit { (database) throws(SQLiteDatabase.Failure) in
            try database.run("DELETE FROM session WHERE name = ? AND expires <= ?", [.text(name), .integer(Self.now)])
            let count = try database.run(
                "INSERT INTO session (name, revision, expires, meta, head) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                [.text(name), .text(revision), .integer(Self.end(ttl)), .blob(record.meta), .blob(record.head)])
            return count == 1 ? .written : .conflict
        } done: { [table] result in
            done(result.flatMap { table.create(name, session) })
        }
    }

    func commit(
        _ next: Session, to slot: SessionSlot, at revision: Revision, on loop: EventLoop?, _ done: @escaping Completion<SessionSlot>
    ) {
        guard table.hasRoom(for: next) else { return done(.failure(.capacity)) }
        guard let before = slot.session, before.head.revision == revision else { return done(.failure(.conflict)) }
        let isNews = next.head.revision != revision
        let past = SessionRecord.Past(from: before, to: next)
        let skeleton = past.added?.document ?? []
        let record = SessionRecord(next)
        submit { (database) throws(SQLiteDatabase.Failure) in
            let sets = isNews ? "revision = ?, expires = ?, meta = ?, head = ?" : "revision = ?, expires = ?, meta = ?"
            var values: [SQLiteDatabase.Value] = [
                .text(next.head.revision.text), .integer(Self.end(next.settings.timeToLive)), .blob(record.meta),
            ]
            if isNews { values.append(.blob(record.head)) }
            let count = try database.run(
                "UPDATE session SET \(sets) WHERE name = ? AND revision = ?", values + [.text(slot.name), .text(revision.text)])
            guard count == 1 else { return .conflict }
            for entry in past.removed {
                try database.run(
                    "DELETE FROM skeleton WHERE session = (SELECT id FROM session WHERE name = ?) AND sequence = ?",
                    [.text(slot.name), .integer(Int(clamping: entry.revision.sequence))])
            }
            if let entry = past.added {
                try database.run(
                    "INSERT OR REPLACE INTO skeleton SELECT id, ?, ? FROM session WHERE name = ?",
                    [.integer(Int(clamping: entry.revision.sequence)), .blob(skeleton), .text(slot.name)])
            }
            return .written
        } done: { [table] result in
            // A slot that made room meanwhile is no loss: the next reader brings the session again.
            done(
                result.map {
                    _ = table.commit(next, to: slot, at: revision); return slot
                })
        }
    }

    func drop(_ slot: SessionSlot, at revision: Revision?, on loop: EventLoop?, _ done: @escaping Completion<Void>) {
        submit { (database) throws(SQLiteDatabase.Failure) in
            let condition = revision == nil ? "" : " AND revision = ?"
            let count = try database.run(
                "DELETE FROM session WHERE name = ?" + condition, [.text(slot.name)] + (revision.map { [.text($0.text)] } ?? []))
            return count == 1 || revision == nil ? .written : .conflict
        } done: { [table] result in
            done(result.map { _ = table.drop(slot, at: nil) })
        }
    }

    private func submit(
        _ write: @escaping @Sendable (SQLiteDatabase) throws(SQLiteDatabase.Failure) -> SQLiteWriter.Outcome,
        done: @escaping @Sendable (Result<Void, StoreFailure>) -> Void
    ) {
        writer.submit(
            SQLiteWriter.Job(write: write) { result in
                switch result {
                case .success(.written): done(.success(()))
                case .success(.conflict): done(.failure(.conflict))
                case .failure(let failure): done(.failure(failure))
                }
            })
    }

    // MARK: Time

    /// Everything that changes a session of this store goes through this process.
    func readersChanged(of slot: SessionSlot) {}

    func sweep() {
        for slot in table.sweep() { forget(slot.name) }
        for (slot, left) in table.usedSinceStored() {
            let end = Self.end(left)
            submit { (database) throws(SQLiteDatabase.Failure) in
                try database.run("UPDATE session SET expires = ? WHERE name = ?", [.integer(end), .text(slot.name)])
                return .written
            } done: { _ in
            }
        }
        readQueue.async { [self] in forgetUnused() }
        if !isDurable { readQueue.async { [self] in _ = try? database.run("PRAGMA wal_checkpoint(PASSIVE)") } }
    }

    /// Takes out sessions whose time ran out while they were not in memory. Those that are there have been used since.
    private func forgetUnused() {
        var names: [String] = []
        _ = try? database.run("SELECT name FROM session WHERE expires <= ? LIMIT 500", [.integer(Self.now)]) { names.append($0.text(0)) }
        for name in names where !table.holds(name) { forget(name) }
    }

    private func forget(_ name: String) {
        submit { (database) throws(SQLiteDatabase.Failure) in
            try database.run("DELETE FROM session WHERE name = ? AND expires <= ?", [.text(name), .integer(Self.now)])
            return .written
        } done: { _ in
        }
    }

    func close() {
        writer.finish()
        file.release()
    }

    /// Milliseconds since 1970.
    private static var now: Int { Calendar().milliseconds(.now) }

    private static func end(_ left: Duration) -> Int { Calendar().milliseconds(.now + left) }
}
