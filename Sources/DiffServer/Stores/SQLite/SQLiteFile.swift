import Glibc

/// The file of a store, opened and checked: it is ours, of a known format, and no other process uses it.
struct SQLiteFile {
    /// Tells our databases from those of other programs ("diff").
    private static let applicationID = 0x6469_6666
    /// The format of the tables. A process upgrades older ones.
    static let format = 3

    let path: String
    private let lock: Int32

    /// - Throws: why the file cannot be used. Nothing in it was changed then.
    init(path: String) throws(StoreError) {
        self.path = path
        lock = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw StoreError("\(path): \(String(cString: strerror(errno)))") }
        // Held for the life of the process, whose end frees it in any case.
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw StoreError("\(path): another process has it open") }
        try checkHeader()
    }

    /// Lets other processes use the file.
    func release() { flock(lock, LOCK_UN) }

    /// Checks the file's header (https://www.sqlite.org/fileformat.html §1.3) before SQLite opens it, and perhaps
    /// writes to it.
    private func checkHeader() throws(StoreError) {
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(lock, &header, header.count, 0)
        guard count >= 0 else { throw StoreError("\(path): \(String(cString: strerror(errno)))") }
        if count == 0 { return }
        func number(_ offset: Int) -> Int { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        guard count == header.count, header.starts(with: "SQLite format 3\0".utf8) else {
            throw StoreError("\(path): not an SQLite database")
        }
        guard number(68) == Self.applicationID else { throw StoreError("\(path): not a diffserver database") }
        guard number(60) <= Self.format else {
            throw StoreError(
                "\(path): written by a newer diffserver (format \(number(60)); this one knows \(Self.format))")
        }
    }

    /// Opens a connection, and makes the tables if they are missing.
    ///
    /// - Parameters:
    ///   - isDurable: whether a commit waits for the disk.
    ///   - cache: bytes of pages that it keeps; what a large commit changes beyond that goes to the log before the
    ///     commit.
    func connection(isDurable: Bool, cache: Int) throws(StoreError) -> SQLiteDatabase {
        do throws(SQLiteDatabase.Failure) {
            let database = try SQLiteDatabase(path: path)
            // A page holds about seven entries of a log.
            try database.run("PRAGMA page_size = 4096")
            // Before the write-ahead log is turned on: the header must be in the file whenever the process ends.
            let format = try database.integer("PRAGMA user_version")
            if try database.integer("SELECT count(*) FROM sqlite_schema") == 0 {
                try change(
                    database, by: SQLiteDatabase.schema + ["PRAGMA application_id = \(Self.applicationID)"])
            } else if format < Self.format {
                try change(database, by: SQLiteDatabase.upgrade(from: format))
            }
            try database.run("PRAGMA journal_mode = WAL")
            try database.run(isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
            try database.run("PRAGMA foreign_keys = ON")
            // 32 MiB, which a start has to read through; a log that grew beyond twice that is truncated.
            try database.run("PRAGMA wal_autocheckpoint = 8192")
            try database.run("PRAGMA journal_size_limit = 67108864")
            try database.execute("PRAGMA cache_size = -\(cache >> 10)")
            return database
        } catch { throw StoreError("\(path): \(error.message)") }
    }

    private func change(_ database: SQLiteDatabase, by statements: [String]) throws(SQLiteDatabase.Failure) {
        try database.run("BEGIN")
        for statement in statements { try database.execute(statement) }
        try database.execute("PRAGMA user_version = \(Self.format)")
        try database.run("COMMIT")
    }

}
