import CDiffSystem

/// Disk space reserved for deletes, which are first written to the log too. Preallocates an unlinked file, which ends
/// with the process. On a full disk it is truncated, and only deletes are accepted until it fits again, or the database
/// itself has as much free space. Not thread-safe.
final class SQLiteReserve {
    /// In bytes. After a thousand pages the log is checkpointed into the database, which may have to grow for that.
    static let size = 4 << 20

    /// Negative without such a file: then the reserve always counts as held.
    private let descriptor: Int32
    private(set) var isHeld = true

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

    /// Reserves the space again if it was released; false if there is none.
    func hold() -> Bool {
        if isHeld { return true }
        switch posix_fallocate(descriptor, 0, off_t(Self.size)) {
        // Other failures say nothing about the disk: a file system that cannot preallocate, or a limit of the process.
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
