// The reader of the log may stop reading, and a disk may stall, but requests must go on. So lines go into a buffer that
// a separate thread writes out. Lines that do not fit are dropped and counted. The descriptor stays blocking, since
// O_NONBLOCK would affect all processes that share it.

import CDiffSystem
import Dispatch
import FoundationEssentials
import HTTPCore

/// A bounded buffer of lines in front of a descriptor, and the thread that writes them.
package final class LogOutput: Sendable {
    package static let standardError = LogOutput(descriptor: STDERR_FILENO)

    /// The size of the buffer: enough for a few thousand lines.
    static let maxWaitingBytes = 1 << 20

    private let descriptor: Int32
    private let content = Locked(Content())
    private let arrivals = DispatchSemaphore(value: 0)

    private struct Content {
        var waiting: [UInt8] = []
        var isWriting = false
        var hasThread = false
        var dropped = 0
        /// While lines are dropped: how many had been before, and what makes the lines around the gap.
        var gap: (start: Int, notice: @Sendable (Int?) -> [UInt8])?
    }

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Lines dropped since the start.
    var dropped: Int { content.withLock { $0.dropped } }

    /// Appends a line to the buffer, or drops it. Never blocks.
    ///
    /// - Parameter notice: makes the lines around a gap: the first with nil, which always fits, and the last with the
    ///   number of dropped lines.
    package func append(_ line: [UInt8], notice: @escaping @Sendable (Int?) -> [UInt8] = { _ in [] }) {
        let (isFirst, needsThread) = content.withLock { content in
            if content.waiting.count + line.count > Self.maxWaitingBytes {
                if content.gap == nil {
                    content.waiting += notice(nil)
                    content.gap = (content.dropped, notice)
                }
                content.dropped += 1
                return (false, false)
            }
            let isFirst = content.waiting.isEmpty && !content.isWriting
            content.waiting += line
            defer { content.hasThread = true }
            return (isFirst, !content.hasThread)
        }
        if needsThread { SystemThread.start(named: "log") { self.writeAll() } }
        if isFirst { arrivals.signal() }
    }

    /// Waits until everything is written; called before the process ends.
    package func flush(within limit: Duration = .seconds(1)) {
        let deadline = Instant.now + limit
        while content.withLock({ !$0.waiting.isEmpty || $0.isWriting }), Instant.now < deadline { usleep(1000) }
    }

    private func writeAll() {
        while true {
            arrivals.wait()
            while let lines = takeLines() { write(lines) }
        }
    }

    /// Empties the buffer; nil if it was empty.
    private func takeLines() -> [UInt8]? {
        content.withLock { content in
            let lines = content.waiting
            content.waiting = content.gap.map { $0.notice(content.dropped - $0.start) } ?? []
            content.gap = nil
            content.isWriting = !lines.isEmpty
            return lines.isEmpty ? nil : lines
        }
    }

    /// Writes lines, and drops them on an error.
    private func write(_ lines: [UInt8]) {
        var start = 0
        while start < lines.count {
            let count = lines[start...].withUnsafeBytes { CDiffSystem.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                start += count
            } else if count < 0, errno == EAGAIN {
                var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&writable, 1, -1)
            } else if count == 0 || errno != EINTR {
                return
            }
        }
    }
}

/// Keeps a log file at its path: when the file is moved or removed, a new one is opened there.
package struct LogFile {
    private let descriptor: Int32
    private let path: String

    /// Nil if the descriptor is not a file with a name.
    package init?(descriptor: Int32) {
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        else { return nil }
        (self.descriptor, self.path) = (descriptor, path)
        guard let status = Self.status(of: descriptor), status.st_mode & S_IFMT == S_IFREG, isAtPath(status)
        else { return nil }
        // Appending, so that a truncated log continues at the file's start.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_APPEND)
    }

    /// Reopens the path if it now names another file, or none.
    ///
    /// - Returns: whether it was reopened. If that fails, nothing changes.
    package func follow() -> Bool {
        guard let status = Self.status(of: descriptor), !isAtPath(status) else { return false }
        let next = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, status.st_mode & 0o777)
        guard next >= 0 else { return false }
        defer { close(next) }
        return dup2(next, descriptor) >= 0
    }

    private func isAtPath(_ status: stat) -> Bool {
        var named = stat()
        return stat(path, &named) == 0 && named.st_dev == status.st_dev && named.st_ino == status.st_ino
    }

    private static func status(of descriptor: Int32) -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }
}
