import CDiffSystem
import Glibc

/// The destination of an outgoing connection.
public enum ConnectAddress: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address, and a port.
    case tcp(host: String, port: UInt16)
    /// A path in the file system.
    case unix(path: String)

    /// The usual notation: `redis.example:6379`, `[::1]:6379`, `unix:/run/redis.sock`.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The host that a certificate must be for; nil for a Unix socket.
    var host: String? { if case .tcp(let host, _) = self { host } else { nil } }

    /// The addresses to try, in order. Blocks.
    func resolved() throws(NameError) -> [SocketAddress] {
        switch self {
        case .tcp(let host, let port): try SocketAddress.resolved(host: host, port: port)
        case .unix(let path): [.unix(path: path)]
        }
    }

    /// A connected, blocking socket, for commands, which have nothing else to do. Nil if nobody answers.
    ///
    /// - Parameter seconds: the time limit for connecting, and for each read and write.
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
