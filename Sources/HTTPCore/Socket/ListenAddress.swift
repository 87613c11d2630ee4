import CDiffSystem
import Glibc

/// Where a server listens.
public enum ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// An address or a name of this machine, and a port; 0 is any free one. An empty host or `*` is every address.
    case tcp(host: String, port: UInt16)
    /// A path in the file system. A stale socket there is replaced.
    case unix(path: String)
    /// A listening socket that the process was started with (systemd socket activation).
    case inherited(descriptor: Int32)

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `:8080` and `unix:/run/a.sock`; nil for anything else.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty else { return nil }
            self = .unix(path: path)
            return
        }
        guard let (host, written) = SocketAddress.hostAndPort(text[...]), let port = written else { return nil }
        self = .tcp(host: host, port: port)
    }

    /// The usual notation.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        case .inherited(let descriptor): "descriptor \(descriptor)"
        }
    }

    /// The sockets that systemd passed on: `LISTEN_FDS` of them from descriptor 3 on, if `LISTEN_PID` is this process
    /// (sd_listen_fds(3)). The variables are removed, so that no child process uses them.
    public static func activated() -> [ListenAddress] {
        defer {
            unsetenv("LISTEN_PID")
            unsetenv("LISTEN_FDS")
            unsetenv("LISTEN_FDNAMES")
        }
        guard let pid = getenv("LISTEN_PID"), atoi(pid) == getpid(), let text = getenv("LISTEN_FDS") else { return [] }
        let count = atoi(text)
        guard count > 0, count <= 1024 else { return [] }
        return (3..<3 + count).map { .inherited(descriptor: $0) }
    }

    /// The addresses of the host, to listen on each.
    func resolved() throws(ListenError) -> [SocketAddress] {
        switch self {
        case .unix(let path): return [.unix(path: path)]
        case .inherited: return []
        case .tcp(let host, let port):
            if host.isEmpty || host == "*" { return [.v6(high: 0, low: 0, port: port, scope: 0)] }
            do throws(NameError) {
                return try SocketAddress.resolved(host: host, port: port, flags: AI_PASSIVE)
            } catch {
                throw ListenError(address: description, reason: error.reason)
            }
        }
    }
}

/// Why a server does not start, in one line for people.
public struct ListenError: Error, Hashable, CustomStringConvertible {
    /// The address or the file concerned.
    public let address: String
    /// The reason, without a full stop.
    public let reason: String
    /// Whether another program listens there.
    public internal(set) var isAddressTaken = false
    /// Whether the machine lacks the address, or its family.
    var isFamilyMissing = false

    /// `address: reason`.
    public var description: String { "\(address): \(reason)" }
}
