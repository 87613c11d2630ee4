import Foundation

/// The built server, running on the loopback until it is stopped. Its process is touched by one test at a time.
final class RunningServer: @unchecked Sendable {
    /// Why it does not run.
    struct Failure: Error {
        let log: String
    }

    let url: URL
    var port: Int { url.port ?? 0 }
    private let process: Process

    /// Starts it; port 0 is a free one.
    init(port: Int = 0, options: String...) throws {
        process = try Self.process(["serve", "--listen", "127.0.0.1:\(port)"] + options)
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        var log = ""
        while true {
            let piece = errors.fileHandleForReading.availableData
            log += String(decoding: piece, as: UTF8.self)
            if let found = log.firstMatch(of: /listens on (http:\S+)\n/), let url = URL(string: String(found.1)) {
                self.url = url
                return
            }
            if piece.isEmpty { throw Failure(log: log) }
        }
    }

    deinit { stop() }

    /// Ends it by SIGTERM, and waits until it is gone.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    /// What another command of the program prints.
    static func output(_ arguments: String...) throws -> String {
        let process = try process(arguments)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: printed, as: UTF8.self)
    }

    /// The program stands where the tests were built.
    private static func process(_ arguments: [String]) throws -> Process {
        let directory = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        process.executableURL = directory?.appendingPathComponent("diffserver")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DIFFSERVER_") }
        process.standardInput = FileHandle.nullDevice
        return process
    }
}
