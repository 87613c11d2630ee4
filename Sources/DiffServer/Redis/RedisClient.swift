import DiffStores
import HTTPCore

/// One loop's connections to the Redis with the sessions: a link per primary, made on first use, and a second one for
/// writes if replicas must have them. Any thread may call; all state except the links belongs to the loop.
final class RedisClient: @unchecked Sendable {
    typealias Completion = RedisConnection.Completion

    let loop: EventLoop
    let topology: RedisTopology
    private var map: HashSlotMap
    private let links = Locked<[ReconnectingConnection.Target: ReconnectingConnection]>([:])
    /// The link to the only primary; nil in a cluster.
    private let sole: ReconnectingConnection?
    let keys: RedisKeys

    init(_ topology: RedisTopology, on loop: EventLoop) {
        (self.topology, self.loop, map, keys) = (topology, loop, topology.map, topology.dialer.keys)
        let target = ReconnectingConnection.Target(endpoint: map.primaries[0])
        sole = topology.isCluster ? nil : ReconnectingConnection(topology, at: target, on: loop)
        if let sole { links.withLock { $0[sole.target] = sole } }
        topology.follow(on: loop) { [weak self] in self?.follow() }
    }

    // MARK: From any thread

    /// Whether each hash slot has a primary, and all links are connected.
    var isUp: Bool { topology.isWhole && links.withLock { $0.values.allSatisfy(\.isUp) } }

    var isPartlyUp: Bool { links.withLock { $0.values.contains(where: \.isUp) } }

    /// Calls back once, on the loop; after a write, once `--store-replicas` have it.
    func send(
        _ command: RedisCommand, about key: RedisArgument = "", isWrite: Bool = false,
        _ completion: @escaping Completion
    ) {
        let replicas = isWrite ? topology.dialer.replicas : 0
        let request = RedisRequest(command, about: key, replicas: replicas, by: self, completion)
        loop.perform { request.send() }
    }

    func run(
        _ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = [], isWrite: Bool = false,
        _ completion: @escaping Completion
    ) {
        let (text, room) = (script.text(inCluster: topology.isCluster), RedisCommand.room(for: arguments))
        let command = RedisCommand(text, keys: keys, count: arguments.count, room: room) { $0.append(arguments) }
        send(command, about: keys[0], isWrite: isWrite, completion)
    }

    func ask<Value>(
        _ script: RedisScript, keys: [RedisArgument], _ arguments: [RedisArgument] = [], isWrite: Bool = false,
        _ done: @escaping @Sendable (Result<Value, StoreFailure>) -> Void,
        _ read: @escaping @Sendable (RedisReply) -> Result<Value, StoreFailure>
    ) {
        run(script, keys: keys, arguments, isWrite: isWrite) { done($0.mapError { StoreFailure($0) }.flatMap(read)) }
    }

    /// Tests whether each primary takes writes. Calls back once, with all answers.
    func probe(_ completion: @escaping @Sendable ([RedisResult]) -> Void) {
        let names = topology.map.keys(keys.probe)
        runEach(RedisScripts.probe, keys: names.map(RedisArgument.text), isWrite: true, completion)
    }

    /// Runs a script once per key, on all primaries. Calls back once, with the answers in order; never without keys.
    func runEach(
        _ script: RedisScript, keys: [RedisArgument], isWrite: Bool = false,
        _ completion: @escaping @Sendable ([RedisResult]) -> Void
    ) {
        let answers = Locked<[Int: RedisResult]>([:])
        for (index, key) in keys.enumerated() {
            run(script, keys: [key], isWrite: isWrite) { answer in
                let all = answers.withLock { answers in
                    answers[index] = answer
                    return answers.count == keys.count ? answers : nil
                }
                if let all { completion(keys.indices.map { all[$0]! }) }
            }
        }
    }

    func leave(for server: ConnectAddress) { links.withLock { $0 }.values.forEach { $0.leave(for: server) } }

    func close() { links.withLock { $0 }.values.forEach { $0.close() } }

