import CDiffSystem

/// Room on the disk reserved for removing sessions: a removal, too, is first written to the log, and on a full disk
/// nobody could make room otherwise.
///
/// The room is a file without a name, which ends with the process. It is given up when the disk is full; from then on
/// only removals are written, until there is room for it again, or as much in the database itself. Not thread-safe.
final class SQLiteReserve {
    /// In bytes. A removal takes some pages of the log; after a thousand pages the log is moved into the file, which
    /// may have to grow for that.
    static let size = 4 << 20

    /// Negative if there is no such file: then the room is never missed.
    private let descriptor: Int32
    private(set) var isHeld = true

    /// - Parameter path: of the database.
    init(beside path: String) {
        var name = Array("\(path)-reserve-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return }
        unlink(name)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        isHeld = false
        _ = hold()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Takes the room if it was given up; false if there is none.
    func hold() -> Bool {
        if isHeld { return true }
        switch posix_fallocate(descriptor, 0, off_t(Self.size)) {
        // Other failures say nothing of the disk: file systems that reserve nothing, or a limit of the process.
        case ENOSPC, EDQUOT: release()
        default: isHeld = true
        }
        return isHeld
    }

    func release() {
        _ = ftruncate(descriptor, 0)
        isHeld = false
    }
}
