// A database removed in use still takes writes, into a file that nobody will ever find. With a truncated write-ahead
// log, writes go behind a hole, where the next start stops reading. And touching a truncated wal-index raises SIGBUS.
// So the files are checked before each transaction, and again before its writes are acknowledged: three calls of stat,
// about 3 µs.
//
// A wal-index in the memory of the process would lock out backups of the running server by `VACUUM INTO`.

import CDiffSystem
import DiffClock

/// Checks that the files of a database are the ones that were opened.
final class SQLiteWatch: Sendable {
    private struct FileState: Equatable {
        var device: dev_t
        var number: ino_t
        var size: Int
    }

    private enum Kind: String, CaseIterable { case database = "", log = "-wal", index = "-shm" }

    private struct File {
        let kind: Kind
        let path: String
        let name: ContiguousArray<CChar>
        /// The last known state; nil until the file exists.
        var known: FileState?

        init(_ kind: Kind, of database: String) {
            self.kind = kind
            path = database + kind.rawValue
            name = path.utf8CString
        }
    }

    private struct State {
        var files: [File]
        /// Why a truncated file is damaged for good.
        var damage: String?
    }

    private let state: Locked<State>
    /// Bytes before the log's frames, and before the page of each frame (https://www.sqlite.org/fileformat.html §4.1).
    private static let (logHeader, frameHeader) = (32, 24)

    init(path: String) { state = Locked(State(files: Kind.allCases.map { File($0, of: path) })) }

    /// Why the database cannot be used, now or for good. It is asked about a file that became shorter.
    func problem(_ database: SQLiteDatabase) -> String? {
        state.withLock { state in
            if let damage = state.damage { return damage }
            for index in state.files.indices {
                var found = stat()
                let isThere = state.files[index].name.withUnsafeBufferPointer { stat($0.baseAddress!, &found) } == 0
                let now = FileState(device: found.st_dev, number: found.st_ino, size: Int(found.st_size))
                if isThere, let known = state.files[index].known, known == now { continue }
                let file = state.files[index]
                guard isThere else {
                    if errno != ENOENT { return "\(file.path): \(String(cString: strerror(errno)))" }
                    if file.known != nil { return "\(file.path) was removed while in use" }
                    continue
                }
                if let known = file.known {
                    guard known.device == now.device, known.number == now.number
                    else { return "\(file.path) was replaced while in use" }
                    if now.size < known.size, !Self.canShrink(now.size, file.kind, database) {
                        state.damage = "\(file.path) was truncated while in use; restart the process"
                        return state.damage
                    }
                }
                state.files[index].known = now
            }
            return nil
        }
    }

    /// Whether a `VACUUM` or a checkpoint can have made a file this short.
    private static func canShrink(_ size: Int, _ kind: Kind, _ database: SQLiteDatabase) -> Bool {
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
