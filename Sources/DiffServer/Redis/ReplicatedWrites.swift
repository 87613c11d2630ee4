import HTTPCore

/// Writes over one connection, each answered once enough replicas have it (`--store-replicas`). Confined to the loop.
///
/// `WAIT` is answered when enough replicas have everything its connection wrote before it, or when its time is up.
/// Later commands wait for it too, so reads have their own connection. While it is under way, new writes gather for the
/// next. A `WAIT` on another connection would not block, but could be answered by the next primary.
final class ReplicatedWrites: @unchecked Sendable {
    private typealias Completion = RedisConnection.Completion

    private final class Write: @unchecked Sendable {
        /// Nil once it was called.
        var completion: Completion?
        /// The answer of Redis itself; nil until it arrives.
        var answer: RedisResult?

        init(_ completion: @escaping Completion) { self.completion = completion }

        func complete(_ result: RedisResult) { completion.take()?(result) }
    }

    private let connection: RedisConnection
    private let replicas: Int
    /// Writes not yet covered by a `WAIT`.
    private var gathered: [Write] = []
    private var isWaiting = false

    /// The timeout of a `WAIT`, in milliseconds. Two of them end before a connection is given up.
    private static let patience = 1000

    init(over connection: RedisConnection, replicas: Int) { (self.connection, self.replicas) = (connection, replicas) }

    func send(_ command: RedisCommand, _ completion: @escaping RedisConnection.Completion) {
        let write = Write(completion)
        gathered.append(write)
        connection.send(command) { result in
            write.answer = result
            // A failed write need not wait.
            if case .failure = result { write.complete(result) }
        }
        wait()
    }

    private func wait() {
        guard !isWaiting, !gathered.isEmpty else { return }
        isWaiting = true
        let covered = exchange(&gathered, with: [])
        connection.send(RedisCommand("WAIT", .number(replicas), .number(Self.patience))) { [self] result in
            isWaiting = false
            wait()
            let failure = failure(of: result)
            for write in covered {
                write.complete(failure.map { .failure($0) } ?? write.answer ?? .failure(.lost("no answer")))
            }
        }
    }

    /// Why the writes before the `WAIT` may be lost; nil if enough replicas have them.
    private func failure(of result: RedisResult) -> RedisFailure? {
        switch result {
        case .success(.integer(let count)) where count >= replicas: nil
        case .success(.integer(let count)):
            .unreplicated("\(count) of \(replicas) replicas had the write within \(Self.patience / 1000) s")
        // A primary that has become a replica refuses to wait.
        case .success, .failure(.refused): .unreplicated("its server is no longer the primary")
        case .failure(let failure): .lost(failure.description)
        }
    }
}
