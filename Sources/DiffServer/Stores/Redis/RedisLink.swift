import HTTPCore
import Synchronization

/// One loop's connection to one Redis that takes writes.
///
/// A lost connection is made again, with growing pauses. Without a connection a command fails at once, except during
/// the first attempt after the start or after a loss: then it waits for that, so that nobody notices the restart of a
/// server or a reset connection. No command is ever sent twice: only its caller can find out whether one that was lost
/// was executed.
///
/// Any thread may call; calls from other threads are handed over to the loop, which owns all state.
final class RedisLink: @unchecked Sendable {
    typealias Completion = RedisConnection.Completion

    private enum State {
        case pausing
        case connecting
        case up(RedisConnection)
        case closed
    }

    let loop: EventLoop
    private let endpoint: RedisAddress.Endpoint
    private let dialer: RedisDialer
    private let options: RedisOptions
    /// Sentinels to ask for the primary, starting with the one that knew it last time.
    private var sentinels: [ConnectAddress] = []
    private let isConnected = Atomic<Bool>(false)

    private var state = State.pausing
    private var backOff: BackOff
    private var upSince = Instant.now
    /// Whether an attempt has failed since the last connection.
    private var hasFailed = false
    /// Commands that wait for an attempt, and the failure of those that do not.
    private var waiting: [(RedisCommand, Completion)] = []
    private var obstacle = RedisFailure.unavailable("no connection")
    private var whenUp: (RedisConnection) -> Void = { _ in }
    private let whenAway: @Sendable () -> Void

    /// A connection that was up for this long resets the pauses.
    private static let probation = Duration.seconds(2)

    /// A link that starts to connect.
    ///
    /// - Parameters:
    ///   - endpoint: replaces the one of the address.
    ///   - whenAway: called on the loop when a connection is lost, or cannot be made.
    init(
        _ address: RedisAddress, at endpoint: RedisAddress.Endpoint, _ options: RedisOptions, on loop: EventLoop,
        whenAway: @escaping @Sendable () -> Void = {}
    ) {
        (self.loop, self.endpoint, self.options, self.whenAway) = (loop, endpoint, options, whenAway)
        dialer = RedisDialer(address, options, on: loop)
        if case .sentinels(let sentinels, _) = endpoint { self.sentinels = sentinels }
        backOff = BackOff(options.backOff)
        loop.perform { self.connect() }
    }

    // MARK: From any thread

    /// Whether there is a connection.
    var isUp: Bool { isConnected.load(ordering: .relaxed) }

    /// Sends a command; `completion` is called once, on the loop.
    func send(_ command: RedisCommand, _ completion: @escaping Completion) {
        loop.perform { [self] in
            if case .up(let connection) = state {
                connection.send(command, completion)
            } else if isHopeful, waiting.count < options.maxWaiting {
                waiting.append((command, completion))
            } else {
                completion(.failure(obstacle))
            }
        }
    }

    /// Reconnects because `server` is the primary now, unless the connection leads there already. What has been sent is
    /// answered first.
    func leave(for server: ConnectAddress) {
        loop.perform { [self] in
            guard case .up(let connection) = state, connection.destination != server else { return }
            leave(because: "\(server) is the primary now")
        }
    }

    /// Closes, and fails commands without an answer.
    func close() { end { $0.lose("closed") } }

    /// Closes once everything that was sent is answered.
    func retire() { end { $0.retire() } }

    private func end(_ leave: @escaping @Sendable (RedisConnection) -> Void) {
        loop.perform { [self] in
            let last = state
            state = .closed
            isConnected.store(false, ordering: .relaxed)
            options.health.recover(part)
            failWaiting()
            guard case .up(let connection) = last else { return }
            connection.whenLost = nil
            connection.whenMisplaced = nil
            leave(connection)
        }
    }

    // MARK: On the loop

    /// The server of the connection, if there is one.
    var destination: ConnectAddress? {
        if case .up(let connection) = state { connection.destination } else { nil }
    }

    /// Whether the first attempt since the start or a loss is under way or imminent. Most losses are over at once, or
    /// with a failover, so commands wait for one attempt, but not for a second.
    private var isHopeful: Bool {
        switch state {
        case .pausing, .connecting: !hasFailed
        case .up, .closed: false
        }
    }

    /// Calls `whenUp` with the connection, if there is one, and with each later one.
    func follow(_ whenUp: @escaping (RedisConnection) -> Void) {
        self.whenUp = whenUp
        if case .up(let connection) = state { whenUp(connection) }
    }

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
        switch endpoint {
        case .server(let server): dialer.greet(server, arrival)
        case .cluster(let nodes): dialer.greet(anyOf: nodes, arrival)
        case .sentinels(_, let primary):
            dialer.askSentinels(sentinels, for: primary) { [self] result in
                switch result {
                case .failure(let failure):
                    arrival(.failure(.unavailable("no sentinel knows the primary; the last error: \(failure)")))
                case .success(let (server, sentinel)):
                    sentinels = [sentinel] + sentinels.filter { $0 != sentinel }
                    dialer.greet(server, arrival)
                }
            }
        }
    }

    private func begin(_ connection: RedisConnection) {
        state = .up(connection)
        isConnected.store(true, ordering: .relaxed)
        options.health.recover(part)
        upSince = .now
        hasFailed = false
        connection.whenLost = { [weak self] in self?.lose($0) }
        connection.whenMisplaced = { [weak self] in self?.leave(because: $0.text) }
        let commands = waiting
        waiting = []
        for (command, completion) in commands { connection.send(command, completion) }
        whenUp(connection)
    }

    /// Reconnects; the old connection is closed once everything that was sent is answered.
    private func leave(because reason: String) {
        guard case .up(let connection) = state else { return }
        connection.whenLost = nil
        connection.whenMisplaced = nil
        lose(.unavailable(reason))
        connection.retire()
    }

    private func lose(_ failure: RedisFailure) {
        options.health.fail(part, because: "redis: connection lost: \(failure)")
        if .now - upSince >= Self.probation { backOff.reset() }
        pause(because: failure)
    }

    private func fail(_ failure: RedisFailure) {
        if !hasFailed { options.health.fail(part, because: "redis: no connection: \(failure)") }
        hasFailed = true
        pause(because: failure)
    }

    private func pause(because failure: RedisFailure) {
        state = .pausing
        isConnected.store(false, ordering: .relaxed)
        loop.schedule(after: backOff.next()) { [weak self] in self?.connect() }
        obstacle = if case .denied = failure { failure } else { .unavailable(failure.description) }
        if hasFailed { failWaiting() }
        whenAway()
    }

    private func failWaiting() {
        let commands = waiting
        waiting = []
        for (_, completion) in commands { completion(.failure(obstacle)) }
    }
}
