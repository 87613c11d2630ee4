import CSQLite
import Glibc

/// The file of a store, opened and checked: ours, of a format that we know, and nobody else's at the moment.
struct SQLiteFile {
    /// Tells our databases from those of other programs ("diff").
    private static let applicationID = 0x6469_6666
    /// Of the tables. A process reads its own format and the one before, and upgrades that.
    static let format = 1

    let path: String
    private let lock: Int32

    /// - Throws: in words, why the file cannot be used. Nothing in it was changed then.
    init(path: String) throws(StoreError) {
        self.path = path
        lock = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw StoreError("\(path): \(String(cString: strerror(errno)))") }
        // Held as long as the process lives: its end, however it comes, frees the file.
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw StoreError("\(path): another process has it open") }
        try checkIsDatabase()
    }

    /// Lets others have the file.
    func release() { flock(lock, LOCK_UN) }

    private func checkIsDatabase() throws(StoreError) {
        var magic = [UInt8](repeating: 0, count: 16)
        let count = pread(lock, &magic, 16, 0)
        guard count == 0 || magic == Array("SQLite format 3\0".utf8) else { throw StoreError("\(path): this is no SQLite database") }
    }

    /// A connection; the tables are there.
    ///
    /// - Parameter isDurable: whether a commit waits for the disk.
    func connection(isDurable: Bool) throws(StoreError) -> SQLiteDatabase {
        do throws(SQLiteDatabase.Failure) {
            let database = try SQLiteDatabase(path: path)
            let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
            try checkOrigin(database, isEmpty)
            try database.run("PRAGMA journal_mode = WAL")
            try database.run(isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
            try database.run("PRAGMA foreign_keys = ON")
            try database.run("PRAGMA wal_autocheckpoint = 8000")
            try database.run("PRAGMA cache_size = -2048")
            if isEmpty { try create(database) }
            return database
        } catch { throw StoreError("\(path): \(error.message)") }
    }

    private func checkOrigin(_ database: SQLiteDatabase, _ isEmpty: Bool) throws(SQLiteDatabase.Failure) {
        if isEmpty { return }
        guard try database.integer("PRAGMA application_id") == Self.applicationID else {
            throw SQLiteDatabase.Failure(message: "this is another program's database")
        }
        let format = try database.integer("PRAGMA user_version")
        guard format <= Self.format else {
            throw SQLiteDatabase.Failure(message: "written by a newer diffserver (format \(format); this one knows \(Self.format))")
        }
    }

    private func create(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) {
        try database.run("BEGIN")
        try database.run("CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        try database.run(
            """
            CREATE TABLE session (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision TEXT NOT NULL,
                expires INTEGER NOT NULL, meta BLOB NOT NULL, head BLOB NOT NULL)
            """)
        try database.run("CREATE INDEX session_by_end ON session (expires)")
        try database.run(
            """
            CREATE TABLE skeleton (
                session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, sequence INTEGER NOT NULL, body BLOB NOT NULL,
                PRIMARY KEY (session, sequence))
            """)
        try database.run("PRAGMA application_id = \(Self.applicationID)")
        try database.run("PRAGMA user_version = \(Self.format)")
        try database.run("COMMIT")
    }

    /// The key of the digests that the database was made with: the given one, or a new one, if it is new.
    ///
    /// - Throws: if another was given.
    func digestKey(_ given: String?, _ database: SQLiteDatabase) throws(StoreError) -> String {
        do throws(SQLiteDatabase.Failure) {
            try database.run(
                "INSERT INTO setting VALUES ('digest-key', ?) ON CONFLICT DO NOTHING", [.text(given ?? StoreAddress.newDigestKey())])
            var key = ""
            try database.run("SELECT value FROM setting WHERE name = 'digest-key'") { key = $0.text(0) }
            if let given, given != key { throw SQLiteDatabase.Failure(message: "made with another --digest-key") }
            return key
        } catch { throw StoreError("\(path): \(error.message)") }
    }
}
