import HTTPCore

/// The way to the Redis that takes writes: the address itself, or what the sentinels say it is at the moment.
///
/// Sentinels are asked one after the other. What they say is verified by `ROLE`, as Redis's own guide for clients
/// demands (https://redis.io/docs/latest/develop/reference/sentinel-clients/): for a moment after a failover a sentinel
/// may still name the old primary.
extension RedisClient {
    typealias Arrival = @Sendable (Result<RedisConnection, RedisFailure>) -> Void

    /// Calls `arrival` once, later, with a connection that takes commands, or why there is none.
    func findPrimary(_ arrival: @escaping Arrival) {
        switch address.place {
        case .server(let server): greet(server, "PING", arrival)
        case .sentinels(_, let primary): ask(0, for: primary, arrival)
        }
    }

    private func open(_ destination: ConnectAddress) -> RedisConnection {
        RedisConnection(
            to: destination, tls: address.usesTLS ? options.tls : nil, on: loop, patience: options.connectTimeout)
    }

    private var login: [RedisArgument]? {
        guard let credentials = address.credentials else { return nil }
        let user = credentials.user.map { [RedisArgument($0)] } ?? []
        return ["AUTH"] + user + [RedisArgument(credentials.password)]
    }

    // MARK: Sentinels

    private func ask(_ index: Int, for primary: String, _ arrival: @escaping Arrival) {
        let sentinel = sentinels[index]
        let connection = open(sentinel)
        // Most sentinels have no password, though their servers do: a login that is refused does not matter.
        if let login { connection.send(RedisCommand(login)) { _ in } }
        connection.send(RedisCommand("SENTINEL", "get-master-addr-by-name", RedisArgument(primary))) { [self] result in
            connection.retire()
            switch Self.server(result, primary) {
            case .success(let server):
                sentinels.swapAt(0, index)
                greet(server, "ROLE", arrival)
            case .failure(let failure) where index + 1 == sentinels.count:
                arrival(.failure(.unavailable("no sentinel names the primary; the last one, \(sentinel): \(failure)")))
            case .failure: ask(index + 1, for: primary, arrival)
            }
        }
    }

    private static func server(
        _ result: Result<RedisReply, RedisFailure>, _ primary: String
    ) -> Result<ConnectAddress, RedisFailure> {
        result.flatMap { reply in
            if reply == .null { return .failure(.unavailable("it knows no primary \"\(primary)\"")) }
            guard let parts = reply.elements?.map(\.text), parts.count == 2, let host = parts[0],
                let port = parts[1].flatMap({ UInt16($0) })
            else { return .failure(.unavailable("not an address")) }
            return .success(.tcp(host: host, port: port))
        }
    }

    // MARK: The server

    /// Says who we are and asks `question`, all in one round trip.
    private func greet(_ server: ConnectAddress, _ question: RedisArgument, _ arrival: @escaping Arrival) {
        let connection = open(server)
        let refusal = Locked<Result<RedisReply, RedisFailure>?>(nil)
        let database = address.database == 0 ? nil : ["SELECT", RedisArgument(address.database)]
        let entrance = [login, database].compactMap(\.self)
        if !entrance.isEmpty {
            connection.send(RedisCommand(pipeline: entrance)) { [options] result in
                if !options.mayRefuseLogin, case .failure = result { refusal.withLock { $0 = result } }
            }
        }
        // A user may not be allowed to have a name; it is only for people.
        connection.send(RedisCommand("CLIENT", "SETNAME", RedisArgument(options.name))) { _ in }
        connection.send(RedisCommand(question)) { [options] result in
            if let obstacle = Self.obstacle(at: server, refusal.withLock { $0 } ?? result) {
                connection.retire()
                return arrival(.failure(obstacle))
            }
            connection.patience = options.commandTimeout
            arrival(.success(connection))
        }
    }

    /// Why a server that was greeted is of no use; nil for one that says `PONG`, or that it is a primary. A password, a
    /// user or a database that is not there is so for good.
    private static func obstacle(
        at server: ConnectAddress, _ result: Result<RedisReply, RedisFailure>
    ) -> RedisFailure? {
        switch result {
        case .failure(.refused(let error)) where ["WRONGPASS", "NOAUTH", "ERR"].contains(error.code):
            return .denied("\(server): \(error.text)")
        case .failure(let failure): return .unavailable("\(server): \(failure)")
        case .success(let reply):
            let word = reply.elements?.first?.text ?? reply.text ?? "stranger"
            if ["PONG", "master"].contains(word) { return nil }
            return .unavailable("\(server): not a primary but a \(word)")
        }
    }
}
