// The tables, and all that is said to them. Sums stand beside what nothing else would show to be damaged: a head has
// the digest in its revision (see `SessionRecord`).

import HTTPCore
import SnapshotKit

/// A session as a row.
struct SessionRow: Sendable {
    var name: String
    /// A new one with each write: what a write stood on is still there if this is.
    var version: UInt64
    var revision: Revision
    var timeToLive: Duration
    var record: SessionRecord

    init(_ session: Session, named name: String, by hash: KeyedHash) {
        self.name = name
        version = session.version
        revision = session.head.revision
        timeToLive = session.settings.timeToLive
        record = SessionRecord(session, by: hash)
    }
}

extension SessionRow {
    /// The skeletons that a commit brings and takes away.
    struct Past: Sendable {
        let added: (sequence: UInt64, body: [UInt8])?
        let removed: [UInt64]

        init(from before: Session, to next: Session) {
            let past = SessionRecord.Past(from: before, to: next)
            added = past.added.map { ($0.revision.sequence, $0.document) }
            removed = past.removed.map(\.revision.sequence)
        }
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
}

extension SQLiteDatabase {
    static let schema = [
        "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        """
        CREATE TABLE session (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, revision TEXT NOT NULL,
            expires INTEGER NOT NULL, sum INTEGER NOT NULL, meta BLOB NOT NULL, head BLOB NOT NULL)
        """,
        "CREATE INDEX session_by_end ON session (expires)",
        """
        CREATE TABLE skeleton (
            session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, sequence INTEGER NOT NULL,
            sum INTEGER NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (session, sequence))
        """,
    ]

    // MARK: Sessions

    func session(named name: String) throws(Failure) -> FoundSession? {
        var found: FoundSession?
        try run(
            "SELECT version, revision, expires, sum, meta, head FROM session WHERE name = ? AND expires > ?",
            [.text(name), .integer(now)]
        ) { row in
            found = FoundSession(
                version: row.word(0), revision: row.text(1), expires: row.integer(2),
                record: SessionRecord(meta: row.blob(4), head: row.blob(5)), sum: row.word(3))
        }
        return found
    }

    /// False if there is one of this name.
    func insert(_ row: SessionRow, hash: KeyedHash) throws(Failure) -> Bool {
        try forgetExpired(row.name)
        let count = try run(
            """
            INSERT INTO session (name, version, revision, expires, sum, meta, head) VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (name) DO NOTHING
            """,
            [
                .text(row.name), .word(row.version), .text(row.revision.text), .integer(end(row.timeToLive)),
                .word(hash.sum(row.record.meta)), .blob(row.record.meta), .blob(row.record.head),
            ])
        return count == 1
    }

    /// False if the version that it stands on is not there.
    func update(
        _ row: SessionRow, standingOn version: UInt64, withHead: Bool, _ past: SessionRow.Past, hash: KeyedHash
    ) throws(Failure) -> Bool {
        var values: [Value] = [
            .word(row.version), .text(row.revision.text), .integer(end(row.timeToLive)),
            .word(hash.sum(row.record.meta)),
            .blob(row.record.meta),
        ]
        if withHead { values.append(.blob(row.record.head)) }
        values += [.text(row.name), .word(version)]
        var id: Int?
        try run(
            """
            UPDATE session SET version = ?, revision = ?, expires = ?, sum = ?, meta = ?\(withHead ? ", head = ?" : "")
                WHERE name = ? AND version = ? RETURNING id
            """, values
        ) { id = $0.integer(0) }
        guard let id else { return false }
        for sequence in past.removed {
            try run("DELETE FROM skeleton WHERE session = ? AND sequence = ?", [.integer(id), .word(sequence)])
        }
        if let added = past.added {
            try run(
                "INSERT OR REPLACE INTO skeleton VALUES (?, ?, ?, ?)",
                [.integer(id), .word(added.sequence), .word(hash.sum(added.body)), .blob(added.body)])
        }
        return true
    }

    /// False if there is none of this version.
    func delete(_ name: String, version: UInt64) throws(Failure) -> Bool {
        try run("DELETE FROM session WHERE name = ? AND version = ?", [.text(name), .word(version)]) == 1
    }

    /// Whatever is there under a name.
    func delete(_ name: String) throws(Failure) { try run("DELETE FROM session WHERE name = ?", [.text(name)]) }

    // MARK: Skeletons

    func skeleton(_ sequence: UInt64, of name: String, hash: KeyedHash) throws(Failure) -> [UInt8]? {
        var body: [UInt8]?
        try run(
            "SELECT skeleton.sum, body FROM skeleton JOIN session ON session = session.id"
                + " WHERE name = ? AND sequence = ?",
            [.text(name), .word(sequence)]
        ) { row in
            let found = row.blob(1)
            if hash.sum(found) == row.word(0) { body = found }
        }
        return body
    }

    // MARK: Time

    // Not each use is written down, so a row's end is later than its session's: by a sixteenth of its time, of which a
    // use writes once half is gone. Whoever knows better takes the row away before.

    /// A session was used: it ends this much later than now.
    func extend(_ name: String, by left: Duration) throws(Failure) {
        try run("UPDATE session SET expires = ? WHERE name = ?", [.integer(end(left)), .text(name)])
    }

    /// Some of those whose time is over.
    func expired() throws(Failure) -> [String] {
        var names: [String] = []
        let sql = "SELECT name FROM session WHERE expires <= ? LIMIT 500"
        try run(sql, [.integer(now)]) { names.append($0.text(0)) }
        return names
    }

    /// Takes a session away that ends within `span`.
    func forgetExpired(_ name: String, within span: Duration = .zero) throws(Failure) {
        let end = clock.milliseconds(.now + span)
        try run("DELETE FROM session WHERE name = ? AND expires <= ?", [.text(name), .integer(end)])
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

    private func end(_ left: Duration) -> Int { clock.milliseconds(.now + left + left / 16) }
}

extension KeyedHash {
    /// Shows whether bytes are what they were.
    func sum(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { digest(of: $0) } }
}
