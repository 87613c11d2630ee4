import CDiffSystem
import Foundation
import HTTPCore
import Synchronization

@testable import DiffRedis

/// A process of redis-server in a separate directory, killed and cleared away with this object.
final class RedisServer: @unchecked Sendable {
    static let isInstalled = ["/usr/bin", "/usr/local/bin"].contains { access("\($0)/redis-server", X_OK) == 0 }
    static let missing = "redis-server is not installed"

    struct Failure: Error { let log: String }

    let directory: String
    let port: UInt16
    var socket: String { "\(directory)/s" }
    private let configuration: String
    private let mode: [String]
    private var process: ChildProcess?

    /// - Parameter settings: lines of redis.conf, in which `DIRECTORY` and `PORT` are replaced.
    init(port: UInt16? = nil, asSentinel: Bool = false, _ settings: [String] = []) throws {
        var template = Array("/tmp/diffserver-redis-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template))
        self.port = port ?? Self.freePort()
        mode = asSentinel ? ["--sentinel"] : []
        configuration = "\(directory)/redis.conf"
        let common = [
            "bind 127.0.0.1", "port \(self.port)", "unixsocket \(directory)/s", "dir \(directory)",
            "logfile \(directory)/log",
        ]
        let server = asSentinel ? [] : ["save \"\"", "appendonly no", "repl-diskless-sync-delay 0"]
        let text = (common + server + settings).joined(separator: "\n")
            .replacing("DIRECTORY", with: directory).replacing("PORT", with: "\(self.port)")
        try (text + "\n").write(toFile: configuration, atomically: true, encoding: .utf8)
        try start()
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Starts it, again if it was killed, and waits until it answers.
    func start() throws {
        process = try ChildProcess(["redis-server", configuration] + mode)
        if eventually({ cli("PING").contains(/PONG|NOAUTH|LOADING|MASTERDOWN/) }) { return }
        throw Failure(log: (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? "no log")
    }

    /// Ends it at once, as a lost machine would.
    func kill() {
        process?.send(SIGKILL)
        process?.waitForEnd()
    }

    /// Stops it in the middle of whatever it does, and lets it continue.
    func pause() { process?.send(SIGSTOP) }
    func resume() { process?.send(SIGCONT) }

    /// The output of redis-cli.
    @discardableResult
    func cli(_ arguments: String...) -> String {
        (try? ChildProcess.output(of: ["redis-cli", "-s", socket] + arguments, withErrors: true).text) ?? ""
    }

    /// Its answer, without a process of redis-cli; empty if that is not text.
    @discardableResult
    func ask(_ words: String...) -> String {
        guard let connection = ConnectAddress.unix(path: socket).connected(seconds: 60) else { return "" }
        defer { close(connection) }
        for part in RedisCommand(words.map(RedisArgument.text)).parts { send(connection, part, part.count, 0) }
        var parser = RedisReplyParser()
        var room = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &room, room.count, 0)
            guard count > 0 else { return "" }
            let reply = room.withUnsafeBytes { bytes in
                var rest = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                return try? parser.next(&rest)
            }
            if let reply { return reply.text ?? "" }
        }
    }

    /// A free port, outside the range from which the kernel gives ports to others. This file is part of two targets
    /// whose tests run beside each other, so each has pairs of ports of its own.
    static func freePort() -> UInt16 {
        let parity = #fileID.hasPrefix("DiffRedisTests") ? 1 : 0
        while true {
            let count = Int(getpid()) * 7 + next.add(1, ordering: .relaxed).newValue
            let port = UInt16(20_000 + (count * 4 + parity * 2) % 10_000)
            let probe = CDiffSystem.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(probe) }
            var address = sockaddr_in(loopback: port)
            let isFree = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isFree { return port }
        }
    }

    private static let next = Atomic<Int>(0)
}
