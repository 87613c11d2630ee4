import Foundation

extension sockaddr_in {
    /// A port of 127.0.0.1.
    init(loopback port: UInt16) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = port.bigEndian
        sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }
}
