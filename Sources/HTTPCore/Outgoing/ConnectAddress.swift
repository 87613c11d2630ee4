/// Where an outgoing connection goes.
public enum ConnectAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address, and a port.
    case tcp(host: String, port: UInt16)
    /// A path in the file system.
    case unix(path: String)

    /// As one writes it: `redis.example:6379`, `[::1]:6379`, `unix:/run/redis.sock`.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// What a certificate has to be for; nil where there are no names.
    var host: String? {
        switch self {
        case .tcp(let host, _): host
        case .unix: nil
        }
    }

    /// The addresses to try, in order. May wait for a name server.
    func resolved() throws(NameError) -> [SocketAddress] {
        switch self {
        case .tcp(let host, let port): try SocketAddress.resolved(host: host, port: port)
        case .unix(let path): [.unix(path: path)]
        }
    }
}
