import CDiffSystem
import Glibc

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

    var isShared: Bool { descriptors.count == 1 }

    /// Capped by the kernel at net.core.somaxconn.
    private static let backlog: Int32 = 4096

    static func open(_ listen: ListenAddress, options: ServerOptions) throws(ListenError) -> [ListeningSocket] {
        switch listen {
        case .inherited(let descriptor): return [try adopt(descriptor, listen)]
        case .unix(let path): return [try openUnix(path, options: options)]
        case .tcp: break
        }
        var sockets: [ListeningSocket] = []
        var failure: ListenError?
        for address in try listen.resolved() {
            do { sockets.append(try openTCP(address, options: options)) } catch {
                // A name like localhost may have an address of a family that this machine lacks.
                guard error.isFamilyMissing else {
                    sockets.forEach { $0.close() }
                    throw error
                }
                failure = error
            }
        }
        if sockets.isEmpty, case .tcp(let host, let port) = listen, host.isEmpty || host == "*" {
            return [try openTCP(.v4(address: 0, port: port), options: options)]
        }
        if sockets.isEmpty { throw failure ?? ListenError(address: listen.description, reason: "no address") }
        return sockets
    }

    /// The same socket with TLS, unless it is a Unix socket.
    func secured(_ isSecured: Bool) -> ListeningSocket {
        var socket = self
        socket.isTLS = isSecured && !address.isUnix
        return socket
    }

    func close() {
        descriptors.forEach { _ = Glibc.close($0) }
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
            descriptors.forEach { _ = Glibc.close($0) }
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
        // What the kernel queues for slow readers is memory too. Octets in flight, and so the throughput, are not
        // limited by this.
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentBytes)
        let stall = options.connectionLimits.writeStall.wholeNanoseconds / 1_000_000
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: stall))
        guard address.withRaw({ bind(descriptor, $0, $1) }) == 0 else {
            let error = ListenError.last("bind", address)
            Glibc.close(descriptor)
            throw error
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
            Glibc.close(descriptor)
            throw ListenError(address: address.description, reason: "the path is too long for a Unix socket")
        }
        guard status == 0, chmod(path, mode_t(options.unixPermissions)) == 0, listen(descriptor, backlog) == 0 else {
            let error = ListenError.last("bind", address)
            Glibc.close(descriptor)
            throw error
        }
        return ListeningSocket(address: address, descriptors: [descriptor])
    }

    /// Whether the path is a socket that nobody listens on.
    private static func isStale(_ address: SocketAddress) -> Bool {
        var status = stat()
        guard lstat(address.host, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        guard let probe = try? opened(address) else { return false }
        defer { Glibc.close(probe) }
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
        return ListeningSocket(address: address, descriptors: [descriptor])
    }

    private static func opened(_ address: SocketAddress) throws(ListenError) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, kind, 0)
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
    /// The error of the last system call.
    fileprivate static func last(_ call: String, _ address: SocketAddress) -> ListenError {
        let code = errno
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
