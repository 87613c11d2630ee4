import CDiffSQLite
import CDiffSystem
import DiffSessions
import DiffStores

/// A connection to a database, and its prepared statements. Used by one thread at a time.
final class SQLiteDatabase {
    /// Nil once it is closed.
    private var handle: OpaquePointer?
    /// By the address of their text. There are two dozen: a linear search is faster than a hash table.
    private var statements: [(text: UnsafePointer<UInt8>, prepared: OpaquePointer)] = []
    var clock = StoreClock(after: nil, wall: WallClock())

    /// An error of SQLite.
    struct Failure: Error {
        var code = SQLITE_ERROR
        let message: String

        /// Whether the failure only concerns the record read or written, so that other statements may succeed.
        var isLocal: Bool { [SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_TOOBIG].contains(code & 0xFF) || isLimit }
        var isFullDisk: Bool { code & 0xFF == SQLITE_FULL }
        /// Whether the file would grow beyond its limit.
        var isLimit = false

        static let fullDisk = Failure(code: SQLITE_FULL, message: "database or disk is full")
        static let limit = Failure(message: "the file has reached its limit", isLimit: true)
    }

    /// - Parameter isStill: whether to read the file as it is, without its log, and without files beside it.
    init(path: String, isStill: Bool = false) throws(Failure) {
        var opened: OpaquePointer?
        let flags = isStill ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        // An absolute path that begins with two slashes would name a host.
        let escaped = path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
        let name = isStill ? "file:\(path.hasPrefix("/") ? "//" : "")\(escaped)?immutable=1" : path
        let code = sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw Failure(message: message)
        }
        handle = opened
        sqlite3_busy_timeout(handle, 5000)
    }

    deinit { close() }

    /// Closes the connection. The last one to a file checkpoints the log first, unless another process is reading.
    func close() {
        for statement in statements { sqlite3_finalize(statement.prepared) }
        statements = []
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// A value of a row, or for a parameter.
    enum Value {
        case integer(Int)
        case text(String)
        case blob([UInt8])

        static func word(_ word: UInt64) -> Value { .integer(Int(bitPattern: UInt(word))) }
    }

    /// Runs one statement, which stays prepared; calls `row` with each row, and returns how many it changed.
    @discardableResult
    func run(_ sql: StaticString, _ values: [Value] = [], row: (Row) -> Void = { _ in }) throws(Failure) -> Int {
        let statement = try prepared(sql)
        return try bind(values, statement) { () throws(Failure) in
            defer { sqlite3_reset(statement) }
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_ROW: row(Row(statement: statement))
                case SQLITE_DONE: return Int(sqlite3_changes(handle))
                default: throw failure()
                }
            }
        }
    }

    /// Runs statements once.
    func execute(_ sql: String) throws(Failure) { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// The first column of the first row, as a number.
    func integer(_ sql: StaticString) throws(Failure) -> Int {
        var value = 0
        try run(sql) { value = $0.integer(0) }
        return value
    }

    private func prepared(_ sql: StaticString) throws(Failure) -> OpaquePointer {
        for statement in statements where statement.text == sql.utf8Start { return statement.prepared }
        var statement: OpaquePointer?
        let code = sql.withUTF8Buffer { text in
            text.withMemoryRebound(to: CChar.self) {
                sqlite3_prepare_v2(handle, $0.baseAddress, Int32($0.count), &statement, nil)
            }
        }
        guard code == SQLITE_OK, let statement else { throw failure() }
        statements.append((sql.utf8Start, statement))
        return statement
    }

    /// Binds the values from `first` on, and calls `body` while texts and blobs stay in place, so that none is copied.
    private func bind(
        _ values: [Value], from first: Int = 0, _ statement: OpaquePointer, _ body: () throws(Failure) -> Int
    ) throws(Failure) -> Int {
        for number in first..<values.count {
            let index = Int32(number + 1)
            // The statement must not keep a pointer to bytes beyond their lifetime.
            func bindRest(_ code: Int32) -> Result<Int, Failure> {
                Result { () throws(Failure) in
                    defer { sqlite3_bind_null(statement, index) }
                    try check(code)
                    return try bind(values, from: number + 1, statement, body)
                }
            }
            switch values[number] {
            case .integer(let number): try check(sqlite3_bind_int64(statement, index, Int64(number)))
            case .text(var text):
                return try text.withUTF8 {
                    bindRest(cdiff_sqlite_bind_text(statement, index, $0.baseAddress, Int32($0.count)))
                }.get()
            case .blob(let bytes):
                return try bytes.withUnsafeBytes {
                    bindRest(cdiff_sqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count)))
                }.get()
            }
        }
        return try body()
    }

    private func check(_ code: Int32) throws(Failure) { if code != SQLITE_OK { throw failure() } }

    private func failure() -> Failure {
        if handle == nil { return Failure(message: "the database is closed") }
        return Failure(code: sqlite3_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }

    /// Whether no transaction is open; an error may have ended it.
    var isIdle: Bool { handle == nil || sqlite3_get_autocommit(handle) != 0 }

    /// One row of a result, valid until the next one is requested.
    struct Row {
        fileprivate let statement: OpaquePointer

        func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }

        func word(_ column: Int32) -> UInt64 { UInt64(UInt(bitPattern: integer(column))) }

        func text(_ column: Int32) -> String {
            guard let text = sqlite3_column_text(statement, column) else { return "" }
            return String(cString: text)
        }

        func blob(_ column: Int32) -> [UInt8] {
            guard let start = sqlite3_column_blob(statement, column) else { return [] }
            return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }
    }
}

