import CDiffSystem

/// Whole files.
package enum Files {
    package struct Failure: Error {
        package let path: String
        package let reason: String
    }

    /// The text of a kernel file; empty if it cannot be read.
    static func text(_ path: String) -> String {
        do throws(Failure) { return String(decoding: try read(path), as: UTF8.self) } catch { return "" }
    }

    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - limit: in bytes. Reading a longer file fails.
    package static func read(_ path: String, atMost limit: Int = .max) throws(Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(path: path, reason: String(cString: strerror(errno))) }
        defer { if descriptor != STDIN_FILENO { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = CDiffSystem.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(path: path, reason: String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { throw Failure(path: path, reason: "more than \(limit) bytes") }
        }
    }
}
