import HTTPCore

/// The address of a Redis, as `--store` names it.
///
///     redis://[user[:password]@]host[:port][/database]
///     rediss://…                                                  the same over TLS
///     unix:/path
///     redis-sentinel://[user[:password]@]host[:port],host[:port],…/name-of-the-primary[/database]
///     rediss-sentinel://…
///     redis-cluster://[user[:password]@]host[:port],host[:port],…     some nodes of a cluster, which name the others
///     rediss-cluster://…
///
/// User, password and the primary's name are percent-decoded. A password alone is written `:password@`.
package struct RedisAddress: Sendable, Hashable {
    /// One server, sentinels that know the primary, or nodes of a cluster that know which primary has which slot.
    enum Endpoint: Sendable, Hashable {
        case server(ConnectAddress)
        case sentinels([ConnectAddress], primary: String)
        case cluster([ConnectAddress])
    }

    package struct Credentials: Sendable, Hashable {
        /// Nil for the default user.
        var user: String?
        package var password: String
    }

    var endpoint: Endpoint
    package var credentials: Credentials?
    var database = 0
    package var usesTLS = false

    var isCluster: Bool { if case .cluster = endpoint { true } else { false } }

    private static let port: UInt16 = 6379
    private static let sentinelPort: UInt16 = 26379

    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = text.dropFirst(5)
            guard path.hasPrefix("/"), !path.hasPrefix("//") else { return nil }
            endpoint = .server(.unix(path: String(path)))
            return
        }
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
        let scheme = text[..<colon].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard scheme[0] == "redis" || scheme[0] == "rediss" else { return nil }
        usesTLS = scheme[0] == "rediss"
        var parts = text[colon...].dropFirst(3).split(separator: "/", omittingEmptySubsequences: false)
        var hosts = parts.removeFirst()
        if let at = hosts.lastIndex(of: "@") {
            guard let read = Self.credentials(hosts[..<at]) else { return nil }
            credentials = read
            hosts = hosts[hosts.index(after: at)...]
        }
        switch scheme.dropFirst().first {
        case nil:
            guard let server = Self.destination(hosts, defaultPort: Self.port) else { return nil }
            endpoint = .server(server)
        case "sentinel":
            guard let sentinels = Self.destinations(hosts, defaultPort: Self.sentinelPort), !parts.isEmpty,
                let name = Percent.decoded(parts.removeFirst()), !name.isEmpty
            else { return nil }
            endpoint = .sentinels(sentinels, primary: name)
        case "cluster":
            // A cluster has one database.
            guard let nodes = Self.destinations(hosts, defaultPort: Self.port), ["", "0"].contains(parts.first ?? "")
            else { return nil }
            endpoint = .cluster(nodes)
        default: return nil
        }
        guard parts.count <= 1 else { return nil }
        guard let database = parts.first, !database.isEmpty else { return }
        guard database.utf8.allSatisfy(\.isDigit), let number = Int(database) else { return nil }
        self.database = number
    }

    private static func credentials(_ text: Substring) -> Credentials? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = Percent.decoded(parts[0]), let password = parts.count > 1 ? Percent.decoded(parts[1]) : "",
            !user.isEmpty || !password.isEmpty
        else { return nil }
        return Credentials(user: user.isEmpty ? nil : user, password: password)
    }

    private static func destinations(_ text: Substring, defaultPort: UInt16) -> [ConnectAddress]? {
        let written = text.split(separator: ",", omittingEmptySubsequences: false)
        let read = written.compactMap { destination($0, defaultPort: defaultPort) }
        return read.count == written.count ? read : nil
    }

    private static func destination(_ text: Substring, defaultPort: UInt16) -> ConnectAddress? {
        guard let (host, port) = SocketAddress.hostAndPort(text), !host.isEmpty, port != 0 else { return nil }
        return .tcp(host: host, port: port ?? defaultPort)
    }
}

extension RedisAddress: CustomStringConvertible {
    /// The address without its credentials, for logs.
    package var description: String {
        let scheme = usesTLS ? "rediss" : "redis"
        let path = database == 0 ? "" : "/\(database)"
        switch endpoint {
        case .server(.unix(let file)): return "unix:\(file)"
        case .server(let server): return "\(scheme)://\(server)\(path)"
        case .sentinels(let sentinels, let primary):
            return "\(scheme)-sentinel://\(sentinels.map(\.description).joined(separator: ","))/\(primary)\(path)"
        case .cluster(let nodes): return "\(scheme)-cluster://\(nodes.map(\.description).joined(separator: ","))"
        }
    }
}
