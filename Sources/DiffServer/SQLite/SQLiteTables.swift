// One table has the log entries of all sessions, in the order in which they were written, so a group of commits touches
// few pages. An entry names its predecessor, so no index is needed, and a gap is noticed. A checksum is stored only
// where nothing else would reveal damage (see `SessionRecord` and `LogEntry`).

import DiffClock
import DiffSessions
import DiffStores
import SnapshotKit

/// A session as it was found in the database.
struct FoundSession: Sendable {
    let version: UInt64
    let revision: String
    /// Milliseconds since 1970.
    let expires: Int
    /// The estimated memory of the record and the session during loading, in bytes.
    let size: Int
    let record: SessionRecord
    /// The checksum of `record.meta`.
    let sum: UInt64
    /// Entries that the record covers already, and those after it, oldest first.
    var covered: [(id: UInt64, body: [UInt8])] = []
    var behind: [(id: UInt64, body: [UInt8])] = []
    /// Whether an entry after the record is missing.
    var hasGap = false
}

extension SQLiteDatabase {
    static let schema = [
        "CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        // `last` is the newest entry of the log, `covered` the newest that the checkpoint covers.
        """
        CREATE TABLE session (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, revision TEXT NOT NULL,
            expires INTEGER NOT NULL, last INTEGER NOT NULL, covered INTEGER NOT NULL, rows INTEGER NOT NULL,
            bytes INTEGER NOT NULL)
        """,
        "CREATE INDEX session_by_end ON session (expires)",
        """
        CREATE TABLE checkpoint (
            session INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE, sum INTEGER NOT NULL, meta BLOB NOT NULL,
            head BLOB NOT NULL)
        """,
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, previous INTEGER NOT NULL, body BLOB NOT NULL)",
        "CREATE TABLE revocation (session TEXT PRIMARY KEY, moment INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX revocation_by_moment ON revocation (moment)",
    ]

    // MARK: Sessions

    /// - Parameter most: if a session's size exceeds it, only the size is read.
    func session(named name: String, upTo most: Int = .max) throws(Failure) -> FoundSession? {
        var found: FoundSession?
        var (last, covered): (UInt64, UInt64) = (0, 0)
        try run(
            """
            SELECT version, revision, expires, sum, meta,
                    CASE WHEN 2 * length(head) + 100 * rows <= ? THEN head END, last, covered,
                    2 * length(head) + 100 * rows
                FROM session LEFT JOIN checkpoint ON session.id = checkpoint.session WHERE name = ? AND expires > ?
            """,
            [.integer(most), .text(name), .integer(now)]
        ) { row in
            found = FoundSession(
                version: row.word(0), revision: row.text(1), expires: row.integer(2),
                size: min(max(0, row.integer(8)), 1 << 40),
                record: SessionRecord(meta: row.blob(4), head: row.blob(5)), sum: row.word(3))
            (last, covered) = (row.word(6), row.word(7))
        }
        guard var found, found.size <= most else { return found }
        try addLog(to: &found, from: last, covered: covered)
        return found
    }

    private func addLog(to found: inout FoundSession, from last: UInt64, covered: UInt64) throws(Failure) {
        var id = last
        found.hasGap = last != covered
        while id != 0 {
            var entry: (previous: UInt64, body: [UInt8])?
            try run("SELECT previous, body FROM entry WHERE id = ?", [.word(id)]) { entry = ($0.word(0), $0.blob(1)) }
            guard let entry else { break }
            if found.hasGap { found.behind.append((id, entry.body)) } else { found.covered.append((id, entry.body)) }
            id = entry.previous
            if id == covered { found.hasGap = false }
        }
        found.covered.reverse()
        found.behind.reverse()
    }

    /// The sessions in a range, in order, and one beyond the limit.
    func sessions(_ range: SessionRange) throws(Failure) -> [SessionEntry] {
        var found: [SessionEntry] = []
        try run(
            """
            SELECT name, revision, rows, bytes, expires FROM session
                WHERE name >= ? AND name < ? AND expires > ? ORDER BY name LIMIT ?
            """,
            [.text(range.lower), .text(range.upper), .integer(now), .integer(range.limit + 1)]
        ) { row in
            let left = clock.moment(milliseconds: row.integer(4)) - .now
            found.append(
                SessionEntry(
                    name: row.text(0), revision: row.text(1), rows: row.integer(2), bytes: row.integer(3),
                    expires: WallTime.after(left)))
        }
        return found
    }

    /// Writes a commit; false if the previous version is missing, or the name of a new session is taken.
    func write(_ commit: PendingCommit, by hash: KeyedHash) throws(Failure) -> Bool {
        let (name, log, before) = (commit.name, commit.log, commit.before)
        if let before {
            guard try update(log, named: name, after: before) else { return false }
        } else {
            try forgetExpired(name)
            let end = end(log.session.settings.timeToLive)
            guard try insert(log.session, named: name, until: end, last: log.id, covered: log.id) else { return false }
        }
        try write(log.entry, log.id, previous: log.isStart ? 0 : before?.log.last ?? 0)
        if let record = log.checkpoint(by: hash) { try write(record, of: name, by: hash) }
        for entry in log.removed { try run("DELETE FROM entry WHERE id = ?", [.word(entry)]) }
        return true
    }

    /// - Parameter end: in milliseconds.
    func insert(
        _ session: Session, named name: String, until end: Int, last: UInt64, covered: UInt64
    ) throws(Failure) -> Bool {
        try run(
            """
            INSERT INTO session (name, version, revision, expires, last, covered, rows, bytes)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING
            """,
            [
                .text(name), .word(session.version), .text(session.head.revision.text), .integer(end), .word(last),
                .word(covered), .integer(session.rows), .integer(session.log.bytes),
            ]) == 1
    }

    private func update(_ commit: LogCommit, named name: String, after before: Session) throws(Failure) -> Bool {
        let (session, time) = (commit.session, commit.session.settings.timeToLive)
        var values: [Value] = [
            .word(session.version), .text(session.head.revision.text), .word(commit.id),
            .word(commit.isCheckpoint ? commit.id : 0), .integer(session.rows), .integer(session.log.bytes),
            .text(name), .word(before.version), .integer(clock.milliseconds(.now + time.wholeNanoseconds / 16 * 17)),
        ]
        // Rewrites the expiry only if need be, since it is indexed.
        if before.settings.timeToLive == time {
            let count = try run(
                """
                UPDATE session SET version = ?, revision = ?, last = ?, covered = max(covered, ?), rows = ?, bytes = ?
                    WHERE name = ? AND version = ? AND expires >= ?
                """, values)
            if count == 1 { return true }
        }
        values[8] = .integer(end(time))
        return try run(
            """
            UPDATE session SET version = ?, revision = ?, last = ?, covered = max(covered, ?), rows = ?, bytes = ?,
                expires = ?9 WHERE name = ?7 AND version = ?8
            """, values) == 1
    }

    func write(_ entry: [UInt8], _ id: UInt64, previous: UInt64) throws(Failure) {
        try run("INSERT INTO entry VALUES (?, ?, ?)", [.word(id), .word(previous), .blob(entry)])
    }

    func write(_ record: SessionRecord, of name: String, by hash: KeyedHash) throws(Failure) {
        try run(
            "INSERT OR REPLACE INTO checkpoint SELECT id, ?, ?, ? FROM session WHERE name = ?",
            [.word(hash.sum(record.meta)), .blob(record.meta), .blob(record.head), .text(name)])
    }

    /// Removes a session; false if it has another version, or none.
    func delete(_ name: String, version: UInt64) throws(Failure) -> Bool {
        try delete("DELETE FROM session WHERE name = ? AND version = ? RETURNING last", [.text(name), .word(version)])
    }

    /// Removes whatever there is under a name.
    func delete(_ name: String) throws(Failure) {
        _ = try delete("DELETE FROM session WHERE name = ? RETURNING last", [.text(name)])
    }

    /// Removes a session and its log; false if there is none.
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

    func lastEntry() throws(Failure) -> UInt64 { UInt64(try integer("SELECT ifnull(max(id), 0) FROM entry")) }

    // MARK: Time

    // Not every use is recorded, since the column is indexed. So a row expires later than its session: by 3/32 of the
    // time to live. A use rewrites the expiry once that of the session has moved by 1/32, and a commit once the margin
    // is below 1/16. The table knows the session's own expiry, and deletes the row earlier.

    /// Records the use of a session that expires this much later than now.
    func extend(_ name: String, by left: Duration) throws(Failure) {
        try run("UPDATE session SET expires = ? WHERE name = ?", [.integer(end(left)), .text(name)])
    }

    func expired() throws(Failure) -> [String] {
        var names: [String] = []
        try run("SELECT name FROM session WHERE expires <= ? LIMIT 500", [.integer(now)]) { names.append($0.text(0)) }
        return names
    }

    /// Deletes a session that expires within `span`.
    func forgetExpired(_ name: String, within span: Duration = .zero) throws(Failure) {
        let end = clock.milliseconds(.now + span)
        _ = try delete(
            "DELETE FROM session WHERE name = ? AND expires <= ? RETURNING last", [.text(name), .integer(end)])
    }

    // MARK: Revocations

    /// Refuses tokens of a session made up to a moment, and forgets moments older than any living token.
    func revoke(_ session: String, upTo moment: Int) throws(Failure) {
        try run("DELETE FROM revocation WHERE moment <= ?", [.integer(moment - Revocations.life)])
        try run(
            "INSERT INTO revocation VALUES (?, ?) ON CONFLICT DO UPDATE SET moment = max(moment, excluded.moment)",
            [.text(session), .integer(moment)])
    }

    func revoked() throws(Failure) -> [Revocations.Moment] {
        var all: [Revocations.Moment] = []
        try run("SELECT session, moment FROM revocation") { all.append(($0.text(0), $0.integer(1))) }
        return all
    }

    // MARK: Settings

    /// The digest key that the database was created with; a new one gets the given key, or else `new`.
    func digestKey(_ given: String?, orElse new: String) throws(Failure) -> String {
        try run("INSERT INTO setting VALUES ('digest-key', ?) ON CONFLICT DO NOTHING", [.text(given ?? new)])
        return try checkDigestKey(given) ?? new
    }

    /// Throws if the database was created with another key than the given one, or cannot be read.
    @discardableResult
    func checkDigestKey(_ given: String?) throws(Failure) -> String? {
        var found: String?
        try run("SELECT value FROM setting WHERE name = 'digest-key'") { found = $0.text(0) }
        if let given, let found, given != found { throw Failure(message: "created with a different --digest-key") }
        return found
    }

    /// Tests whether the database can be written to.
    func probe() throws(Failure) { try run("INSERT OR REPLACE INTO setting VALUES ('probe', ?)", [.text("\(now)")]) }

    /// Milliseconds by the store's clock.
    var now: Int { clock.milliseconds(.now) }

    private func end(_ left: Duration) -> Int { clock.milliseconds(.now + left.wholeNanoseconds / 32 * 35) }

    /// Sets the clock by the record of the previous process. A session that outlives the longest time to live was
    /// written under a wrong clock, and gets that time now.
    func startClock(wall: WallClock) throws(Failure) {
        var mark: StoreClock.Mark?
        try run("SELECT value FROM setting WHERE name = 'clock'") { mark = StoreClock.Mark($0.text(0)) }
        clock = StoreClock(after: mark, wall: wall)
        // Twice, since not every use of a session is recorded.
        let latest = clock.milliseconds(.now + .seconds(2 * Session.Settings.maxTimeToLive))
        try run("UPDATE session SET expires = ? WHERE expires > ?", [.integer(latest), .integer(latest)])
        try keepClock(wall: wall)
    }

    func keepClock(wall: WallClock) throws(Failure) {
        try run("INSERT OR REPLACE INTO setting VALUES ('clock', ?)", [.text(clock.mark(wall: wall).text)])
    }
}
