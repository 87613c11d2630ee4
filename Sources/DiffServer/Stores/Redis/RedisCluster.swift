import HTTPCore

/// What is known of a cluster: which primary has which slot.
///
/// Its nodes are asked at the start, every few seconds, and again as soon as somebody has reason to doubt: a node that
/// says that a slot has moved, a connection that is lost. What a node says of one slot holds at once. Who follows is
/// told of each change.
///
/// Any thread may call; all state but the map and its followers is the loop's.
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

    /// Between two questions where nobody is in doubt, and where somebody is.
    private static let period = Duration.seconds(5)
    private static let pause = Duration.milliseconds(100)

    /// One that begins to ask.
    ///
    /// - Parameter seeds: some of its nodes.
    init(_ seeds: [ConnectAddress], _ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop) {
        self.loop = loop
        self.seeds = seeds
        health = options.health
        dialer = RedisDialer(address, options, on: loop)
        backOff = BackOff(options.backOff)
        known = Locked(SlotMap(sole: .cluster(seeds)))
        loop.perform { self.ask() }
    }

    /// Until nodes have said, all slots are anybody's: whoever is asked will say whose.
    var map: SlotMap { known.withLock { $0 } }

    /// Whether each slot has a primary, as far as is known.
    var isWhole: Bool { known.withLock { $0.orphan == nil && $0.primaries != [.cluster(seeds)] } }

    /// Has `follower` called on its loop: at first, and with each change.
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

    /// A node says that a slot is somebody else's.
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

    /// Whom to ask, in turn: another one each time, since one that is cut off from the others knows only what was.
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
