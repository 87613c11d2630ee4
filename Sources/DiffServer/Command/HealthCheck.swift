import CDiffOpenSSL
import Glibc
import HTTPCore

/// `diffserver healthcheck`: asks a server on this machine whether it is ready, for containers without a shell. The
/// exit status is 0 if it is.
enum HealthCheck {
    static func run(_ options: Options) -> Never {
        let address = options.listen.first ?? .tcp(host: "127.0.0.1", port: 8080)
        guard let descriptor = target(address)?.connected(seconds: 2) else { fail("cannot connect to \(address)") }
        var channel = BIO_new_socket(descriptor, 1)
        if options.certificate != nil {
            // The certificate is not verified: the question is whether the server is up, not who it is.
            channel = BIO_push(BIO_new_ssl(SSL_CTX_new(TLS_client_method()), 1), channel)
        }
        let request = Array("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        BIO_write(channel, request, Int32(request.count))
        var answer = [UInt8](repeating: 0, count: 256)
        let count = Int(BIO_read(channel, &answer, Int32(answer.count)))
        let words = String(decoding: answer.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard words.count > 1 else { fail("\(address) is not ready: no answer") }
        guard words[1] == "200" else { fail("\(address) is not ready: \(words[1])") }
        exit(0)
    }

    private static func target(_ address: ListenAddress) -> ConnectAddress? {
        switch address {
        case .unix(let path): .unix(path: path)
        // A server on every address answers on the loopback.
        case .tcp("", let port), .tcp("*", let port), .tcp("0.0.0.0", let port): .tcp(host: "127.0.0.1", port: port)
        case .tcp("::", let port): .tcp(host: "::1", port: port)
        case .tcp(let host, let port): .tcp(host: host, port: port)
        case .inherited: nil
        }
    }
}
