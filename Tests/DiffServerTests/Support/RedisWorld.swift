import Foundation

@testable import HTTPCore
@testable import diffserver

/// A loop of its own, ended with this object.
final class RunningLoop: Sendable {
    let loop: EventLoop

    init() throws {
        loop = try EventLoop(index: 0)
        loop.start()
    }

    deinit { loop.end() }
}

/// A client on a loop of its own.
final class TestClient: Sendable {
    private let running: RunningLoop
    let client: RedisClient

    init(_ address: String, _ change: (inout RedisOptions) -> Void = { _ in }) throws {
        var options = RedisOptions()
        change(&options)
        running = try RunningLoop()
        client = RedisClient(RedisAddress(address)!, options, on: running.loop)
    }

    deinit { client.close() }

    func send(_ arguments: RedisArgument...) async -> Result<RedisReply, RedisFailure> {
        await send(RedisCommand(arguments))
    }

    func send(_ command: RedisCommand) async -> Result<RedisReply, RedisFailure> {
        await withCheckedContinuation { continuation in
            client.send(command) { continuation.resume(returning: $0) }
        }
    }

    func run(_ script: RedisScript, _ keys: [RedisArgument], _ arguments: [RedisArgument]) async -> Result<
        RedisReply, RedisFailure
    > {
        await withCheckedContinuation { continuation in
            client.run(script, keys: keys, arguments) { continuation.resume(returning: $0) }
        }
    }

    /// Asks until the answer is the wanted one, at most ten seconds.
    func eventually(_ wanted: RedisReply, _ arguments: RedisArgument...) async -> Bool {
        for _ in 0..<1000 {
            if await send(RedisCommand(arguments)) == .success(wanted) { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return false
    }
}

/// A subscriber on a loop of its own, and what it heard: messages as `channel payload`, confirmations as `channel`.
final class TestSubscriber: Sendable {
    private let running: RunningLoop
    private let subscriber = Locked<RedisSubscriber?>(nil)
    let heard: Locked<[String]>

    init(_ address: String, _ change: (inout RedisOptions) -> Void = { _ in }) throws {
        var options = RedisOptions()
        change(&options)
        running = try RunningLoop()
        let heard = Locked<[String]>([])
        self.heard = heard
        let handlers = RedisSubscriber.Handlers(
            message: { channel, payload in
                heard.withLock { $0.append("\(channel) \(String(decoding: payload, as: UTF8.self))") }
            }, confirmed: { channel in heard.withLock { $0.append(channel) } })
        running.loop.execute { [subscriber, running, options] in
            let made = RedisSubscriber(RedisAddress(address)!, options, on: running.loop, handlers)
            subscriber.withLock { $0 = made }
        }
    }

    deinit { onLoop { $0.close() } }

    func onLoop(_ work: @escaping @Sendable (RedisSubscriber) -> Void) {
        running.loop.execute { [subscriber] in subscriber.withLock { $0 }.map(work) }
    }

    func subscribe(_ channel: String) { onLoop { $0.subscribe(channel) } }

    /// Waits until what was heard is what is wanted, at most ten seconds.
    func hears(_ wanted: [String]) async -> Bool { await eventually { heard.withLock { $0 == wanted } } }
}

/// Waits until a condition holds, at most ten seconds.
func eventually(_ condition: () async -> Bool) async -> Bool {
    for _ in 0..<1000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    }
    return false
}
