import HTTPCore

/// What is known of a cluster: which primary has which slot.
///
/// Nodes are asked at the start, every few seconds, and as soon as there is reason for doubt: a node redirects a
/// command, or a connection is lost. A redirection of one slot counts at once. Followers are told of each change.
///
/// Any thread may call; all state except the map and its followers belongs to the loop.
final class RedisCluster: @unchecked Sendable {
    private let loop: EventLoop
    private let dialer: RedisDialer
    private let seeds: [ConnectAddress]
    private let health: StoreHealth
    private let known: Locked<SlotMap>
    private let followers = Locked<[(EventLoop, @Sendable () -> Void)]>([])

    private var backOff: BackOff
    private var alarm: Timer?
    private var isAsking = false
    private var isInDoubt = false
    private var isClosed = false

    /// Between two questions without doubt, and in doubt.
    private static let period = Duration.seconds(5)
    private static let pause = Duration.milliseconds(100)

    /// - Parameter seeds: some nodes of the cluster.
    init(_ seeds: [ConnectAddress], _ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop) {
        self.loop = loop
        self.seeds = seeds
        health = options.health
        dialer = RedisDialer(address, options, on: loop)
        backOff = BackOff(options.backOff)
        known = Locked(SlotMap(sole: .cluster(seeds)))
        loop.perform { self.ask() }
    }

    /// Until a node has answered, any node may be asked about any slot, and redirects.
    var map: SlotMap { known.withLock { $0 } }

    /// Whether each slot is known to have a primary.
    var isWhole: Bool { known.withLock { $0.orphan == nil && $0.primaries != [.cluster(seeds)] } }

    /// Calls `follower` on its loop: now, and after each change.
    func follow(on loop: EventLoop, _ follower: @escaping @Sendable () -> Void) {
        followers.withLock { $0.append((loop, follower)) }
        loop.perform(follower)
    }

    /// Asks again, soon.
    func doubt() {
        loop.perform { [self] in
            guard !isInDoubt else { return }
            isInDoubt = true
            if !isAsking { ask(after: Self.pause) }
        }
    }

    /// Notes a redirection.
    func move(_ slot: Int, to primary: ConnectAddress) {
        change { $0.move(slot, to: primary) }
        doubt()
    }

    func close() {
        loop.perform { [self] in
            isClosed = true
            alarm?.cancel()
        }
    }

    private func change(_ change: (inout SlotMap) -> Void) {
        let hasChanged = known.withLock { map in
            let before = map
            change(&map)
            return map != before
        }
        guard hasChanged else { return }
        for (loop, follower) in followers.withLock({ $0 }) { loop.perform(follower) }
    }

    // MARK: On the loop

    private func ask(after delay: Duration) {
        alarm?.cancel()
        alarm = loop.schedule(after: delay) { [weak self] in self?.ask() }
    }

    private func ask() {
        guard !isAsking, !isClosed else { return }
        (isAsking, isInDoubt) = (true, false)
        dialer.ask(
            nodes, RedisCommand("CLUSTER", "SLOTS"),
            { reply, speaker in
                SlotMap(reply, from: speaker).map { .success($0) } ?? .failure(.unavailable("it reports no slots"))
            }, { [weak self] in self?.hear($0) })
    }

    /// The nodes to ask, one after the other. The order is random, since a node that is cut off knows only what was.
    private var nodes: [ConnectAddress] {
        let map = map
        let primaries = map.primaries.compactMap { if case .server(let server) = $0 { server } else { nil } }
        return Set(primaries + map.replicas + seeds).shuffled()
    }

    private func hear(_ answer: Result<(SlotMap, ConnectAddress), RedisFailure>) {
        isAsking = false
        guard !isClosed else { return }
        switch answer {
        case .failure(let failure):
            health.fail(.slots, because: "redis: no node reports its slots; the last error: \(failure)")
            ask(after: max(Self.pause, backOff.next()))
        case .success(let (map, _)):
            backOff.reset()
            change { $0 = map }
            if let orphan = map.orphan {
                health.fail(.slots, because: "redis: no primary has slot \(orphan)")
            } else {
                health.recover(.slots)
            }
            ask(after: isInDoubt || map.orphan != nil ? Self.pause : Self.period)
        }
    }
}
