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
        for _ in 0..<6000 {
            if cli("PING").contains(/PONG|NOAUTH|LOADING|MASTERDOWN/) { return }
            usleep(10_000)
        }
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
        for part in RedisCommand(words.map { RedisArgument($0) }).parts { send(connection, part, part.count, 0) }
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

    /// A free port, outside the range from which the kernel gives ports to others.
    static func freePort() -> UInt16 {
        while true {
            let port = UInt16(20_000 + (Int(getpid()) * 7 + next.add(1, ordering: .relaxed).newValue * 2) % 10_000)
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

/// A server on a Unix socket, or on a port of this machine, with scripted answers, for one client after the other.
final class FakeServer: @unchecked Sendable {
    let path: String
    let port: UInt16
    private let descriptor: Int32
    private let answer: @Sendable (_ connection: Int, _ request: String) -> String?

    /// - Parameters:
    ///   - port: to listen to in place of a Unix socket; 0 for that.
    ///   - answer: to what came in one read; nil closes. Called with the connection's number, from 0.
    init(port: UInt16 = 0, _ answer: @escaping @Sendable (_ connection: Int, _ request: String) -> String?) {
        self.answer = answer
        self.port = port
        path = "/tmp/diffserver-fake-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        descriptor = CDiffSystem.socket(port == 0 ? AF_UNIX : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if port == 0 {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            _ = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        } else {
            var address = sockaddr_in(loopback: port)
            _ = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        listen(descriptor, 16)
        let listening = descriptor
        Thread.detachNewThread { [answer] in
            for number in 0... {
                let client = accept(listening, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { Self.serve(client, number, answer) }
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
        unlink(path)
    }

    private static func serve(_ client: Int32, _ number: Int, _ answer: (Int, String) -> String?) {
        defer { close(client) }
        var room = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(client, &room, room.count, 0)
            guard count > 0, let text = answer(number, String(decoding: room[..<count], as: UTF8.self)) else { return }
            _ = text.withCString { send(client, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        }
    }
}
