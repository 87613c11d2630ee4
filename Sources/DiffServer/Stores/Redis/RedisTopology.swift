import HTTPCore

/// What all loops know of a Redis: how to reach it, and which primary has which keys.
///
/// Nodes of a cluster are asked at the start, every few seconds, and as soon as there is reason for doubt: a node
/// redirects a command, or a connection is lost. A redirection of one slot counts at once. Followers are told of each
/// change. Without a cluster one primary has all keys, and nothing ever changes: each link finds that primary itself.
///
/// Any thread may call; all state except the map and its followers belongs to the loop.
final class RedisTopology: @unchecked Sendable {
    let dialer: RedisDialer
    let isCluster: Bool
    private let loop: EventLoop
    /// Some nodes of the cluster.
    private let seeds: [ConnectAddress]
    private let known: Locked<SlotMap>
    private let followers = Locked<[(EventLoop, @Sendable () -> Void)]>([])

    private var backOff = BackOff()
    private var alarm: Timer?
    private var isAsking = false
    private var isInDoubt = false
    private var isClosed = false

    /// Between two questions without doubt, and in doubt.
    private static let period = Duration.seconds(5)
    private static let pause = Duration.milliseconds(100)

    init(_ dialer: RedisDialer, on loop: EventLoop) {
        (self.dialer, self.loop) = (dialer, loop)
        isCluster = dialer.address.isCluster
        seeds = if case .cluster(let nodes) = dialer.address.endpoint { nodes } else { [] }
        known = Locked(SlotMap(sole: dialer.address.endpoint))
        if isCluster { loop.perform { self.ask() } }
    }

    /// Until a node has answered, any node may be asked about any slot, and redirects.
    var map: SlotMap { known.withLock { $0 } }

    /// Whether each slot is known to have a primary.
    var isWhole: Bool {
        !isCluster || known.withLock { $0.orphan == nil && $0.primaries != [dialer.address.endpoint] }
    }

    /// Calls `follower` on its loop: now, and after each change.
    func follow(on loop: EventLoop, _ follower: @escaping @Sendable () -> Void) {
        followers.withLock { $0.append((loop, follower)) }
        loop.perform(follower)
    }

    /// Asks again, soon.
    func doubt() {
        guard isCluster else { return }
        loop.perform { [self] in
            guard !isInDoubt else { return }
            isInDoubt = true
            if !isAsking { ask(after: Self.pause) }
        }
    }

    /// Notes what an error says of the slots, and returns that; nil if it says nothing of them.
    ///
    /// - Parameter speaker: the node that answered.
    func note(_ error: RedisError, from speaker: ConnectAddress?) -> RedisRedirection? {
        guard isCluster, let redirection = RedisRedirection(error, from: speaker) else { return nil }
        switch redirection {
        case .moved(let slot, let primary):
            change { $0.move(slot, to: primary) }
            doubt()
        case .down: doubt()
        case .ask, .later: break
        }
        return redirection
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
            nodes, RedisCommand("CLUSTER", "SLOTS"), on: loop,
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
            dialer.health.fail(.slots, because: "redis: no node reports its slots; the last error: \(failure)")
            ask(after: max(Self.pause, backOff.next()))
        case .success(let (map, _)):
            backOff.reset()
            change { $0 = map }
            if let orphan = map.orphan {
                dialer.health.fail(.slots, because: "redis: no primary has slot \(orphan)")
            } else {
                dialer.health.recover(.slots)
            }
            ask(after: isInDoubt || map.orphan != nil ? Self.pause : Self.period)
        }
    }
}

/// An error by which a node of a cluster redirects a command, which it did not execute.
enum RedisRedirection: Equatable {
    /// The slot belongs to that primary.
    case moved(slot: Int, ConnectAddress)
    /// The slot is moving to that primary, and the key has moved already, or does not exist: ask there, this once.
    case ask(ConnectAddress)
    /// Some of the keys have moved, and others have not yet: try again soon.
    case later
    /// The cluster is down, or no primary has the slot.
    case down

    /// Nil for any other error.
    ///
    /// - Parameter speaker: the node that answered.
    init?(_ error: RedisError, from speaker: ConnectAddress?) {
        switch error.code {
        case "TRYAGAIN": self = .later
        case "CLUSTERDOWN": self = .down
        case "MOVED", "ASK":
            let words = error.text.split(separator: " ")
            guard words.count == 3, let slot = Int(words[1]), 0..<SlotMap.slotCount ~= slot,
                let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: colon)...]),
                let server = ConnectAddress.announced(host: String(words[2][..<colon]), port: port, by: speaker)
            else { return nil }
            self = error.code == "ASK" ? .ask(server) : .moved(slot: slot, server)
        default: return nil
        }
    }
}
