import DiffStores
import HTTPCore
import Synchronization

/// One loop's connection to one Redis that takes writes. Reconnects after a loss, with growing pauses. Without a
/// connection a command fails at once, except during the first attempt after the start or a loss: it waits for that.
/// The loop owns all state. Any thread may close it or move it to another server; the rest is called on the loop.
final class ReconnectingConnection: @unchecked Sendable {
    typealias Completion = RedisConnection.Completion

    private enum State {
        case pausing
        case connecting
        case up(RedisConnection, ReplicatedWrites?)
        case closed
    }

    /// A primary, or the servers that know it, and how many replicas must have a write.
    struct Target: Hashable {
        let endpoint: RedisAddress.Endpoint
        var replicas = 0
    }

    private let topology: RedisTopology
    let target: Target
    private let loop: EventLoop
    private let whenUp: @Sendable (RedisConnection) -> Void
    /// The one that last knew the primary comes first.
    private var sentinels: [ConnectAddress] = []
    private let isConnected = Atomic<Bool>(false)

    private var state = State.pausing
    private var backOff = BackOff()
    private var upSince = Instant.now
    /// Whether an attempt has failed since the last connection, or none follows.
    private var hasFailed = false
    /// Commands that wait for the first attempt, since most outages end at once, or with a failover; and the failure of
    /// those that may not wait.
    private var waiting: [(RedisCommand, Completion)] = []
    private var lastFailure = RedisFailure.unavailable("no connection")

    /// A connection that lasts this long resets the pauses.
    private static let probation = Duration.seconds(2)

    /// Starts to connect. `whenUp` is called on the loop, later, with each new connection.
    init(
        _ topology: RedisTopology, at target: Target, on loop: EventLoop,
        whenUp: @escaping @Sendable (RedisConnection) -> Void = { _ in }
    ) {
        (self.topology, self.target, self.loop, self.whenUp) = (topology, target, loop, whenUp)
        if case .sentinels(let sentinels, _) = target.endpoint { self.sentinels = sentinels }
        loop.perform { self.connect() }
    }

    // MARK: From any thread

    var isUp: Bool { isConnected.load(ordering: .relaxed) }

    /// Reconnects, unless the connection leads to `server` already. Commands already sent are answered first.
    func leave(for server: ConnectAddress) {
        loop.perform { [self] in
            guard let connection, connection.destination != server else { return }
            connection.retire(because: "\(server) is the primary now")
        }
    }

    /// Closes, and fails unanswered commands.
    func close() { end { $0.lose("closed") } }

    /// Closes once everything sent is answered.
    func retire() { end { $0.retire() } }

    private func end(_ leave: @escaping @Sendable (RedisConnection) -> Void) {
        loop.perform { [self] in
            let connection = connection
            (state, hasFailed) = (.closed, true)
            isConnected.store(false, ordering: .relaxed)
            dialer.health.recover(part)
            failWaiting()
            connection?.whenLost = nil
            connection.map(leave)
        }
    }

    // MARK: On the loop

    func send(_ command: RedisCommand, _ completion: @escaping Completion) {
        if case .up(let connection, let writes) = state {
            if let writes { writes.send(command, completion) } else { connection.send(command, completion) }
        } else if !hasFailed, waiting.count < dialer.maxWaiting {
            waiting.append((command, completion))
        } else {
            completion(.failure(lastFailure))
        }
    }

    var connection: RedisConnection? { if case .up(let connection, _) = state { connection } else { nil } }

    private var dialer: RedisDialer { topology.dialer }

    private var part: StoreHealth.Part { .connection(ObjectIdentifier(self)) }

    private func connect() {
        guard case .pausing = state else { return }
        state = .connecting
        findPrimary { [self] result in
            guard case .connecting = state else {
                if case .success(let connection) = result { connection.retire() }
                return
            }
            switch result {
            case .success(let connection) where connection.isLost: fail(.unavailable("closed at once"))
            case .success(let connection): begin(connection)
            case .failure(let failure): fail(failure)
            }
        }
    }

    private func findPrimary(_ arrival: @escaping RedisDialer.Arrival) {
        switch target.endpoint {
        case .server(let server): dialer.greet([server], on: loop, arrival)
        case .cluster(let nodes): dialer.greet(nodes, on: loop, arrival)
        case .sentinels(_, let primary):
            let question = RedisCommand("SENTINEL", "get-master-addr-by-name", .text(primary))
            dialer.ask(sentinels, question, on: loop, { reply, _ in RedisDialer.server(reply, primary) }) {
                [self] result in
                switch result {
                case .failure(let failure):
                    arrival(.failure(.unavailable("no sentinel knows the primary; last error: \(failure)")))
                case .success(let (server, sentinel)):
                    sentinels = [sentinel] + sentinels.filter { $0 != sentinel }
                    dialer.greet([server], on: loop, arrival)
                }
            }
        }
    }

    private func begin(_ connection: RedisConnection) {
        let replicas = target.replicas
        state = .up(connection, replicas > 0 ? ReplicatedWrites(over: connection, replicas: replicas) : nil)
        isConnected.store(true, ordering: .relaxed)
        dialer.health.recover(part)
        upSince = .now
        hasFailed = false
        connection.whenLost = { [weak self] in self?.lose($0) }
        for (command, completion) in exchange(&waiting, with: []) { send(command, completion) }
        whenUp(connection)
    }

    private func lose(_ failure: RedisFailure) {
        dialer.health.fail(part, because: "redis: connection lost: \(failure)")
        if .now - upSince >= Self.probation { backOff.reset() }
        pause(because: failure)
    }

    private func fail(_ failure: RedisFailure) {
        dialer.health.fail(part, because: "redis: no connection: \(failure)")
        hasFailed = true
        pause(because: failure)
    }

    private func pause(because failure: RedisFailure) {
        state = .pausing
        isConnected.store(false, ordering: .relaxed)
        loop.schedule(after: backOff.next()) { [weak self] in self?.connect() }
        lastFailure = if case .denied = failure { failure } else { .unavailable(failure.description) }
        if hasFailed { failWaiting() }
        topology.refreshSoon()
    }

    private func failWaiting() {
        for (_, completion) in exchange(&waiting, with: []) { completion(.failure(lastFailure)) }
    }
}

/// Exponential back-off with jitter: the pause doubles, less up to a half at random, so that nodes do not all reconnect
/// at once. The first pause is shorter than the shortest bound: most outages end at once.
package struct BackOff: Sendable {
    private var attempts = 0

    private static let shortest = Duration.milliseconds(50)
    private static let longest = Duration.seconds(2)

    /// - Parameter chance: from 0 to below 1.
    mutating func next(chance: Double = .random(in: 0..<1)) -> Duration {
        defer { attempts += 1 }
        guard attempts > 0 else { return Self.shortest * chance }
        let whole = min(Self.longest, Self.shortest * (1 << min(attempts - 1, 20)))
        return whole * (1 - chance / 2)
    }

    mutating func reset() { attempts = 0 }
}
