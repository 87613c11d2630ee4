import CDiffSystem
import Glibc

/// Opens the sockets that a server listens on.
///
/// Each loop has a socket of its own for a TCP address (SO_REUSEPORT), so the kernel spreads connections and no loop
/// wakes for another's. The option would also let a second server of the same user share the port without a word. So
/// the first socket is bound without it, which fails if anybody listens there, and only then let in the others.
struct ListeningSocket {
    let address: SocketAddress
    /// One for each loop, or one for all.
    let descriptors: [Int32]
    /// Whether what connects here has to speak TLS.
    var isTLS = false

    var isShared: Bool { descriptors.count == 1 }

    /// What waits to be accepted; the kernel caps it at net.core.somaxconn.
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
                // A name like localhost may stand for a family that this machine does not have.
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

    /// The same socket, spoken to in TLS; a Unix socket stays plain.
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
                set(first, SOL_SOCKET, SO_REUSEPORT, 1)
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

    /// Octets of a connection that the kernel takes before it can send them.
    private static let unsentBytes: Int32 = 128 * 1024

    private static func bound(
        to address: SocketAddress, sharesPort: Bool, options: ServerOptions
    ) throws(ListenError) -> Int32 {
        let descriptor = try opened(address)
        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if sharesPort { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        if case .v6(let high, let low, _, _) = address {
            set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, high == 0 && low == 0 ? 0 : 1)
        }
        // Accepted sockets inherit these.
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        // What the kernel holds for readers that are slow is memory too. What is on its way, and so the throughput, has
        // no limit by this.
        set(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentBytes)
        let stall = options.connectionLimits.writeStall.wholeNanoseconds / 1_000_000
        set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(clamping: stall))
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

    /// Whether the path is a socket on which nobody listens.
    private static func isStale(_ address: SocketAddress) -> Bool {
        var status = stat()
        guard lstat(address.unixPath, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
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
        if !address.isUnix { set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
        return ListeningSocket(address: address, descriptors: [descriptor])
    }

    private static func opened(_ address: SocketAddress) throws(ListenError) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw .last("socket", address) }
        return descriptor
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The address of a socket's own end.
    static func name(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard status == 0 else { return nil }
        let path = withUnsafeBytes(of: &storage) { raw in
            String(decoding: raw[2..<max(2, min(Int(length), raw.count))].prefix { $0 != 0 }, as: UTF8.self)
        }
        return SocketAddress(storage, unixPath: path)
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
