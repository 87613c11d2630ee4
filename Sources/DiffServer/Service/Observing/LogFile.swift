import CDiffSystem
import FoundationEssentials

/// Keeps a log that goes to a file at its path: when the file is moved or removed, a new one is made.
package struct LogFile {
    private let descriptor: Int32
    private let path: String

    /// Nil if the descriptor is not a file with a name.
    package init?(descriptor: Int32) {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        else { return nil }
        (self.descriptor, self.path) = (descriptor, path)
        guard let status = Self.status(of: descriptor), status.st_mode & S_IFMT == S_IFREG, isInPlace(status)
        else { return nil }
        // So that a truncated log continues at the file's start.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_APPEND)
    }

    /// Opens the path again if it is another file now, or none.
    ///
    /// - Returns: whether it did. If the path cannot be opened, nothing changes.
    package func follow() -> Bool {
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
