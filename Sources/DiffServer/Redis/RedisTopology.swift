import HTTPCore

/// How to reach Redis, and which primary serves which keys. Cluster nodes are asked at the start, every few seconds,
/// and soon after a redirection or a lost connection. A redirection of one hash slot takes effect at once. Without a
/// cluster nothing ever changes. Any thread may call; all state except the map and its observers belongs to the loop.
final class RedisTopology: @unchecked Sendable {
    let dialer: RedisDialer
    let isCluster: Bool
    private let loop: EventLoop
    private let seeds: [ConnectAddress]
    private let known: Locked<HashSlotMap>
    private let observers = Locked<[(EventLoop, @Sendable () -> Void)]>([])

    private var backOff = BackOff()
    private var alarm: Timer?
    private var isAsking = false
    private var isOutdated = false
    private var isClosed = false

    /// The time between two questions: usually, and after a redirection or a loss.
    private static let period = Duration.seconds(5)
    private static let pause = Duration.milliseconds(100)

    init(_ dialer: RedisDialer, on loop: EventLoop) {
        (self.dialer, self.loop) = (dialer, loop)
        isCluster = dialer.address.isCluster
        seeds = if case .cluster(let nodes) = dialer.address.endpoint { nodes } else { [] }
        known = Locked(HashSlotMap(sole: dialer.address.endpoint))
        if isCluster { loop.perform { self.ask() } }
    }

    /// Until a node has answered, any node may be asked about any hash slot, and redirects.
    var map: HashSlotMap { known.withLock { $0 } }

    /// Whether each hash slot is known to have a primary.
    var isWhole: Bool { !isCluster || known.withLock { $0.orphan == nil && $0.primaries != [dialer.address.endpoint] } }

    /// Calls back once each hash slot is known to have a primary, or after that many pauses.
    func whenWhole(attempts: Int = 20, _ done: @escaping @Sendable () -> Void) {
        loop.perform { [self] in
            if isWhole || attempts == 0 { return done() }
            loop.schedule(after: Self.pause) { self.whenWhole(attempts: attempts - 1, done) }
        }
    }

    /// Calls `observer` on its loop: now, and after each change.
    func follow(on loop: EventLoop, _ observer: @escaping @Sendable () -> Void) {
        observers.withLock { $0.append((loop, observer)) }
        loop.perform(observer)
    }

    func refreshSoon() {
        guard isCluster else { return }
        loop.perform { [self] in
            guard !isOutdated else { return }
            isOutdated = true
            if !isAsking { ask(after: Self.pause) }
        }
    }

    /// Records a redirection by `responder`, and returns it; nil for any other error.
    func note(_ error: RedisError, from responder: ConnectAddress?) -> RedisRedirection? {
        guard isCluster, let redirection = RedisRedirection(error, from: responder) else { return nil }
        switch redirection {
        case .moved(let hashSlot, let primary):
            change { $0.move(hashSlot, to: primary) }
            refreshSoon()
        case .down: refreshSoon()
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

    private func change(_ change: (inout HashSlotMap) -> Void) {
        let hasChanged = known.withLock { map in
            let before = map
            change(&map)
            return map != before
        }
        guard hasChanged else { return }
        for (loop, observer) in observers.withLock({ $0 }) { loop.perform(observer) }
    }

    // MARK: On the loop

    private func ask(after delay: Duration) {
        alarm?.cancel()
        alarm = loop.schedule(after: delay) { [weak self] in self?.ask() }
    }

    private func ask() {
        guard !isAsking, !isClosed else { return }
        (isAsking, isOutdated) = (true, false)
        dialer.ask(
            nodes, RedisCommand("CLUSTER", "SLOTS"), on: loop,
            { reply, responder in
                HashSlotMap(reply, from: responder).map { .success($0) }
                    ?? .failure(.unavailable("it reports no slots"))
            }, { [weak self] in self?.receive($0) })
    }

    /// The nodes to ask, in random order: a node that is cut off only knows the past.
    private var nodes: [ConnectAddress] {
        let map = map
        let primaries = map.primaries.compactMap { if case .server(let server) = $0 { server } else { nil } }
        return Set(primaries + map.replicas + seeds).shuffled()
    }

    private func receive(_ answer: Result<(HashSlotMap, ConnectAddress), RedisFailure>) {
        isAsking = false
        guard !isClosed else { return }
        switch answer {
        case .failure(let failure):
            dialer.health.fail(.slots, because: "redis: no node reports its slots; last error: \(failure)")
            ask(after: max(Self.pause, backOff.next()))
        case .success(let (map, _)):
            backOff.reset()
            change { $0 = map }
            let problem = map.orphan.map { "redis: no primary serves slot \($0)" }
            if let problem { dialer.health.fail(.slots, because: problem) } else { dialer.health.recover(.slots) }
            ask(after: isOutdated || problem != nil ? Self.pause : Self.period)
        }
    }
}

/// An error by which a node of a cluster redirects a command that it did not execute.
enum RedisRedirection: Equatable {
    /// The hash slot belongs to that primary.
    case moved(hashSlot: Int, ConnectAddress)
    /// The hash slot is moving to that primary, and the key has moved already, or does not exist: ask there, this once.
    case ask(ConnectAddress)
    /// Some of the keys have moved, and others have not yet: try again soon.
    case later
    /// The cluster is down, or no primary has the hash slot.
    case down

    /// Nil for any other error.
    init?(_ error: RedisError, from responder: ConnectAddress?) {
        switch error.code {
        case "TRYAGAIN": self = .later
        case "CLUSTERDOWN": self = .down
        case "MOVED", "ASK":
            let words = error.text.split(separator: " ")
            guard words.count == 3, let hashSlot = Int(words[1]), 0..<HashSlotMap.hashSlotCount ~= hashSlot,
                let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: colon)...]),
                let server = ConnectAddress.announced(host: String(words[2][..<colon]), port: port, by: responder)
            else { return nil }
            self = error.code == "ASK" ? .ask(server) : .moved(hashSlot: hashSlot, server)
        default: return nil
        }
    }
}

