import Foundation

/// A program that runs beside the tests, found in `PATH`, without input.
///
/// Foundation's `Process` waits by `select`, which is limited to descriptors below 1,024. Parallel tests have more, and
/// then it never learns that a program has ended.
final class ChildProcess: @unchecked Sendable {
    /// Why the program was not started, as an error number.
    struct Failure: Error { let code: Int32 }

    let id: pid_t
    private let lock = NSLock()
    /// The result of `waitpid` at the program's end; nil while it runs. Guarded by the lock.
    private var end: Int32?

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: its name or path, and its arguments.
    ///   - environment: all of its variables; those of this process unless given.
    ///   - output, errors: where it prints to; nowhere, unless given.
    init(
        _ words: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
        output: Int32? = nil, errors: Int32? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, target, mode) in [(0, nil, O_RDONLY), (1, output, O_WRONLY), (2, errors, O_WRONLY)] {
            if let target {
                posix_spawn_file_actions_adddup2(&actions, target, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", mode, 0)
            }
        }
        // Closes the sockets of other tests, which the program would inherit, unlike the pipes below.
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            if let descriptor = Int32(name), descriptor > 2 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }
        var arguments = words.map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, words[0], &actions, nil, &arguments, &variables)
        guard code == 0 else { throw Failure(code: code) }
        self.id = id
    }

    /// The output of a program, and how it ended: its exit status, or minus the number of the signal.
    static func output(
        of words: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
        withErrors: Bool = false
    ) throws -> (text: String, status: Int32) {
        let pipe = try ChildPipe()
        let program = try ChildProcess(
            words, environment: environment, output: pipe.writing, errors: withErrors ? pipe.writing : nil)
        let text = String(decoding: pipe.onlyReading().readDataToEndOfFile(), as: UTF8.self)
        return (text, program.waitForEnd())
    }

    /// Whether the program is still running.
    var isRunning: Bool { ended(WNOHANG) == nil }

    /// Sends the program a signal, unless it has ended.
    func send(_ signal: Int32) { if isRunning { kill(id, signal) } }

    /// Waits for the end of the program: its exit status, or minus the number of the signal.
    @discardableResult
    func waitForEnd() -> Int32 {
        while true {
            guard let end = ended(0) else { continue }
            return end & 0x7F == 0 ? end >> 8 & 0xFF : -(end & 0x7F)
        }
    }

    private func ended(_ options: Int32) -> Int32? {
        lock.withLock {
            var status: Int32 = 0
            if end == nil, waitpid(id, &status, options) == id { end = status }
            return end
        }
    }
}

/// A pipe that only one program inherits, so that it ends with that program.
final class ChildPipe {
    private let reading: Int32
    /// The end that the program writes to.
    let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        // Not `pipe`: only a pair of sockets can be opened and marked close-on-exec in one call from Swift.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw ChildProcess.Failure(code: errno) }
        (reading, writing) = (ends[0], ends[1])
    }

    /// Leaves writing to the program that was started.
    consuming func onlyReading() -> FileHandle {
        close(writing)
        return FileHandle(fileDescriptor: reading, closeOnDealloc: true)
    }
}
