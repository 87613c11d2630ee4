// The tables, and all that is said to them. A commit writes an entry of the log, all of which stand one behind the
// other in the order in which they were written, whoever's they are: those of many sessions that are written together
// take few pages. An entry names the one before it, so no index is needed, and a gap is noticed. Sums stand beside what
// nothing else would show to be damaged: a head has the digest in its revision, an entry ends with a sum (see
// `SessionRecord` and `LogEntry`).

import HTTPCore
import SnapshotKit

/// A commit as it is written down.
struct SessionRow: Sendable {
    let name: String
    /// A new one with each write: what a write stood on is still there if this is.
    let version: UInt64
    let revision: Revision
    let timeToLive: Duration
    /// For lists.
    let rows, bytes: Int
    /// Whether the session lived as long before.
    let keepsTime: Bool
    /// The entry before this one; 0 for the first.
    let previous: UInt64
    let commit: LogCommit
    let checkpoint: SessionRecord?

    init(_ commit: LogCommit, named name: String, after before: Session?, by hash: KeyedHash) {
        let session = commit.session
        (self.name, version, revision) = (name, session.version, session.head.revision)
        keepsTime = before?.settings.timeToLive == session.settings.timeToLive
        (timeToLive, previous) = (session.settings.timeToLive, commit.isStart ? 0 : before?.log.last ?? 0)
        (rows, bytes) = (session.head.snapshot.rowCount, session.log.bytes)
        self.commit = commit
        checkpoint = commit.checkpoint(by: hash)
    }
}

/// A session as it was found.
struct FoundSession: Sendable {
    var version: UInt64
    var revision: String
    /// Milliseconds since 1970.
    var expires: Int
    var record: SessionRecord
    /// Of `record.meta`.
    var sum: UInt64
    /// Entries that the record holds already, and those behind it, oldest first.
    var covered: [(id: UInt64, body: [UInt8])] = []
    var behind: [(id: UInt64, body: [UInt8])] = []
    /// Whether an entry behind the record is not there.
    var hasGap = false
}

extension SQLiteDatabase {
    static let schema =
        [
            "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
        ] + sessionSchema + revocationSchema