// MARK: - Slots

/// Which primary has which keys. A cluster divides them into 16,384 hash slots, by a checksum, and each belongs to one
/// primary (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/). Without a cluster one has all.
struct HashSlotMap: Sendable, Equatable {
    static let hashSlotCount = 16_384

    private(set) var primaries: [RedisAddress.Endpoint]
    private(set) var replicas: [ConnectAddress] = []
    /// The index of each hash slot's primary, or -1; empty if one primary has all hash slots.
    private var owners: [Int16] = []

    init(sole primary: RedisAddress.Endpoint) { primaries = [primary] }

    /// Parses the answer to `CLUSTER SLOTS`. The responder leaves out its own host if it does not know it.
    init?(_ reply: RedisReply, from responder: ConnectAddress) {
        guard let ranges = reply.elements, (1...Self.hashSlotCount).contains(ranges.count) else { return nil }
        (primaries, owners) = ([], [Int16](repeating: -1, count: Self.hashSlotCount))
        for range in ranges {
            guard let parts = range.elements, parts.count >= 3, case .integer(let first) = parts[0],
                case .integer(let last) = parts[1], 0 <= first, first <= last, last < Self.hashSlotCount
            else { return nil }
            let nodes = parts[2...].compactMap { Self.node($0, from: responder) }
            guard nodes.count == parts.count - 2 else { return nil }
            let owner = index(of: nodes[0])
            for hashSlot in Int(first)...Int(last) { owners[hashSlot] = owner }
            for replica in nodes.dropFirst() where !replicas.contains(replica) { replicas.append(replica) }
        }
    }

    /// Reads a node: its host, its port, and more that does not matter here.
    private static func node(_ reply: RedisReply, from responder: ConnectAddress) -> ConnectAddress? {
        guard let parts = reply.elements, parts.count >= 2, case .integer(let number) = parts[1],
            let port = UInt16(exactly: number)
        else { return nil }
        return ConnectAddress.announced(host: parts[0].text ?? "", port: port, by: responder)
    }

    private mutating func index(of primary: ConnectAddress) -> Int16 {
        let endpoint = RedisAddress.Endpoint.server(primary)
        if let index = primaries.firstIndex(of: endpoint) { return Int16(index) }
        primaries.append(endpoint)
        return Int16(primaries.count - 1)
    }

    /// Assigns a hash slot to a primary, perhaps a new one. A primary without hash slots is removed.
    mutating func move(_ hashSlot: Int, to primary: ConnectAddress) {
        if owners.isEmpty { owners = [Int16](repeating: 0, count: Self.hashSlotCount) }
        let former = owners[hashSlot]
        owners[hashSlot] = index(of: primary)
        guard former >= 0, !owners.contains(former) else { return }
        primaries.remove(at: Int(former))
        for hashSlot in owners.indices where owners[hashSlot] > former { owners[hashSlot] -= 1 }
    }

    /// The primary of a key; nil if no primary serves its hash slot.
    func primary(of key: some Collection<UInt8>) -> RedisAddress.Endpoint? {
        guard !owners.isEmpty else { return primaries[0] }
        let owner = owners[Self.hashSlot(of: key)]
        return owner < 0 ? nil : primaries[Int(owner)]
    }

    func primary(of key: String) -> RedisAddress.Endpoint? { primary(of: key.utf8) }

    /// A hash slot that no primary has.
    var orphan: Int? { owners.firstIndex(of: -1) }

    /// One key on each primary: `name` itself if there is only one, else `name{0}` and the like. A primary with few
    /// hash slots may have none.
    func keys(_ name: String) -> [String] {
        guard !owners.isEmpty else { return [name] }
        var missing = Set(primaries)
        var keys: [String] = []
        for number in 0..<Self.hashSlotCount where !missing.isEmpty {
            let key = "\(name){\(number)}"
            if let primary = primary(of: key), missing.remove(primary) != nil { keys.append(key) }
        }
        return keys
    }

    // MARK: Checksums

    /// That of the part in the first braces; of the whole key if there is none or it is empty.
    static func hashSlot(of key: some Collection<UInt8>) -> Int {
        if let open = key.firstIndex(of: UInt8(ascii: "{")) {
            let rest = key[key.index(after: open)...]
            if let close = rest.firstIndex(of: UInt8(ascii: "}")), close != rest.startIndex {
                return checksum(rest[..<close]) % hashSlotCount
            }
        }
        return checksum(key) % hashSlotCount
    }

    /// CRC-16/XMODEM: polynomial 0x1021, initial value 0, not reflected.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> Int {
        Int(bytes.reduce(UInt16(0)) { $0 << 8 ^ remainders[Int(UInt8(truncatingIfNeeded: $0 >> 8) ^ $1)] })
    }

    private static let remainders = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { rest, _ in rest & 0x8000 == 0 ? rest << 1 : rest << 1 ^ 0x1021 }
    }
}

extension ConnectAddress {
    /// A node's address as announced by nodes. An unknown host (empty, or `?`) is that of the node that answered.
    static func announced(host: String, port: UInt16, by responder: ConnectAddress?) -> ConnectAddress? {
        guard port > 0 else { return nil }
        if !host.isEmpty, host != "?" { return .tcp(host: host, port: port) }
        guard case .tcp(let known, _) = responder else { return nil }
        return .tcp(host: known, port: port)
    }
}
