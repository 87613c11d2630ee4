import CDiffSystem

/// The sockets that a server listens on at one address.
///
/// For a TCP address each loop has its own socket (SO_REUSEPORT), so the kernel spreads connections and no loop wakes
/// for another's. The option would also let a second server of the same user share the port silently. So the first
/// socket is bound without it, which fails if anybody listens there, and only then allows the others.
struct ListeningSocket {
    let address: SocketAddress
    /// One for each loop, or one for all.
    let descriptors: [Int32]
    /// Whether clients must speak TLS.
    var isTLS = false
    /// Whether the process was started with it, so that its successor may take it over.
    var isInherited = false

    var isShared: Bool { descriptors.count == 1 }

    /// Capped by the kernel at net.core.somaxconn.
    private static let backlog: Int32 = 4096

    static func open(_ listen: ListenAddress, options: ServerOptions) throws(ListenError) -> [ListeningSocket] {
        let (host, port): (String, UInt16)
        switch listen {
        case .inherited(let descriptor): return [try adopt(descriptor, listen)]
        case .unix(let path): return [try openUnix(path, options: options)]
        case .tcp(let name, let number): (host, port) = (name, number)
        }
        let isAny = host.isEmpty || host == "*"
        let addresses =
            isAny
            ? [.v6(high: 0, low: 0, port: port, scope: 0)]
            : try SocketAddress.resolved(host: host, port: port, flags: AI_PASSIVE)
        var sockets: [ListeningSocket] = []
        var failure: ListenError?
        for address in addresses {
            do { sockets.append(try openTCP(address, options: options)) } catch {
                // A name like localhost may have an address of a family that this machine lacks.
                guard error.isFamilyMissing else {
                    sockets.forEach { $0.close() }
                    throw error
                }
                failure = error
            }
        }
        if sockets.isEmpty, isAny { return [try openTCP(.v4(address: 0, port: port), options: options)] }
        if sockets.isEmpty { throw failure ?? ListenError(address: listen.description, reason: "no address") }
        return sockets
    }

    /// The same socket with TLS, unless it is a Unix socket.
    func secured(_ isSecured: Bool) -> ListeningSocket {
        var socket = self
        socket.isTLS = isSecured && !address.isUnix
        return socket
    }

    /// Closes the sockets. Call it once no loop watches them.
    func close() { descriptors.forEach { _ = CDiffSystem.close($0) } }

    /// Stops the kernel from completing further connections; those that it has begun can still be accepted. A client
    /// that connects now retries, and is refused once the socket is closed.
    func refuseNew() {
        if isInherited { return }
        if case .unix(let path) = address { unlink(path) } else { descriptors.forEach(SystemSocket.ignoreNew) }
    }

    private static func openTCP(_ address: SocketAddress, options: ServerOptions) throws(ListenError) -> ListeningSocket
    {
        let first = try bound(to: address, sharesPort: false, options: options)
        var descriptors = [first]
        do throws(ListenError) {
            guard let actual = name(of: first) else { throw .last("getsockname", address) }
            if options.loops > 1 {
                setOption(first, SOL_SOCKET, SO_REUSEPORT, 1)
                for _ in 1..<options.loops {
                    descriptors.append(try bound(to: actual, sharesPort: true, options: options))
                }
            }
            for descriptor in descriptors where listen(descriptor, backlog) != 0 { throw .last("listen", address) }
            return ListeningSocket(address: actual, descriptors: descriptors)
        } catch {
            descriptors.forEach { _ = CDiffSystem.close($0) }
            throw error
        }
    }

    /// How many unsent octets the kernel queues for a connection.
    private static let unsentBytes: Int32 = 128 * 1024

    private static func bound(
        to address: SocketAddress, sharesPort: Bool, options: ServerOptions
    ) throws(ListenError) -> Int32 {
        let descriptor = try opened(address)
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if sharesPort { setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        if case .v6(let high, let low, _, _) = address {
            setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, high == 0 && low == 0 ? 0 : 1)
        }
        // Accepted sockets inherit the following.
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        // Output that the kernel queues for slow readers is memory too. This does not limit the throughput.
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentBytes)
        // How long a peer may leave octets unacknowledged before the connection is lost, in milliseconds.
        let stall = options.connectionLimits.writeStall.wholeNanoseconds / 1_000_000
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: stall))
        guard address.withRaw({ bind(descriptor, $0, $1) }) == 0 else {
            throw .last("bind", address, closing: descriptor)
        }
        return descriptor
    }

    private static func openUnix(_ path: String, options: ServerOptions) throws(ListenError) -> ListeningSocket {
        let address = SocketAddress.unix(path: path)
        let descriptor = try opened(address)
        var status = address.withRaw { bind(descriptor, $0, $1) }
        if status == -1, errno == EADDRINUSE, isStale(address) {
            unlink(path)
            status = address.withRaw { bind(descriptor, $0, $1) }
        }
        guard let status else {
            CDiffSystem.close(descriptor)
            throw ListenError(address: address.description, reason: "the path is too long for a Unix socket")
        }
        guard status == 0, chmod(path, mode_t(options.unixPermissions)) == 0, listen(descriptor, backlog) == 0 else {
            throw .last("bind", address, closing: descriptor)
        }
        return ListeningSocket(address: address, descriptors: [descriptor])
    }

    /// Whether the path is a socket that nobody listens on.
    private static func isStale(_ address: SocketAddress) -> Bool {
        var status = stat()
        guard lstat(address.host, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        guard let probe = try? opened(address) else { return false }
        defer { CDiffSystem.close(probe) }
        return address.withRaw { connect(probe, $0, $1) } == -1 && errno == ECONNREFUSED
    }

    private static func adopt(_ descriptor: Int32, _ listen: ListenAddress) throws(ListenError) -> ListeningSocket {
        var isListening: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1,
            let address = name(of: descriptor)
        else { throw ListenError(address: listen.description, reason: "not a listening stream socket") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if !address.isUnix { setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
        return ListeningSocket(address: address, descriptors: [descriptor], isInherited: true)
    }

    private static func opened(_ address: SocketAddress) throws(ListenError) -> Int32 {
        let descriptor = SystemSocket.open(address.family)
        guard descriptor >= 0 else { throw .last("socket", address) }
        return descriptor
    }

    /// The address of a socket's own end.
    static func name(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        let (status, length) = storage.fill { getsockname(descriptor, $0, $1) }
        guard status == 0 else { return nil }
        guard Int32(storage.ss_family) == AF_UNIX else { return SocketAddress(storage) }
        let path = withUnsafeBytes(of: &storage) { $0[2..<max(2, min(length, $0.count))].prefix { $0 != 0 } }
        return .unix(path: String(decoding: path, as: UTF8.self))
    }
}

extension ListenError {
    /// The error of the last system call, after which a descriptor may be closed.
    fileprivate static func last(
        _ call: String, _ address: SocketAddress, closing descriptor: Int32? = nil
    ) -> ListenError {
        let code = errno
        if let descriptor { close(descriptor) }
        let reason =
            switch code {
            case EADDRINUSE: "already in use"
            case EACCES: "permission denied"
            case EADDRNOTAVAIL: "not an address of this machine"
            default: "\(call): \(String(cString: strerror(code)))"
            }
        return ListenError(
            address: address.description, reason: reason, isAddressTaken: code == EADDRINUSE,
            isFamilyMissing: code == EAFNOSUPPORT || code == EADDRNOTAVAIL)
    }
}

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
        case .tcp(let host, let port): ConnectAddress.tcp(host: host, port: port).description
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
