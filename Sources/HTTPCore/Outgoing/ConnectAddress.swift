import CDiffSystem
import Glibc

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

    /// A socket that is connected, and blocks: for commands, which have nothing else to do. Nil where nobody answers.
    ///
    /// - Parameter seconds: how long connecting, reading and writing may take, each.
    public func connected(seconds: Int) -> Int32? {
        for address in (try? resolved()) ?? [] {
            let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var limit = timeval(tv_sec: seconds, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
            }
            if address.withRaw({ connect(descriptor, $0, $1) }) == 0 { return descriptor }
            close(descriptor)
        }
        return nil
    }
}
