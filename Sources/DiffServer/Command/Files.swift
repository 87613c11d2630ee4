import CDiffSystem

/// Whole files.
package enum Files {
    package struct Failure: Error { package let reason: String }

    /// The text of a kernel file; empty if it cannot be read.
    static func text(_ path: String) -> String {
        do throws(Failure) { return String(decoding: try read(path), as: UTF8.self) } catch { return "" }
    }

    /// Reads a file that an option names. The fault precedes the reason in an error.
    package static func read(_ path: String, atMost limit: Int, fault: String) throws(UsageError) -> [UInt8] {
        do throws(Failure) { return try read(path, atMost: limit) } catch {
            throw UsageError("\(fault): \(error.reason)")
        }
    }

    /// Reads a file, or ends the process.
    package static func readOrFail(_ path: String) -> [UInt8] {
        do throws(Failure) { return try read(path) } catch { fail("\(path): \(error.reason)") }
    }

    /// Reads a file, or with `-` standard input. More bytes than the limit are an error.
    package static func read(_ path: String, atMost limit: Int = .max) throws(Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = CDiffSystem.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(reason: String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { throw Failure(reason: "more than \(limit) bytes") }
        }
    }
}

extension [UInt8] {
    /// The bytes of a file without its last line break.
    package var withoutLineBreak: [UInt8] {
        let line = last == UInt8(ascii: "\n") ? dropLast() : self[...]
        return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }
}

/// Tells when a file was changed, or replaced by another.
struct FileStamp: Equatable {
    private let numbers: [Int]

    /// Nil if there is no such file, or if it is a pipe, which is read once.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let time = status.st_mtim
        numbers = [Int(status.st_dev), Int(status.st_ino), Int(status.st_size), time.tv_sec, time.tv_nsec]
    }
}
