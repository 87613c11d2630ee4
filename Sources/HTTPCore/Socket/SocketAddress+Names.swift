import CDiffSystem
import Glibc

extension SocketAddress {
    /// The addresses of a name, in the system's order of preference. Blocks: never call it on a loop.
    static func resolved(host: String, port: UInt16, flags: Int32 = 0) throws(NameError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { throw NameError(reason: String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next {
            next = entry.pointee.ai_next
            var storage = sockaddr_storage()
            memcpy(&storage, entry.pointee.ai_addr, Int(entry.pointee.ai_addrlen))
            if let address = SocketAddress(storage), !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}

/// A name without an address.
struct NameError: Error, Hashable {
    /// The resolver's words.
    let reason: String
}
