import HTTPCore

/// One loop's way to the Redis that holds the sessions: a link for each primary, made when it is first needed, and each
/// command leaves by that of its key.
///
/// A single Redis, and one that sentinels name, is the case of one primary. In a cluster a node may say that it has not
/// executed a command since its slot is another's (`MOVED`), or is on its way there (`ASK`): then it is sent there; a
/// transaction is redirected as a whole. No other command is ever sent twice: whether one that was lost was executed
/// only its caller can find out.
///
/// Any thread may call; whoever is on the loop is not handed over. All state but the links is the loop's.
final class RedisClient: @unchecked Sendable {
    typealias Completion = RedisConnection.Completion

    let loop: EventLoop
    /// What all loops know of the cluster, if it is one.
    let cluster: RedisCluster?
    private let address: RedisAddress
    private let options: RedisOptions
    private var map: SlotMap
    private let links = Locked<[SlotMap.Place: RedisLink]>([:])

    /// How often a command is sent at most. A slot that moves has it sent twice, one that moves back meanwhile once
    /// more.
    private static let attempts = 8
    /// Before a command that came between two keys is sent again, times how often it was.
    private static let pause = Duration.milliseconds(10)

    /// A client that begins to connect.
    ///
    /// - Parameter cluster: what is known already of the cluster at that address.
    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop, knowing cluster: RedisCluster? = nil) {
        self.loop = loop
        self.address = address
        self.options = options
        if case .cluster(let nodes) = address.place {
            self.cluster = cluster ?? RedisCluster(nodes, address, options, on: loop)
        } else {
            self.cluster = nil
        }
        map = self.cluster?.map ?? SlotMap(sole: address.place)
        if cluster == nil { _ = link(to: map.primaries[0]) }
        self.cluster?.follow(on: loop) { [weak self] in self?.follow() }
    }

    // MARK: From any thread

    /// Whether each slot has a primary, and no link that was made is without a connection.
    var isUp: Bool { cluster?.isWhole ?? true && links.withLock { $0.values.allSatisfy(\.isUp) } }

    /// Sends a command; `completion` is called once, on the loop.
    ///
    /// - Parameter key: of those that it names one; all are in one slot.
    func send(_ command: RedisCommand, about key: RedisArgument = "", _ completion: @escaping Completion) {
        loop.perform { self.send(command, key, Self.attempts, completion) }
    }

    /// Leaves the primary for `server`, which is it now.
    func leave(for server: ConnectAddress) {
        for link in links.withLock({ Array($0.values) }) { link.leave(for: server) }
    }

    /// Closes, and fails what has no answer.
    func close() {
        cluster?.close()
        for link in links.withLock({ Array($0.values) }) { link.close() }
    }

    // MARK: On the loop

    private func link(to place: SlotMap.Place) -> RedisLink {
        links.withLock { links in
            if let link = links[place] { return link }
            let link = RedisLink(address, at: place, options, on: loop) { [cluster] in cluster?.doubt() }
            links[place] = link
            return link
        }
    }

    /// Takes over what is known of the cluster now, and leaves who is no primary any more.
    private func follow() {
        guard let cluster else { return }
        map = cluster.map
        let gone = links.withLock { links in
            let gone = links.filter { !map.primaries.contains($0.key) }
            for place in gone.keys { links[place] = nil }
            return gone
        }
        for link in gone.values { link.retire() }
    }

    private func send(
        _ command: RedisCommand, _ key: RedisArgument, _ attempts: Int, _ completion: @escaping Completion
    ) {
        guard let place = cluster == nil ? map.primaries[0] : map.primary(of: key.bytes) else {
            return completion(.failure(.unavailable("no primary has slot \(SlotMap.slot(of: key.bytes))")))
        }
        send(command, key, to: place, attempts, completion)
    }

    private func send(
        _ command: RedisCommand, _ key: RedisArgument, to place: SlotMap.Place, isExpected: Bool = true,
        _ attempts: Int,
        _ completion: @escaping Completion
    ) {
        let link = link(to: place)
        guard let cluster else { return link.send(command, completion) }
        link.send(isExpected ? command : command.asking) { [self] result in
            let left = attempts - 1
            // It was waiting for a connection to who turned out to be no primary.
            if case .failure(.unavailable) = result, left > 0, links.withLock({ $0[place] !== link }) {
                return send(command, key, left, completion)
            }
            guard case .failure(.refused(let error)) = result,
                let redirection = RedisRedirection(error, from: link.destination)
            else { return completion(result) }
            switch redirection {
            case .moved(let slot, let server):
                cluster.move(slot, to: server)
                if left > 0 { return send(command, key, to: .server(server), left, completion) }
            case .ask(let server):
                if left > 0 { return send(command, key, to: .server(server), isExpected: false, left, completion) }
            case .later:
                guard left > 0 else { break }
                loop.schedule(after: Self.pause * (Self.attempts - left)) { self.send(command, key, left, completion) }
                return
            case .down: cluster.doubt()
            }
            completion(.failure(.unavailable(error.text)))
        }
    }
}
