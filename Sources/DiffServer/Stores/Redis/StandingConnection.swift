import HTTPCore

/// Keeps a connection to Redis up: connects, and connects again when it is lost, with growing pauses.
///
/// Confined to its loop. A loss is most often over at once, or with a failover, so whoever needs the connection may
/// wait for the first attempt after it (`isHopeful`), and not for a second one.
final class StandingConnection: @unchecked Sendable {
    private enum State {
        case idle
        case connecting
        case up(RedisConnection)
        case pausing
        case closed
    }

    private let loop: EventLoop
    private let route: RedisRoute
    private let health: StoreHealth
    private var backOff: BackOff
    private var state = State.idle
    private var upSince = Instant.now
    private var hasFailed = false

    /// Called with each connection that is up.
    var whenUp: (RedisConnection) -> Void = { _ in }
    /// Called when an attempt has failed, or a connection is lost.
    var whenDown: (RedisFailure) -> Void = { _ in }

    /// A connection that was up for this long was a good one: the next pauses begin anew.
    private static let probation = Duration.seconds(2)

    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop) {
        self.loop = loop
        health = options.health
        route = RedisRoute(address, options, on: loop)
        backOff = BackOff(options.backOff)
    }

    private var part: StoreHealth.Part { .connection(ObjectIdentifier(self)) }

    var connection: RedisConnection? {
        if case .up(let connection) = state { return connection }
        return nil
    }

    /// Whether the first attempt since the start or since a loss is under way or about to be.
    var isHopeful: Bool {
        switch state {
        case .idle, .connecting, .pausing: !hasFailed
        case .up, .closed: false
        }
    }

    func start() {
        guard case .idle = state else { return }
        connect()
    }

    /// Connects anew; the connection there is answers what it was asked, and is then closed.
    func renew(because reason: String) {
        guard case .up(let connection) = state else { return }
        connection.whenLost = nil
        connection.whenMisplaced = nil
        down(.unavailable(reason))
        connection.retire()
    }

    /// Connects anew because `server` is the primary now, unless that is where the connection leads.
    func leave(for server: ConnectAddress) {
        guard case .up(let connection) = state, connection.destination != server else { return }
        renew(because: "\(server) is the primary now")
    }

    func close() {
        if case .up(let connection) = state {
            connection.whenLost = nil
            connection.lose("closed")
        }
        state = .closed
        whenUp = { _ in }
        whenDown = { _ in }
    }

    private func connect() {
        state = .connecting
        route.connect { [weak self] result in
            guard let self, case .connecting = state else {
                if case .success(let connection) = result { connection.retire() }
                return
            }
            switch result {
            case .success(let connection): up(connection)
            case .failure(let failure): fail(failure)
            }
        }
    }

    private func up(_ connection: RedisConnection) {
        guard !connection.isLost else { return fail(.unavailable("lost at once")) }
        state = .up(connection)
        upSince = .now
        health.recover(part)
        hasFailed = false
        connection.whenLost = { [weak self] in self?.down($0) }
        connection.whenMisplaced = { [weak self] in self?.renew(because: $0.text) }
        whenUp(connection)
    }

    private func down(_ failure: RedisFailure) {
        health.fail(part, because: "redis: connection lost: \(failure)")
        if .now - upSince >= Self.probation { backOff.reset() }
        pause()
        whenDown(failure)
    }

    private func fail(_ failure: RedisFailure) {
        if !hasFailed { health.fail(part, because: "redis: no connection: \(failure)") }
        hasFailed = true
        pause()
        whenDown(failure)
    }

    private func pause() {
        state = .pausing
        loop.schedule(after: backOff.next()) { [weak self] in
            guard let self, case .pausing = state else { return }
            connect()
        }
    }
}
