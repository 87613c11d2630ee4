import Foundation
import Testing

/// The built server, running on the loopback until it is stopped. Its process is touched by one test at a time.
final class RunningServer: @unchecked Sendable {
    /// Why the server does not run.
    struct Failure: Error {
        let log: String
    }

    let url: URL
    var port: Int { url.port ?? 0 }
    private let process: ChildProcess

    /// Starts the server; port 0 is a free one.
    init(port: Int = 0, options: String...) throws {
        let pipe = try ChildPipe()
        process = try ChildProcess(
            [Self.program, "serve", "--listen", "127.0.0.1:\(port)"] + options, environment: Self.environment,
            errors: pipe.writing)
        let errors = pipe.onlyReading()
        var log = ""
        while true {
            let piece = errors.availableData
            log += String(decoding: piece, as: UTF8.self)
            if let found = log.firstMatch(of: /listens on (http:\S+)\n/), let url = URL(string: String(found.1)) {
                self.url = url
                return
            }
            if piece.isEmpty { throw Failure(log: log) }
        }
    }

    deinit { stop() }

    /// Ends the server by SIGTERM, and waits until it is gone.
    func stop() {
        process.send(SIGTERM)
        process.waitForEnd()
    }

    /// The output of another command of the program.
    static func output(_ arguments: String...) throws -> String {
        try ChildProcess.output(of: [program] + arguments, environment: environment).text
    }

    /// The program is built into the folder of the tests.
    private static let program =
        Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("diffserver").path ?? "diffserver"

    private static let environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DIFFSERVER_") }
}

extension Trait where Self == ConditionTrait {
    /// For tests of the built server, which DIFFSERVER_SERVER=0 leaves out of the package.
    static var realServer: Self {
        .enabled(if: ProcessInfo.processInfo.environment["DIFFSERVER_SERVER"] != "0", "the server is left out")
    }
}
