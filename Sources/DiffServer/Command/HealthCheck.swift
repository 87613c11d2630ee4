import COpenSSL
import Glibc
import HTTPCore

/// `diffserver healthcheck`: asks a server on this machine whether it is ready, for containers without a shell. Exit
/// status 0 if it is.
enum HealthCheck {
    static func run(_ options: Options) -> Never {
        let address = options.listen.first ?? .tcp(host: "127.0.0.1", port: 8080)
        guard let descriptor = connection(to: address) else { fail("cannot connect to \(address)") }
        let request = Array("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        let answer = options.certificate == nil ? plain(descriptor, request) : encrypted(descriptor, request)
        let status = answer.split(separator: " ").dropFirst().first.map(String.init) ?? "no answer"
        if status == "200" { exit(0) }
        fail("\(address) is not ready: \(status)")
    }

    private static func connection(to address: ListenAddress) -> Int32? {
        switch address {
        case .unix(let path):
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            guard path.utf8.count < MemoryLayout.size(ofValue: name.sun_path) else { return nil }
            withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
            return withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connected(AF_UNIX, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        case .tcp(let host, let port):
            // What listens on every address answers on the loopback.
            let name = host.isEmpty || host == "*" || host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
            var list: UnsafeMutablePointer<addrinfo>?
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            guard getaddrinfo(name, String(port), &hints, &list) == 0, let first = list else { return nil }
            defer { freeaddrinfo(list) }
            return connected(first.pointee.ai_family, first.pointee.ai_addr, first.pointee.ai_addrlen)
        case .inherited: return nil
        }
    }

    private static func connected(_ family: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32? {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard connect(descriptor, address, length) == 0 else { return nil }
        return descriptor
    }

    private static func plain(_ descriptor: Int32, _ request: [UInt8]) -> String {
        Files.write(request, to: descriptor)
        var room = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &room, room.count)
        return String(decoding: room.prefix(max(0, count)), as: UTF8.self)
    }

    /// Without a look at the certificate: this asks whether the server is up, not who it is.
    private static func encrypted(_ descriptor: Int32, _ request: [UInt8]) -> String {
        guard let context = SSL_CTX_new(TLS_client_method()), let session = SSL_new(context) else { return "" }
        defer {
            SSL_free(session)
            SSL_CTX_free(context)
        }
        guard SSL_set_fd(session, descriptor) == 1, SSL_connect(session) == 1,
            SSL_write(session, request, Int32(request.count)) > 0
        else { return "" }
        var room = [UInt8](repeating: 0, count: 256)
        let count = SSL_read(session, &room, Int32(room.count))
        return String(decoding: room.prefix(max(0, Int(count))), as: UTF8.self)
    }
}
