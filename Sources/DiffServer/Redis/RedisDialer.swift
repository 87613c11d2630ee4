import DiffStores
import HTTPCore

/// Opens connections to the servers of an address, and logs in.
package struct RedisDialer: Sendable {
    typealias Arrival = @Sendable (Result<RedisConnection, RedisFailure>) -> Void

    var address: RedisAddress
    /// The passwords to try over each new connection, best first; nil if the address has it, or there is none.
    package var passwords: (@Sendable () -> [String])?
    /// Told of the first one that was accepted.
    package var admitted: (@Sendable (String) -> Void)?
    package var keys = RedisKeys()
    /// How many replicas must have a write before it is answered.
    package var replicas = 0
    /// How to verify a server's certificate; nil trusts the system's authorities.
    package var tls: OutgoingTLS?
    /// The limit until a connection can take commands, and for a sentinel's answer.
    var connectTimeout = Duration.seconds(2)
    /// The limit for an answer, after which the connection is closed.
    var commandTimeout = Duration.seconds(5)
    /// The most commands that may wait for a first attempt to connect.
    var maxWaiting = 10_000
    package var health = StoreHealth()
    /// Whether to ignore a refused login, as with sentinels: most have no password, though their servers do.
    var mayRefuseLogin = false

    package init(_ address: RedisAddress) { self.address = address }

    private func open(_ destination: ConnectAddress, on loop: EventLoop) -> RedisConnection {
        RedisConnection(to: destination, tls: address.usesTLS ? tls : nil, on: loop, patience: connectTimeout)
    }

    /// How logging in goes.
    private struct Login {
        var isAdmitted = false
        /// Of the first password.
        var refusal: RedisResult?
    }

    /// Sends the passwords. What comes of them is known once a later command is answered.
    private func logIn(over connection: RedisConnection) -> Locked<Login> {
        let login = Locked(Login())
        let user = address.credentials?.user.map { [RedisArgument.text($0)] } ?? []
        for password in passwords?() ?? [address.credentials?.password].compactMap(\.self) {
            connection.send(RedisCommand(["AUTH"] + user + [.text(password)])) { [admitted] result in
                let isFirst = login.withLock { login in
                    guard case .success = result else {
                        login.refusal = login.refusal ?? result
                        return false
                    }
                    return !exchange(&login.isAdmitted, with: true)
                }
                if isFirst { admitted?(password) }
            }
        }
        return login
    }

    // MARK: Asking

    /// Asks servers one by one, each over its own connection, until `read` can use an answer. Calls `done` once, later,
    /// with the answer and its server, or with the last server's name and failure.
    func ask<Answer: Sendable>(
        _ servers: [ConnectAddress], from index: Int = 0, _ question: RedisCommand, on loop: EventLoop,
        _ read: @escaping @Sendable (RedisReply, ConnectAddress) -> Result<Answer, RedisFailure>,
        _ done: @escaping @Sendable (Result<(Answer, ConnectAddress), RedisFailure>) -> Void
    ) {
        let server = servers[index]
        let connection = open(server, on: loop)
        // No refused login matters here, and no accepted one.
        var dialer = self
        dialer.admitted = nil
        _ = dialer.logIn(over: connection)
        connection.send(question) { result in
            connection.retire()
            switch result.flatMap({ read($0, server) }) {
            case .success(let answer): done(.success((answer, server)))
            case .failure(let failure) where index + 1 == servers.count:
                done(.failure(.unavailable("\(server): \(failure)")))
            case .failure: ask(servers, from: index + 1, question, on: loop, read, done)
            }
        }
    }

    /// The primary that a sentinel names. It must then be verified by `ROLE`: for a moment after a failover a sentinel
    /// may still name the old one (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
    static func server(_ reply: RedisReply, _ primary: String) -> Result<ConnectAddress, RedisFailure> {
        if reply == .null { return .failure(.unavailable("it knows no primary \"\(primary)\"")) }
        guard let parts = reply.elements?.map(\.text), parts.count == 2, let host = parts[0],
            let port = parts[1].flatMap({ UInt16($0) })
        else { return .failure(.unavailable("its reply is not an address")) }
        return .success(.tcp(host: host, port: port))
    }

    // MARK: Connecting

    /// Logs in and asks in one round trip whether a server is usable; if not, greets the next. Calls back once, later.
    func greet(_ servers: [ConnectAddress], on loop: EventLoop, _ arrival: @escaping Arrival) {
        let server = servers[0]
        let connection = open(server, on: loop)
        let login = logIn(over: connection)
        let other = Locked<RedisResult?>(nil)
        if address.database != 0 {
            connection.send(RedisCommand("SELECT", .number(address.database))) { result in
                if case .failure = result { other.withLock { $0 = result } }
            }
        }
        // The name only helps people, and the user may lack the right to set it.
        connection.send(RedisCommand("CLIENT", "SETNAME", "diffserver")) { _ in }
        connection.send(question) { [self] result in
            let login = login.withLock { $0 }
            let refusal = login.isAdmitted || mayRefuseLogin ? nil : login.refusal
            if let failure = Self.failure(at: server, refusal ?? other.withLock { $0 } ?? result) {
                connection.retire()
                guard case .unavailable = failure, servers.count > 1 else { return arrival(.failure(failure)) }
                return greet(Array(servers.dropFirst()), on: loop, arrival)
            }
            connection.patience = commandTimeout
            arrival(.success(connection))
        }
    }

    /// Tests a server. A cluster node takes commands while the cluster does not serve, so it is asked about that.
    private var question: RedisCommand {
        switch address.endpoint {
        case .server: RedisCommand("PING")
        case .sentinels: RedisCommand("ROLE")
        case .cluster: RedisCommand("CLUSTER", "INFO")
        }
    }

    /// Why a server is not usable; nil after `PONG`, from a primary, and in a healthy cluster. No retry mends a wrong
    /// password, user or database, nor a server outside any cluster.
    private static func failure(at server: ConnectAddress, _ result: RedisResult) -> RedisFailure? {
        switch result {
        case .failure(.refused(let error)) where ["WRONGPASS", "NOAUTH", "ERR"].contains(error.code):
            return .denied("\(server): \(error.text)")
        case .failure(let failure): return .unavailable("\(server): \(failure)")
        case .success(let reply):
            let word = reply.elements?.first?.text ?? reply.text ?? "server of unknown role"
            if ["PONG", "master"].contains(word) || word.hasPrefix("cluster_state:ok") { return nil }
            if word.hasPrefix("cluster_state:") { return .unavailable("\(server): the cluster is down") }
            return .unavailable("\(server): not a primary but a \(word)")
        }
    }
}