    private static let sessionSchema = [
        // `last` is the newest entry of the log, `covered` the newest that the checkpoint holds.
        """
        CREATE TABLE session (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, revision TEXT NOT NULL,
            expires INTEGER NOT NULL, last INTEGER NOT NULL, covered INTEGER NOT NULL, rows INTEGER, bytes INTEGER)
        """,
        "CREATE INDEX session_by_end ON session (expires)",
        """
        CREATE TABLE checkpoint (
            session INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE, sum INTEGER NOT NULL, meta BLOB NOT NULL,
            head BLOB NOT NULL)
        """,
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, previous INTEGER NOT NULL, body BLOB NOT NULL)",
    ]

    private static let revocationSchema = [
        "CREATE TABLE revocation (session TEXT PRIMARY KEY, moment INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX revocation_by_moment ON revocation (moment)",
    ]

    /// What makes a database of a format before one of this.
    static func upgrade(from format: Int) -> [String] {
        (format == 1 ? firstUpgrade : secondUpgrade) + revocationSchema
    }

    /// From format 2, which had no lists.
    private static let secondUpgrade = ["rows", "bytes"].map { "ALTER TABLE session ADD COLUMN \($0) INTEGER" }

    /// From format 1, which kept the whole of a session in one row, and of its past what could lead to no contents.
    private static let firstUpgrade =
        ["DROP INDEX session_by_end", "DROP TABLE skeleton", "ALTER TABLE session RENAME TO session_1"]
        + sessionSchema + [
            "INSERT INTO session SELECT id, name, version, revision, expires, 0, 0, NULL, NULL FROM session_1",
            "INSERT INTO checkpoint SELECT id, sum, meta, head FROM session_1", "DROP TABLE session_1",
        ]

    // MARK: Sessions

    func session(named name: String) throws(Failure) -> FoundSession? {
        var found: FoundSession?
        var (last, covered): (UInt64, UInt64) = (0, 0)
        try run(
            """
            SELECT version, revision, expires, sum, meta, head, last, covered
                FROM session JOIN checkpoint ON session.id = checkpoint.session WHERE name = ? AND expires > ?
            """,
            [.text(name), .integer(now)]
        ) { row in
            found = FoundSession(
                version: row.word(0), revision: row.text(1), expires: row.integer(2),
                record: SessionRecord(meta: row.blob(4), head: row.blob(5)), sum: row.word(3))
            (last, covered) = (row.word(6), row.word(7))
        }
        guard var found else { return nil }
        (found.covered, found.behind, found.hasGap) = try log(from: last, covered: covered)
        return found
    }

    /// Those in a range, in their order, and one more than is wanted.
    func sessions(_ range: SessionRange) throws(Failure) -> [SessionEntry] {
        var found: [SessionEntry] = []
        try run(
            """
            SELECT name, revision, ifnull(rows, -1), ifnull(bytes, -1), expires FROM session
                WHERE name >= ? AND name < ? AND expires > ? ORDER BY name LIMIT ?
            """,
            [.text(range.lower), .text(range.upper), .integer(now), .integer(range.limit + 1)]
        ) { row in
            let left = clock.moment(milliseconds: row.integer(4)) - .now
            let (rows, bytes) = (row.integer(2), row.integer(3))
            found.append(
                SessionEntry(
                    name: row.text(0), revision: row.text(1), rows: rows < 0 ? nil : rows,
                    bytes: bytes < 0 ? nil : bytes, expires: WallTime.now.adding(left)))
        }
        return found
    }

    private typealias Log = [(id: UInt64, body: [UInt8])]

    private func log(
        from last: UInt64, covered: UInt64
    ) throws(Failure) -> (covered: Log, behind: Log, hasGap: Bool) {
        var (past, behind): (Log, Log) = ([], [])
        var (id, isPast) = (last, last == covered)
        while id != 0 {
            var entry: (previous: UInt64, body: [UInt8])?
            try run("SELECT previous, body FROM entry WHERE id = ?", [.word(id)]) { entry = ($0.word(0), $0.blob(1)) }
            guard let entry else { break }
            if isPast { past.append((id, entry.body)) } else { behind.append((id, entry.body)) }
            id = entry.previous
            if id == covered { isPast = true }
        }
        return (past.reversed(), behind.reversed(), !isPast)
    }

    /// False if there is one of this name.
    func insert(_ row: SessionRow, hash: KeyedHash) throws(Failure) -> Bool {
        try forgetExpired(row.name)
        let count = try run(
            """
            INSERT INTO session (name, version, revision, expires, last, covered, rows, bytes)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING
            """,
            [
                .text(row.name), .word(row.version), .text(row.revision.text), .integer(end(row.timeToLive)),
                .word(row.commit.id), .word(row.commit.id), .integer(row.rows), .integer(row.bytes),
            ])
        if count == 1 { try write(row, hash) }
        return count == 1
    }

    /// False if the version that it stands on is not there.
    func update(_ row: SessionRow, standingOn version: UInt64, hash: KeyedHash) throws(Failure) -> Bool {
        let values: [Value] = [
            .word(row.version), .text(row.revision.text), .word(row.commit.id),
            .word(row.checkpoint == nil ? 0 : row.commit.id), .integer(row.rows), .integer(row.bytes), .text(row.name),
            .word(version),
        ]
        var count = 0
        if row.keepsTime {
            count = try run(
                """
                UPDATE session SET version = ?, revision = ?, last = ?, covered = max(covered, ?), rows = ?, bytes = ?
                    WHERE name = ? AND version = ? AND expires >= ?
                """, values + [.integer(leastEnd(row.timeToLive))])
        }
        if count == 0 {
            count = try run(
                """
                UPDATE session SET version = ?, revision = ?, last = ?, covered = max(covered, ?), rows = ?, bytes = ?,
                    expires = ?9 WHERE name = ?7 AND version = ?8
                """, values + [.integer(end(row.timeToLive))])
        }
        if count == 1 { try write(row, hash) }
        return count == 1
    }

    /// Writes the entry of a commit, and what else it brings; takes away what nobody needs any more.
    private func write(_ row: SessionRow, _ hash: KeyedHash) throws(Failure) {
        try run(
            "INSERT INTO entry VALUES (?, ?, ?)",
            [.word(row.commit.id), .word(row.previous), .blob(row.commit.entry)])
        if let record = row.checkpoint {
            try run(
                "INSERT OR REPLACE INTO checkpoint SELECT id, ?, ?, ? FROM session WHERE name = ?",
                [.word(hash.sum(record.meta)), .blob(record.meta), .blob(record.head), .text(row.name)])
        }
        for entry in row.commit.removed { try run("DELETE FROM entry WHERE id = ?", [.word(entry)]) }
    }

    /// False if there is none of this version.
    func delete(_ name: String, version: UInt64) throws(Failure) -> Bool {
        try delete(
            "DELETE FROM session WHERE name = ? AND version = ? RETURNING last", [.text(name), .word(version)])
    }

    /// Whatever is there under a name.
    func delete(_ name: String) throws(Failure) {
        _ = try delete("DELETE FROM session WHERE name = ? RETURNING last", [.text(name)])
    }

    /// Takes a session away with all that is kept of it; false if there is none.
    private func delete(_ sql: StaticString, _ values: [Value]) throws(Failure) -> Bool {
        var last: UInt64?
        try run(sql, values) { last = $0.word(0) }
        guard var id = last else { return false }
        while id != 0 {
            var previous: UInt64 = 0
            try run("DELETE FROM entry WHERE id = ? RETURNING previous", [.word(id)]) { previous = $0.word(0) }
            id = previous
        }
        return true
    }

    /// The newest entry of all.
    func lastEntry() throws(Failure) -> UInt64 { UInt64(try integer("SELECT ifnull(max(id), 0) FROM entry")) }

    // MARK: Time

    // Not each use is written down, so a row's end is later than its session's: by a sixteenth of its time, of which a
    // use writes once half is gone. It is written half as much later, so that not each commit has to, either: it has an
    // index. Whoever knows better takes the row away before.

    /// A session was used: it ends this much later than now.
    func extend(_ name: String, by left: Duration) throws(Failure) {
        try run("UPDATE session SET expires = ? WHERE name = ?", [.integer(end(left)), .text(name)])
    }

    /// Some of those whose time is over.
    func expired() throws(Failure) -> [String] {
        var names: [String] = []
        try run("SELECT name FROM session WHERE expires <= ? LIMIT 500", [.integer(now)]) { names.append($0.text(0)) }
        return names
    }

    /// Takes a session away that ends within `span`.
    func forgetExpired(_ name: String, within span: Duration = .zero) throws(Failure) {
        let end = clock.milliseconds(.now + span)
        _ = try delete(
            "DELETE FROM session WHERE name = ? AND expires <= ? RETURNING last", [.text(name), .integer(end)])
    }

    // MARK: Revocations

    /// Writes down up to when tokens of a session were made that are refused, and forgets those of which no token can
    /// be left.
    func revoke(_ session: String, upTo moment: Int) throws(Failure) {
        try run("DELETE FROM revocation WHERE moment <= ?", [.integer(moment - Revocations.life)])
        try run(
            "INSERT INTO revocation VALUES (?, ?) ON CONFLICT DO UPDATE SET moment = max(moment, excluded.moment)",
            [.text(session), .integer(moment)])
    }

    func revoked() throws(Failure) -> [(session: String, moment: Int)] {
        var all: [(String, Int)] = []
        try run("SELECT session, moment FROM revocation") { all.append(($0.text(0), $0.integer(1))) }
        return all
    }

    // MARK: Settings

    /// The setting that is there, or else this one.
    func setting(_ name: String, orElse value: String) throws(Failure) -> String {
        try run("INSERT INTO setting VALUES (?, ?) ON CONFLICT DO NOTHING", [.text(name), .text(value)])
        var found = value
        try run("SELECT value FROM setting WHERE name = ?", [.text(name)]) { found = $0.text(0) }
        return found
    }

    /// Writes something that is of no use but to see that it can be written.
    func probe() throws(Failure) {
        try run("INSERT OR REPLACE INTO setting VALUES ('probe', ?)", [.text("\(now)")])
    }

    /// Milliseconds by the store's clock.
    private var now: Int { clock.milliseconds(.now) }

    private func leastEnd(_ left: Duration) -> Int { clock.milliseconds(.now + left + left / 16) }

    private func end(_ left: Duration) -> Int { clock.milliseconds(.now + left + left * 3 / 32) }
}

extension KeyedHash {
    /// Shows whether bytes are what they were.
    func sum(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { digest(of: $0) } }
}
