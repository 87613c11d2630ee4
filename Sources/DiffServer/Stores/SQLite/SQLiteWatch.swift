// A database that was removed under the process goes on to take writes, into a file that nobody will ever find; one
// whose log was cut takes them behind a hole, where the next start stops to read; and to touch a wal-index that was cut
// is SIGBUS. So the files are looked at before each transaction, and again before what it wrote is acknowledged: three
// calls of stat, some 3 µs.
//
// SQLite can keep the wal-index in its own memory instead, if no other process opens the file. Then `VACUUM INTO` from
// outside, the backup while the server runs, would find the file locked. That is worth more.

import CDiffSQLite
import Glibc
import HTTPCore

/// Looks whether the files of a database are those that were opened.
final class SQLiteWatch: Sendable {
    private struct Seen {
        var device: dev_t
        var number: ino_t
        var size: Int
    }

    private enum Kind: String, CaseIterable {
        case database = "", log = "-wal", index = "-shm"
    }

    private struct File {
        let kind: Kind
        let path: String
        /// Nil until it is there.
        var seen: Seen?
    }

    private struct State {
        var files: [File]
        /// What was cut does not grow again.
        var damage: String?
    }

    private let state: Locked<State>
    /// Of the log, before its frames, and of each frame, before its page
    /// (https://www.sqlite.org/fileformat.html §4.1).
    private static let (logHeader, frameHeader) = (32, 24)

    /// - Parameter path: of a database that is open, and of which something was read.
    init(path: String) {
        state = Locked(State(files: Kind.allCases.map { File(kind: $0, path: path + $0.rawValue) }))
    }

    /// Why the database cannot be used any more, or not now; nil if all is as it was.
    ///
    /// - Parameter database: is asked where a file has become shorter, which some checkpoints may do to it.
    func trouble(_ database: SQLiteDatabase) -> String? {
        state.withLock { state in
            if let damage = state.damage { return damage }
            for index in state.files.indices {
                let file = state.files[index]
                var found = stat()
                guard stat(file.path, &found) == 0 else {
                    if errno != ENOENT { return "\(file.path): \(String(cString: strerror(errno)))" }
                    if file.seen != nil { return "\(file.path) was removed while in use" }
                    continue
                }
                let now = Seen(device: found.st_dev, number: found.st_ino, size: Int(found.st_size))
                if let seen = file.seen {
                    guard seen.device == now.device, seen.number == now.number else {
                        return "\(file.path) was replaced while in use"
                    }
                    if now.size < seen.size, !Self.mayBe(now.size, file.kind, database) {
                        state.damage = "\(file.path) was truncated while in use; restart the process"
                        return state.damage
                    }
                }
                state.files[index].seen = now
            }
            return nil
        }
    }

    /// Whether a file can have become so short by somebody's `VACUUM` or checkpoint.
    private static func mayBe(_ size: Int, _ kind: Kind, _ database: SQLiteDatabase) -> Bool {
        do throws(SQLiteDatabase.Failure) {
            let page = try database.integer("PRAGMA page_size")
            switch kind {
            case .database:
                let pages = try database.integer("PRAGMA page_count")
                return size > 0 && size >= page * pages
            case .log:
                var frames = 0
                try database.run("PRAGMA wal_checkpoint(PASSIVE)") { frames = max(0, $0.integer(1)) }
                return frames == 0 || size >= logHeader + frames * (frameHeader + page)
            case .index: return false
            }
        } catch { return false }
    }
}
