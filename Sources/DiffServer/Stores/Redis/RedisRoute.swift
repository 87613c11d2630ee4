import HTTPCore

/// The way to the Redis that takes writes: the address itself, or what the sentinels say it is at the moment.
///
/// Confined to its loop. Sentinels are asked one after the other, the one that knew last time first. What they say is
/// verified by `ROLE`, as Redis's own guide for clients demands: for a moment after a failover a sentinel may still
/// name the old primary.
final class RedisRoute: @unchecked Sendable {
    typealias Arrival = @Sendable (Result<RedisConnection, RedisFailure>) -> Void

    private let address: RedisAddress
    private let options: RedisOptions
    private let loop: EventLoop
    private var sentinels: [ConnectAddress] = []

    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop) {
        self.address = address
        self.options = options
        self.loop = loop
        if case .sentinels(let sentinels, _) = address.place { self.sentinels = sentinels }
    }

    /// Calls `arrival` once, later, with a connection that takes commands, or why there is none.
    func connect(_ arrival: @escaping Arrival) {
        switch address.place {
        case .server(let destination): greet(destination, "PING", arrival)
        case .sentinels(_, let primary): ask(0, for: primary, arrival)
        }
    }

    // MARK: Sentinels

    private func ask(_ index: Int, for primary: String, _ arrival: @escaping Arrival) {
        let sentinel = sentinels[index]
        let connection = open(sentinel)
        let question = RedisCommand("SENTINEL", "get-master-addr-by-name", RedisArgument(primary))
        let answered: RedisConnection.Completion = { [self] result in
            connection.retire()
            switch Self.destination(result, primary) {
            case .success(let destination):
                sentinels.swapAt(0, index)
                greet(destination, "ROLE", arrival)
            case .failure(let failure) where index + 1 == sentinels.count:
                arrival(.failure(.unavailable("no sentinel names the primary; the last one, \(sentinel): \(failure)")))
            case .failure:
                ask(index + 1, for: primary, arrival)
            }
        }
        connection.send(question) { [self] result in
            // Most sentinels have no password, though their servers do.
            guard case .failure(.refused(let error)) = result, error.code == "NOAUTH", let login else {
                return answered(result)
            }
            connection.send(login) { _ in }
            connection.send(question, answered)
        }
    }

    private static func destination(
        _ result: Result<RedisReply, RedisFailure>, _ primary: String
    ) -> Result<ConnectAddress, RedisFailure> {
        result.flatMap { reply in
            if reply == .null { return .failure(.unavailable("it knows no primary \"\(primary)\"")) }
            guard let parts = reply.elements?.map(\.text), parts.count == 2, let host = parts[0], let text = parts[1],
                let port = UInt16(text)
            else { return .failure(.unavailable("not an address")) }
            return .success(.tcp(host: host, port: port))
        }
    }

    // MARK: The server

    private func open(_ destination: ConnectAddress) -> RedisConnection {
        RedisConnection(
            to: destination, tls: address.usesTLS ? options.tls : nil, on: loop, patience: options.connectTimeout)
    }

    private var login: RedisCommand? {
        guard let credentials = address.credentials else { return nil }
        let user = credentials.user.map { [RedisArgument($0)] } ?? []
        return RedisCommand(["AUTH"] + user + [RedisArgument(credentials.password)])
    }

    /// Says who we are and asks `question`, all in one round trip.
    private func greet(_ destination: ConnectAddress, _ question: RedisArgument, _ arrival: @escaping Arrival) {
        let connection = open(destination)
        let refusal = Locked<RedisFailure?>(nil)
        let mustSucceed: RedisConnection.Completion = { result in
            guard case .failure(let failure) = result else { return }
            refusal.withLock { $0 = $0 ?? failure }
        }
        if let login {
            connection.send(login) { [options] result in
                if !options.mayRefuseLogin { mustSucceed(result) }
            }
        }
        if address.database != 0 {
            connection.send(RedisCommand("SELECT", RedisArgument(address.database)), mustSucceed)
        }
        // A user may not be allowed to have a name; it is only for people.
        connection.send(RedisCommand("CLIENT", "SETNAME", RedisArgument(options.name))) { _ in }
        connection.send(RedisCommand(question)) { [options] result in
            let failure = refusal.withLock { $0 } ?? Self.failure(of: result)
            if let failure {
                connection.retire()
                let text = "\(destination): \(failure)"
                return arrival(.failure(Self.isForGood(failure) ? .denied(text) : .unavailable(text)))
            }
            connection.patience = options.commandTimeout
            arrival(.success(connection))
        }
    }

    /// Whether what was said to a greeting does not change by itself: a password, a user or a database that is not
    /// there.
    private static func isForGood(_ failure: RedisFailure) -> Bool {
        guard case .refused(let error) = failure else { return false }
        return ["WRONGPASS", "NOAUTH", "ERR"].contains(error.code)
    }

    /// `PONG`, or the role of a primary, is what is wanted.
    private static func failure(of result: Result<RedisReply, RedisFailure>) -> RedisFailure? {
        switch result {
        case .failure(let failure): return failure
        case .success(let reply):
            let word = reply.elements?.first?.text ?? reply.text
            return word == "PONG" || word == "master" ? nil : .unavailable("not a primary but a \(word ?? "stranger")")
        }
    }
}
