import HTTPCore
import Synchronization

/// The connection of one loop to Redis, for commands.
///
/// Whoever is on the loop pays no lock; a call from another thread is handed over. While there is no connection a
/// command fails at once, except during the first attempt after the start or after a loss: those commands wait for it,
/// so that the restart of a server or a link that was reset is not seen. None is ever sent twice: whether a lost one
/// was executed only its caller can find out.
final class RedisLink: Sendable {
    typealias Completion = RedisConnection.Completion

    let loop: EventLoop
    private let confined: Confined

    /// A link that begins to connect.
    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop) {
        self.loop = loop
        let confined = Confined(StandingConnection(address, options, on: loop), maxWaiting: options.maxWaiting)
        self.confined = confined
        onLoop { confined.start() }
    }

    /// Whether there is a connection.
    var isUp: Bool { confined.isUp.load(ordering: .relaxed) }

    /// Sends a command; `completion` is called once, on the loop.
    func send(_ command: RedisCommand, _ completion: @escaping Completion) {
        if loop.isCurrent {
            confined.send(command, completion)
        } else {
            loop.execute { [confined] in confined.send(command, completion) }
        }
    }

    /// Connects anew, unless to `server` already; what has been sent is answered first.
    func leave(for server: ConnectAddress) { onLoop { [confined] in confined.leave(for: server) } }

    /// Closes, and fails what has no answer.
    func close() { onLoop { [confined] in confined.close() } }

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.isCurrent { work() } else { loop.execute(work) }
    }

    /// What only the loop touches.
    private final class Confined: @unchecked Sendable {
        let isUp = Atomic<Bool>(false)
        private let standing: StandingConnection
        private let maxWaiting: Int
        private var waiting: [(RedisCommand, Completion)] = []
        private var reason = RedisFailure.unavailable("no connection")

        init(_ standing: StandingConnection, maxWaiting: Int) {
            self.standing = standing
            self.maxWaiting = maxWaiting
        }

        func start() {
            standing.whenUp = { [unowned self] connection in
                isUp.store(true, ordering: .relaxed)
                let commands = waiting
                waiting = []
                for (command, completion) in commands { connection.send(command, completion) }
            }
            standing.whenDown = { [unowned self] failure in
                isUp.store(false, ordering: .relaxed)
                reason = if case .denied = failure { failure } else { .unavailable(failure.description) }
                if !standing.isHopeful { failWaiting() }
            }
            standing.start()
        }

        func send(_ command: RedisCommand, _ completion: @escaping Completion) {
            if let connection = standing.connection {
                connection.send(command, completion)
            } else if standing.isHopeful, waiting.count < maxWaiting {
                waiting.append((command, completion))
            } else {
                completion(.failure(reason))
            }
        }

        func leave(for server: ConnectAddress) { standing.leave(for: server) }

        func close() {
            standing.close()
            failWaiting()
        }

        private func failWaiting() {
            let commands = waiting
            waiting = []
            for (_, completion) in commands { completion(.failure(reason)) }
        }
    }
}
