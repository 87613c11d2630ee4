import CDiffSystem

/// The socket calls that only Linux has. Every socket is non-blocking, and closed on exec.
enum SystemSocket {
    /// A new stream socket; negative on failure, as from socket(2).
    static func open(_ family: Int32) -> Int32 {
        socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    }

    /// Accepts a connection; negative if there is none, as from accept(2).
    static func accept(_ listening: Int32, _ storage: inout sockaddr_storage) -> Int32 {
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return storage.fill { accept4(listening, $0, $1, flags) }.result
    }

    /// Makes the kernel drop requests for new connections from now on.
    static func ignoreNew(_ listening: Int32) {
        // A filter of packets (SO_ATTACH_FILTER, socket(7)). It sees the TCP header, whose octet 13 has the flags.
        // Only the first packet of a connection has SYN (2) without ACK (16).
        var program = [
            sock_filter(code: 0x30, jt: 0, jf: 0, k: 13),  // load the octet
            sock_filter(code: 0x54, jt: 0, jf: 0, k: 0x12),  // and with SYN and ACK
            sock_filter(code: 0x15, jt: 0, jf: 1, k: 0x02),  // if it is SYN alone,
            sock_filter(code: 0x06, jt: 0, jf: 0, k: 0),  // drop the packet,
            sock_filter(code: 0x06, jt: 0, jf: 0, k: .max),  // else keep all of it
        ]
        program.withUnsafeMutableBufferPointer {
            var filter = sock_fprog(len: UInt16($0.count), filter: $0.baseAddress)
            _ = setsockopt(
                listening, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<sock_fprog>.size))
        }
    }
}
