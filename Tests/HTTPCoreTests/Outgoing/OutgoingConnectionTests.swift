import CDiffSystem
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct OutgoingConnectionTests {
    private static let request = Array("GET /peer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)

    /// The answer to the request, and how it ended.
    private func outcome(
        _ destination: ConnectAddress, tls: OutgoingTLS? = nil, within limit: Duration = .seconds(50),
        send bytes: [UInt8] = request
    ) throws -> (text: String, loss: OutgoingConnection.Loss?) {
        let loop = try EventLoop(index: 0, polling: .ofTests)
        loop.start()
        defer { loop.end() }
        let received = Locked<[UInt8]>([])
        let loss = Locked<OutgoingConnection.Loss?>(nil)
        loop.execute {
            let connection = OutgoingConnection(
                to: destination, tls: tls, on: loop, within: limit,
                .init(
                    opened: {}, received: { bytes in received.withLock { $0 += bytes } },
                    closed: { reason in loss.withLock { $0 = reason } }))
            connection.send(bytes)
        }
        _ = eventually { loss.withLock { $0 != nil } }
        return (String(decoding: received.withLock { $0 }, as: UTF8.self), loss.withLock { $0 })
    }

    @Test func aNameIsResolvedAndItsAddressesAreTried() throws {
        // `localhost` is ::1 first in many places, and nobody listens there.
        let server = try TestServer()
        let found = try outcome(.tcp(host: "localhost", port: server.address.port!))
        #expect(found.text.hasPrefix("HTTP/1.1 200") && found.loss == .ended)
    }

    @Test func manyBytesGoBothWays() throws {
        let server = try TestServer()
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 99_000)
        let head = Array("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99000\r\n\r\n".utf8)
        var bytes: [UInt8] = []
        for _ in 0..<100 { bytes += head + body }
        let found = try outcome(.tcp(host: "127.0.0.1", port: server.address.port!), send: bytes + Self.request)
        #expect(found.text.utf8.count > 9_900_000 && found.loss == .ended)
    }

    @Test func aCertificateIsVerified() throws {
        let files = TestCertificates()
        defer { files.remove() }
        let server = try TestServer {
            $0.tls = TLSOptions(certificateFile: files.certificateFile, keyFile: files.keyFile)
        }
        let port = server.address.port!
        let trusting = try OutgoingTLS(authorityFile: files.authorityFile)
        let found = try outcome(.tcp(host: "localhost", port: port), tls: trusting)
        #expect(found.text.hasPrefix("HTTP/1.1 200") && found.loss == .ended)
        for (tls, host) in [(trusting, "127.0.0.1"), (try OutgoingTLS(), "localhost")] {
            guard case .insecure = try outcome(.tcp(host: host, port: port), tls: tls).loss else {
                Issue.record("\(host) is trusted")
                return
            }
        }
    }

    @Test func theSystemsAuthoritiesAreTheFirstThatAreThere() {
        let files = TestCertificates()
        defer { files.remove() }
        let (one, other) = (files.authorityFile, files.certificateFile)
        for (named, places, found) in [
            (nil, ["/no/such/file", one, other], one), (nil, ["/no/such/file"], nil), ("", [other, one], other),
            ("/named", [one], "/named"),
        ] as [(String?, [String], String?)] {
            #expect(SystemAuthorities.file(named, or: places) == found)
        }
        // Debian's, Fedora's and Alpine's.
        for part in ["ssl/certs/ca-certificates.crt", "pki/tls/certs/ca-bundle.crt", "ssl/cert.pem"] {
            #expect(SystemAuthorities.files.contains("/etc/\(part)"))
        }
    }

    @Test func aServerThatWantsACertificateSaysSo() throws {
        let files = TestCertificates()
        defer { files.remove() }
        let server = try TestServer {
            $0.tls = TLSOptions(
                certificateFile: files.certificateFile, keyFile: files.keyFile,
                clientAuthorityFile: files.authorityFile)
        }
        let tls = try OutgoingTLS(authorityFile: files.authorityFile)
        let loss = try outcome(.tcp(host: "localhost", port: server.address.port!), tls: tls).loss
        #expect(loss?.description.contains("certificate required") == true, "\(loss.debugDescription)")
    }

    @Test func whereNobodyIsIsSaid() throws {
        #expect(try outcome(.unix(path: "/no/such/socket")).loss == .unreachable("No such file or directory"))
        #expect(try outcome(.tcp(host: "127.0.0.1", port: 1)).loss == .unreachable("Connection refused"))
        #expect(
            try outcome(.unix(path: String(repeating: "x", count: 200))).loss
                == .unreachable("the path is too long for a Unix socket"))
        guard case .unresolved = try outcome(.tcp(host: "nowhere.invalid", port: 1)).loss else {
            Issue.record("resolved")
            return
        }
    }

    @Test func aHandshakeThatNeverEndsIsGivenUp() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        listen(descriptor, 1)
        let port = ListeningSocket.name(of: descriptor)!.port!
        let tls = try OutgoingTLS()
        #expect(
            try outcome(.tcp(host: "127.0.0.1", port: port), tls: tls, within: .milliseconds(100)).loss == .timedOut)
    }
}
