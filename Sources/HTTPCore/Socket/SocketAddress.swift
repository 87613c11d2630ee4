import CDiffSystem

/// The address of one end of a connection.
public enum SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 address in host order.
    case v4(address: UInt32, port: UInt16)
    /// An IPv6 address as its two halves in host order; `scope` is the interface of a link-local one.
    case v6(high: UInt64, low: UInt64, port: UInt16, scope: UInt32)
    /// A Unix socket and its path.
    case unix(path: String)

    /// Whether the address belongs to this machine alone.
    public var isLoopback: Bool {
        switch self {
        case .v4(let address, _): address >> 24 == 127
        case .v6(let high, let low, _, _):
            high == 0 && (low == 1 || (low >> 32 == 0xFFFF && low >> 24 & 0xFF == 127))
        case .unix: true
        }
    }

    /// Whether this is a Unix socket.
    public var isUnix: Bool { family == AF_UNIX }

    /// The family, as `socket(2)` takes it.
    var family: Int32 {
        switch self {
        case .v4: AF_INET
        case .v6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// The port; nil for a Unix socket.
    public var port: UInt16? {
        switch self {
        case .v4(_, let port), .v6(_, _, let port, _): port
        case .unix: nil
        }
    }

    /// The address without its port. An IPv4 address mapped into IPv6 reads as IPv4, so that a client has one name.
    public var host: String {
        switch self {
        case .v4(let address, _):
            return "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
        case .v6(let high, let low, _, let scope):
            if high == 0, low >> 32 == 0xFFFF {
                return SocketAddress.v4(address: UInt32(low & 0xFFFF_FFFF), port: 0).host
            }
            var octets = (high.bigEndian, low.bigEndian)
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            inet_ntop(AF_INET6, &octets, &text, socklen_t(text.count))
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return scope == 0 ? address : "\(address)%\(scope)"
        case .unix(let path):
            return path
        }
    }

    /// The usual notation: `127.0.0.1:8080`, `[::1]:8080`, `unix:/run/a.sock`.
    public var description: String {
        switch self {
        case .v4(_, let port): "\(host):\(port)"
        case .v6(_, _, let port, _): "[\(host)]:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Reads `host:port` and `[address]:port`, each also without the port; nil for anything else.
    public static func hostAndPort(_ text: Substring) -> (host: String, port: UInt16?)? {
        var (host, port) = (text, UInt16?.none)
        let bracket = text.lastIndex(of: "]")
        if let colon = text.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
            port = UInt16(text[text.index(after: colon)...])
            if port == nil { return nil }
            host = text[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { return (String(host.dropFirst().dropLast()), port) }
        return host.contains(":") ? nil : (String(host), port)
    }

    /// An IP address as the kernel filled it in; nil for any other family.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            self = withUnsafeBytes(of: &storage) {
                let address = $0.loadUnaligned(as: sockaddr_in.self)
                return .v4(
                    address: UInt32(bigEndian: address.sin_addr.s_addr), port: UInt16(bigEndian: address.sin_port))
            }
        case AF_INET6:
            self = withUnsafeBytes(of: &storage) {
                let address = $0.loadUnaligned(as: sockaddr_in6.self)
                let halves = withUnsafeBytes(of: address.sin6_addr) {
                    ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                }
                return .v6(
                    high: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1),
                    port: UInt16(bigEndian: address.sin6_port), scope: address.sin6_scope_id)
            }
        default: return nil
        }
    }

    /// Calls `body` with the address as the kernel takes it; nil if a Unix path is too long.
    func withRaw<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R? {
        switch self {
        case .v4(let address, let port):
            var raw = sockaddr_in()
            raw.sin_family = sa_family_t(AF_INET)
            raw.sin_port = port.bigEndian
            raw.sin_addr.s_addr = address.bigEndian
            return withRebound(&raw, body)
        case .v6(let high, let low, let port, let scope):
            var raw = sockaddr_in6()
            raw.sin6_family = sa_family_t(AF_INET6)
            raw.sin6_port = port.bigEndian
            raw.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &raw.sin6_addr) {
                $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withRebound(&raw, body)
        case .unix(let path):
            var raw = sockaddr_un()
            raw.sun_family = sa_family_t(AF_UNIX)
            let octets = Array(path.utf8)
            let fits = withUnsafeMutableBytes(of: &raw.sun_path) { field in
                guard octets.count < field.count, !octets.contains(0) else { return false }
                field.copyBytes(from: octets)
                return true
            }
            return fits ? withRebound(&raw, body) : nil
        }
    }

    private func withRebound<Raw, R>(_ raw: inout Raw, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        let size = socklen_t(MemoryLayout<Raw>.size)
        return withUnsafePointer(to: &raw) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// The addresses of a name, in the system's order of preference. Blocks: never call it on a loop.
    static func resolved(host: String, port: UInt16, flags: Int32 = 0) throws(ListenError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            let name = ConnectAddress.tcp(host: host, port: port).description
            throw ListenError(address: name, reason: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        for entry in sequence(first: list, next: { $0?.pointee.ai_next }).compactMap({ $0?.pointee }) {
            var storage = sockaddr_storage()
            memcpy(&storage, entry.ai_addr, Int(entry.ai_addrlen))
            if let address = SocketAddress(storage), !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}

extension sockaddr_storage {
    /// Lets a system call fill in an address, and returns the call's result and the address's length.
    mutating func fill(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> (result: Int32, length: Int) {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &self) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        return (result, Int(length))
    }
}

/// Sets an option of a socket, if the system knows it.
func setOption(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
}
