import CDiffSystem
import DiffSessions
import DiffStores
import SnapshotKit

/// The sessions of a database as bytes. While it is open no server can use the file.
package final class SQLiteArchive: SessionArchive {
    package let digestKey: String
    package let margin = 1
    private let path: String
    private let file: SQLiteFile
    private let database: SQLiteDatabase
    private let hash: KeyedHash
    private var last: UInt64

    /// - Parameters:
    ///   - newKey: the digest key of a new database if `digestKey` is nil.
    ///   - isSource: whether the file must be there.
    package init(path: String, digestKey: String?, newKey: String, isSource: Bool) throws(StoreError) {
        self.path = path
        if isSource, access(path, F_OK) != 0 { throw StoreError(ofLastCallAt: path) }
        file = try SQLiteFile(path: path)
        // A commit is whole on disk, or not there at all; the last ones are there once it is closed.
        database = try file.connection(isDurable: false, cache: 16 << 20)
        do throws(SQLiteDatabase.Failure) {
            self.digestKey = try database.digestKey(digestKey, orElse: newKey)
            hash = .digests(self.digestKey)
            try database.startClock(wall: WallClock())
            last = try database.lastEntry()
        } catch { throw StoreError("\(path): \(error.message)") }
    }

    package func close() {
        database.close()
        file.release()
    }

    package func names(_ prefix: String) throws(StoreError) -> [String] {
        let range = SessionRange(prefix: prefix, after: "", limit: .max)
        return try using { () throws(SQLiteDatabase.Failure) in
            var names: [String] = []
            try database.run(
                "SELECT name FROM session WHERE name >= ? AND name < ? AND expires > ? ORDER BY name",
                [.text(range.lower), .text(range.upper), .integer(database.now)]
            ) { names.append($0.text(0)) }
            return names
        }
    }

    package func session(named name: String) throws(StoreError) -> StoredSession? {
        try using { () throws(SQLiteDatabase.Failure) in
            do throws(SQLiteDatabase.Failure) {
                guard let found = try database.session(named: name) else { return nil }
                return StoredSession(
                    name: name, version: found.version, record: found.record, covered: found.covered.map(\.body),
                    behind: (found.hasGap ? [[]] : []) + found.behind.map(\.body), left: found.expires - database.now)
            } catch {
                guard error.isLocal else { throw error }
                return StoredSession(name: name)
            }
        }
    }

    package func put(_ stored: StoredSession, _ session: Session, for left: Int) throws(StoreError) -> Bool {
        let (entries, covered) = (stored.covered + stored.behind, last + UInt64(stored.covered.count))
        let newest = last + UInt64(entries.count)
        return try using { () throws(SQLiteDatabase.Failure) in
            try database.run("BEGIN IMMEDIATE")
            try database.forgetExpired(stored.name)
            let isNew = try database.insert(
                session, named: stored.name, until: database.now + left, last: newest, covered: covered)
            if isNew {
                for (id, entry) in zip((last + 1)..., entries) {
                    try database.write(entry, id, previous: id == last + 1 ? 0 : id - 1)
                }
                try database.write(stored.record, of: stored.name, by: hash)
                last = newest
            }
            try database.run("COMMIT")
            return isNew
        }
    }

    package func revocations() throws(StoreError) -> [Revocations.Moment] {
        try using { () throws(SQLiteDatabase.Failure) in try database.revoked() }
    }

    package func revoke(_ revocation: Revocations.Moment) throws(StoreError) {
        try using { () throws(SQLiteDatabase.Failure) in
            try database.revoke(revocation.session, upTo: revocation.moment)
        }
    }

    private func using<Value>(_ use: () throws(SQLiteDatabase.Failure) -> Value) throws(StoreError) -> Value {
        do throws(SQLiteDatabase.Failure) { return try use() } catch { throw StoreError("\(path): \(error.message)") }
    }
}