// MARK: - The file

/// The file of a store, opened and checked: it is ours, of a known format, and no other process uses it.
package struct SQLiteFile {
    /// Tells our databases from those of other programs ("diff").
    private static let applicationID = 0x6469_6666
    /// The format of the tables and their content. A process opens no other.
    static let format = 4
    /// In bytes.
    static let pageSize = 4096

    let path: String
    private let lock: Int32

    /// - Throws: why the file cannot be used; then nothing in it was changed.
    init(path: String) throws(StoreError) {
        self.path = path
        lock = CDiffSystem.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw StoreError(ofLastCallAt: path) }
        // Held until the process ends, which releases it in any case.
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw StoreError("\(path): another process has it open") }
        try checkHeader()
    }

    /// Checks whether a process could use the file, even while another does. Returns a note on what was not compared.
    package static func check(_ path: String, digestKey: String?) throws(StoreError) -> String? {
        // SQLite creates files beside it.
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard access(folder, W_OK | X_OK) == 0 else { throw StoreError(ofLastCallAt: path) }
        let descriptor = CDiffSystem.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            let problem = StoreError(ofLastCallAt: path)
            // A missing file will be created.
            if access(path, F_OK) != 0 { return nil }
            throw problem
        }
        defer { CDiffSystem.close(descriptor) }
        try SQLiteFile(path: path, lock: descriptor).checkHeader()
        var log = stat()
        if stat("\(path)-wal", &log) == 0, log.st_size > 0 {
            return "the key of the digests may be in the log beside it, and was not compared"
        }
        do throws(SQLiteDatabase.Failure) {
            try SQLiteDatabase(path: path, isStill: true).checkDigestKey(digestKey)
        } catch { throw StoreError("\(path): \(error.message)") }
        return nil
    }

    private init(path: String, lock: Int32) { (self.path, self.lock) = (path, lock) }

    /// A warning about the file's mode; nil if only its owner can use it. A restored file often has the mode of a copy.
    var warning: String? {
        var status = stat()
        guard fstat(lock, &status) == 0, status.st_mode & 0o077 != 0 else { return nil }
        return "\(path): other users of this machine can read or change this file, which holds the key of the digests; "
            + "chmod 600 \(path) prevents that"
    }

    func release() { flock(lock, LOCK_UN) }

    /// Checks the header (https://www.sqlite.org/fileformat.html §1.3) before SQLite can write to the file.
    private func checkHeader() throws(StoreError) {
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(lock, &header, header.count, 0)
        guard count >= 0 else { throw StoreError(ofLastCallAt: path) }
        if count == 0 { return }
        func number(_ offset: Int) -> Int { header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
        guard count == header.count, header.starts(with: "SQLite format 3\0".utf8) else {
            throw StoreError("\(path): not an SQLite database")
        }
        guard number(68) == Self.applicationID else { throw StoreError("\(path): not a diffserver database") }
        guard number(60) == Self.format else {
            let formats = "format \(number(60)); this one reads \(Self.format)"
            throw StoreError("\(path): written by another version of diffserver (\(formats))")
        }
    }

    /// Makes the tables if they are missing. What a commit changes beyond `cache` bytes goes to the log before it
    /// commits.
    func connection(isDurable: Bool, cache: Int) throws(StoreError) -> SQLiteDatabase {
        do throws(SQLiteDatabase.Failure) {
            let database = try SQLiteDatabase(path: path)
            // A page holds about seven entries of a log.
            try database.execute("PRAGMA page_size = \(Self.pageSize)")
            // Before the write-ahead log is turned on: the header must be in the file whenever the process ends.
            if try database.integer("SELECT count(*) FROM sqlite_schema") == 0 { try initialize(database) }
            try database.run("PRAGMA journal_mode = WAL")
            try database.run(isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
            try database.run("PRAGMA foreign_keys = ON")
            // 4 MiB: a start reads the whole log, and a page that is often rewritten is searched among all its versions
            // there. A log that grew far beyond that is truncated.
            try database.run("PRAGMA wal_autocheckpoint = 1000")
            try database.run("PRAGMA journal_size_limit = 67108864")
            try database.execute("PRAGMA cache_size = -\(cache >> 10)")
            return database
        } catch { throw StoreError("\(path): \(error.message)") }
    }

    private func initialize(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) {
        try database.run("BEGIN")
        for statement in SQLiteDatabase.schema { try database.execute(statement) }
        try database.execute("PRAGMA application_id = \(Self.applicationID)")
        try database.execute("PRAGMA user_version = \(Self.format)")
        try database.run("COMMIT")
    }
}

extension StoreError {
    /// Why the last system call failed.
    init(ofLastCallAt path: String) { self.init("\(path): \(String(cString: strerror(errno)))") }
}
