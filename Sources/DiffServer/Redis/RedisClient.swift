import DiffStores
import HTTPCore

/// One loop's connections to the Redis with the sessions: a link per primary, made when it is first needed. Each
/// command goes to the primary of its key.
///
/// Without a cluster there is one primary. A node of a cluster may redirect a command that it has not executed, because
/// another primary has the slot (`MOVED`) or is taking it over (`ASK`): then it is sent there, a transaction as a
/// whole. No other command is ever sent twice: only its caller can find out whether one that was lost was executed.
///
/// Any thread may call; a caller on the loop pays for no hand-over. All state except the links belongs to the loop.
final class RedisClient: @unchecked Sendable {
    typealias Completion = RedisConnection.Completion

    let loop: EventLoop
    let topology: RedisTopology
    private var map: SlotMap
    private let links = Locked<[RedisAddress.Endpoint: RedisLink]>([:])

    /// How often a command is sent at most: twice if its slot moves, once more if that moves back meanwhile.
    private static let attempts = 8
    /// The pause before a command whose keys are moving is sent again, times the attempts so far.
    private static let pause = Duration.milliseconds(10)

    /// A client that starts to connect.
    init(_ topology: RedisTopology, on loop: EventLoop) {
        (self.topology, self.loop, map) = (topology, loop, topology.map)
        if !topology.isCluster { _ = link(to: map.primaries[0]) }
        topology.follow(on: loop) { [weak self] in self?.follow() }
    }

    // MARK: From any thread

    /// Whether each slot has a primary, and no link that was made is without a connection.
    var isUp: Bool { topology.isWhole && links.withLock { $0.values.allSatisfy(\.isUp) } }

    /// Sends a command; `completion` is called once, on the loop.
    ///
    /// - Parameter key: any of its keys, which are all in one slot.
    func send(_ command: RedisCommand, about key: RedisArgument = "", _ completion: @escaping Completion) {
        loop.perform { self.send(command, key, Self.attempts, completion) }
    }

    /// Moves to `server`, which is the primary now.
    func leave(for server: ConnectAddress) {
        for link in links.withLock({ Array($0.values) }) { link.leave(for: server) }
    }

    /// Closes, and fails what has no answer.
    func close() {
        for link in links.withLock({ Array($0.values) }) { link.close() }
    }

    // MARK: On the loop

    private func link(to endpoint: RedisAddress.Endpoint) -> RedisLink {
        links.withLock { links in
            if let link = links[endpoint] { return link }
            let link = RedisLink(topology, at: endpoint, on: loop)
            links[endpoint] = link
            return link
        }
    }

    /// Adopts what is known of the cluster now, and leaves servers that are no longer primaries.
    private func follow() {
        map = topology.map
        let gone = links.withLock { links in
            let gone = links.filter { !map.primaries.contains($0.key) }
            for endpoint in gone.keys { links[endpoint] = nil }
            return gone
        }
        for link in gone.values { link.retire() }
    }

    private func send(
        _ command: RedisCommand, _ key: RedisArgument, _ attempts: Int, _ completion: @escaping Completion
    ) {
        guard let endpoint = topology.isCluster ? map.primary(of: key.bytes) : map.primaries[0] else {
            return completion(.failure(.unavailable("no primary serves slot \(SlotMap.slot(of: key.bytes))")))
        }
        send(command, key, to: endpoint, attempts, completion)
    }

    private func send(
        _ command: RedisCommand, _ key: RedisArgument, to endpoint: RedisAddress.Endpoint, isExpected: Bool = true,
        _ attempts: Int, _ completion: @escaping Completion
    ) {
        let link = link(to: endpoint)
        guard topology.isCluster else { return link.send(command, completion) }
        link.send(isExpected ? command : command.asking) { [self] result in
            let left = attempts - 1
            // It was waiting for a connection to a server that turned out to be no primary.
            if case .failure(.unavailable) = result, left > 0, links.withLock({ $0[endpoint] !== link }) {
                return send(command, key, left, completion)
            }
            guard case .failure(.refused(let error)) = result,
                let redirection = topology.note(error, from: link.connection?.destination)
            else { return completion(result) }
            guard left > 0, redirection != .down else { return completion(.failure(.unavailable(error.text))) }
            switch redirection {
            case .moved(_, let server): send(command, key, to: .server(server), left, completion)
            case .ask(let server): send(command, key, to: .server(server), isExpected: false, left, completion)
            case .later, .down:
                loop.schedule(after: Self.pause * (Self.attempts - left)) { self.send(command, key, left, completion) }
            }
        }
    }
}