    // MARK: On the loop

    /// The link to a key's primary; nil if no primary serves its hash slot.
    fileprivate func link(for key: RedisArgument, _ replicas: Int) -> ReconnectingConnection? {
        if replicas == 0, let sole { return sole }
        return map.primary(of: key.bytes).map { link(to: .init(endpoint: $0, replicas: replicas)) }
    }

    fileprivate func link(to target: ReconnectingConnection.Target) -> ReconnectingConnection {
        links.withLock { links in
            if let link = links[target] { return link }
            let link = ReconnectingConnection(topology, at: target, on: loop)
            links[target] = link
            return link
        }
    }

    /// Whether a link is still in use: it is dropped once its server turns out not to be a primary.
    fileprivate func uses(_ link: ReconnectingConnection) -> Bool { links.withLock { $0[link.target] === link } }

    /// Adopts the latest map of hash slots, and retires links to servers that are no longer primaries.
    private func follow() {
        map = topology.map
        let gone = links.withLock { links in
            let gone = links.filter { !map.primaries.contains($0.key.endpoint) }
            for target in gone.keys { links[target] = nil }
            return gone
        }
        for link in gone.values { link.retire() }
    }
}

/// A command on its way to the primary of its key. Confined to the client's loop once it is sent.
///
/// A server that does not know the script gets its source. A cluster node may redirect a command without executing it,
/// because another primary serves the hash slot (`MOVED`) or is importing it (`ASK`). No other command is ever sent
/// twice: only its caller can tell whether a lost one was executed.
private final class RedisRequest: @unchecked Sendable {
    private let client: RedisClient
    private var command: RedisCommand
    private let key: RedisArgument
    private let replicas: Int
    private let completion: RedisClient.Completion
    private var link: ReconnectingConnection?
    /// Sends left: initially enough for two moves of the hash slot, and for one more if it moves back meanwhile.
    private var attempts = mostAttempts

    private static let mostAttempts = 8
    /// The pause before a command is sent again while its keys migrate, multiplied by the attempts so far.
    private static let pause = Duration.milliseconds(10)

    init(
        _ command: RedisCommand, about key: RedisArgument, replicas: Int, by client: RedisClient,
        _ completion: @escaping RedisClient.Completion
    ) {
        (self.command, self.key, self.replicas) = (command, key, replicas)
        (self.client, self.completion) = (client, completion)
    }

    func send() {
        guard let link = client.link(for: key, replicas) else {
            let hashSlot = HashSlotMap.hashSlot(of: key.bytes)
            return completion(.failure(.unavailable("no primary serves slot \(hashSlot)")))
        }
        send(command, over: link)
    }

    private func send(_ command: RedisCommand, over link: ReconnectingConnection) {
        self.link = link
        attempts -= 1
        link.send(command) { self.receive($0) }
    }

    private func receive(_ result: RedisResult) {
        switch result {
        // The command waited for a connection to a server that turned out not to be a primary.
        case .failure(.unavailable) where attempts > 0 && link.map(client.uses) == false: send()
        case .failure(.refused(let error)): receive(error, result)
        case .success, .failure: completion(result)
        }
    }

    private func receive(_ error: RedisError, _ result: RedisResult) {
        if error.code == "NOSCRIPT", let whole = command.whole {
            command = whole
            return send()
        }
        guard let redirection = client.topology.note(error, from: link?.connection?.destination) else {
            return completion(result)
        }
        guard attempts > 0, redirection != .down else { return completion(.failure(.unavailable(error.text))) }
        switch redirection {
        case .moved(_, let server): send(command, over: link(to: server))
        case .ask(let server): send(command.asking, over: link(to: server))
        case .later, .down:
            client.loop.schedule(after: Self.pause * (Self.mostAttempts - attempts)) { self.send() }
        }
    }

    private func link(to server: ConnectAddress) -> ReconnectingConnection {
        client.link(to: .init(endpoint: .server(server), replicas: replicas))
    }
}
