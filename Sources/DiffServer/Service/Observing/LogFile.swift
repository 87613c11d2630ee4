import FoundationEssentials
import Glibc

/// A log that goes to a file: it stays at its path. A file that was moved or removed is left, and another made in its
/// place.
struct LogFile {
    private let descriptor: Int32
    private let path: String

    /// - Parameter descriptor: where the log is written; nil if that is no file with a name.
    init?(descriptor: Int32) {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        else { return nil }
        (self.descriptor, self.path) = (descriptor, path)
        guard let status = Self.status(of: descriptor), status.st_mode & S_IFMT == S_IFREG, isInPlace(status)
        else { return nil }
        // So that what comes behind a truncation begins at the file's start.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_APPEND)
    }

    /// Opens the path again if it is another file now, or none.
    ///
    /// - Returns: whether it was; not where nothing can be opened there: then all goes on as it was.
    func follow() -> Bool {
        guard let status = Self.status(of: descriptor), !isInPlace(status) else { return false }
        let next = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, status.st_mode & 0o777)
        guard next >= 0 else { return false }
        defer { close(next) }
        return dup2(next, descriptor) >= 0
    }

    private func isInPlace(_ status: stat) -> Bool {
        var named = stat()
        return stat(path, &named) == 0 && named.st_dev == status.st_dev && named.st_ino == status.st_ino
    }

    private static func status(of descriptor: Int32) -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }
}
