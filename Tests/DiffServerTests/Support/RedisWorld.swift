import Foundation

@testable import DiffClock
@testable import DiffRedis
@testable import HTTPCore

/// A separate loop, ended with this object.
final class RunningLoop: Sendable {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(index: 0, polling: .preferred)
        loop.start()
    }

    deinit { loop.end() }
}

extension RedisDialer {
    /// For tests, which may not get their turn for minutes: waits for a server longer than all of them take.
    static func patient(_ address: String) -> RedisDialer { patient(RedisAddress(address)!) }

    static func patient(_ address: RedisAddress) -> RedisDialer {
        var dialer = RedisDialer(address)
        (dialer.connectTimeout, dialer.commandTimeout) = (.seconds(600), .seconds(600))
        return dialer
    }
}

extension RedisCommand {
    convenience init(
        _ script: RedisScript.Text, keys: [RedisArgument], _ arguments: [RedisArgument], staging: [RedisArgument]? = nil
    ) {
        let room = Self.room(for: arguments)
        self.init(script, keys: keys, count: arguments.count, room: room, staging: staging) { $0.append(arguments) }
    }
}

/// A topology and a client on a separate loop.
final class TestClient: Sendable {
    private let running: RunningLoop
    let client: RedisClient

    convenience init(_ address: String, _ change: (inout RedisDialer) -> Void = { _ in }) throws {
        try self.init(RedisAddress(address)!, change)
    }

    init(_ address: RedisAddress, _ change: (inout RedisDialer) -> Void = { _ in }) throws {
        var dialer = RedisDialer.patient(address)
        change(&dialer)
        running = try RunningLoop()
        client = RedisClient(RedisTopology(dialer, on: running.loop), on: running.loop)
    }

    deinit {
        client.topology.close()
        client.close()
    }

    func send(_ arguments: RedisArgument...) async -> Result<RedisReply, RedisFailure> {
        await send(RedisCommand(arguments))
    }

    func send(_ command: RedisCommand, about key: RedisArgument = "") async -> Result<RedisReply, RedisFailure> {
        await withCheckedContinuation { continuation in
            client.send(command, about: key) { continuation.resume(returning: $0) }
        }
    }

    /// Sends a command, and returns once it is on its way. Other commands, and calls of the client, come after it.
    func begin(_ arguments: RedisArgument...) async -> Task<Result<RedisReply, RedisFailure>, Never> {
        let (answers, answer) = AsyncStream.makeStream(of: Result<RedisReply, RedisFailure>.self)
        await withCheckedContinuation { begun in
            client.loop.execute { [client] in
                client.send(RedisCommand(arguments)) { answer.yield($0) }
                begun.resume()
            }
        }
        return Task { await answers.first { _ in true } ?? .failure(.lost("no answer")) }
    }

    /// A command whose second word is its key.
    func ask(_ arguments: RedisArgument...) async -> Result<RedisReply, RedisFailure> {
        await send(RedisCommand(arguments), about: arguments[1])
    }

    func run(
        _ script: RedisScript, _ keys: [RedisArgument], _ arguments: [RedisArgument], staging: [RedisArgument]? = nil
    ) async -> Result<RedisReply, RedisFailure> {
        await withCheckedContinuation { continuation in
            let text = script.text(inCluster: client.topology.isCluster)
            let command = RedisCommand(text, keys: keys, arguments, staging: staging)
            client.send(command, about: keys[0]) { continuation.resume(returning: $0) }
        }
    }

    /// Asks until the answer is the wanted one, at most a minute.
    func answers(_ wanted: RedisReply, _ arguments: RedisArgument..., about key: RedisArgument = "") async -> Bool {
        await eventually { await send(RedisCommand(arguments), about: key) == .success(wanted) }
    }
}
