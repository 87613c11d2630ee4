import Foundation
import Testing

@testable import DiffRedis
@testable import HTTPCore

@Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct RedisTLSTests {
    @Test func certificatesAreVerified() async throws {
        let files = try Certificates(for: "DNS:localhost,IP:127.0.0.1")
        let server = try files.server(clients: "no")
        let other = try Certificates(for: "DNS:elsewhere")
        let elsewhere = try other.server(clients: "no")
        let trusting = try OutgoingTLS(authorityFile: files.authority)
        let suspicious = try OutgoingTLS()
        let misled = try OutgoingTLS(authorityFile: other.authority)
        for (tls, server, host, reason) in [
            (trusting, server, "localhost", ""), (trusting, server, "127.0.0.1", ""),
            (suspicious, server, "localhost", "certificate"), (misled, server, "localhost", "certificate"),
            (misled, elsewhere, "localhost", "hostname mismatch"),
            (misled, elsewhere, "127.0.0.1", "IP address mismatch"),
        ] {
            let test = try TestClient("rediss://\(host):\(server.port + 1)") { $0.tls = tls }
            switch await test.send("SET", "a", .bytes([UInt8](repeating: 7, count: 300_000))) {
            case .success: #expect(reason == "", "\(host)")
            case .failure(let failure):
                #expect(reason != "" && failure.description.contains(reason), "\(host): \(failure)")
            }
            guard reason.isEmpty else { continue }
            #expect(await test.send("GET", "a") == .success(.bytes([UInt8](repeating: 7, count: 300_000))))
        }
    }

    @Test func aClientCertificateIsShown() async throws {
        let files = try Certificates(for: "DNS:localhost")
        let server = try files.server(clients: "yes")
        let test = try TestClient("rediss://localhost:\(server.port + 1)") {
            $0.tls = try? OutgoingTLS(authorityFile: files.authority, identity: (files.certificate, files.key))
        }
        #expect(await test.send("PING") == .success(.text("PONG")))
        let nameless = try TestClient("rediss://localhost:\(server.port + 1)") {
            $0.tls = try? OutgoingTLS(authorityFile: files.authority)
        }
        guard case .failure = await nameless.send("PING") else {
            Issue.record("let in")
            return
        }
    }

    @Test func plainTextIsNoTLS() async throws {
        let files = try Certificates(for: "DNS:localhost")
        let server = try files.server(clients: "no")
        let tls = try OutgoingTLS(authorityFile: files.authority)
        for address in ["rediss://localhost:\(server.port)", "redis://localhost:\(server.port + 1)"] {
            let test = try TestClient(address) {
                $0.tls = tls
                $0.connectTimeout = .milliseconds(300)
            }
            guard case .failure(.unavailable) = await test.send("PING") else {
                Issue.record("\(address) answers")
                return
            }
        }
    }

    @Test func filesThatAreNoneAreNamed() throws {
        #expect(throws: ListenError.self) { try OutgoingTLS(authorityFile: "/no/such/file") }
        #expect(throws: ListenError.self) { try OutgoingTLS(authorityFile: "/etc/hostname") }
    }
}

/// A certificate authority and a certificate that it signed, as separate files.
private final class Certificates {
    let directory: String
    var authority: String { "\(directory)/ca.pem" }
    var certificate: String { "\(directory)/cert.pem" }
    var key: String { "\(directory)/key.pem" }

    struct Failure: Error { let status: Int32 }

    init(for names: String) throws {
        var template = Array("/tmp/diffserver-tls-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template))
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try openssl(
            ["req", "-x509", "-days", "1", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"] + newKey)
        try openssl(
            [
                "req", "-subj", "/CN=server", "-addext", "subjectAltName=\(names)", "-keyout", "key.pem", "-out",
                "request",
            ] + newKey)
        try openssl([
            "x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-copy_extensions", "copy", "-days",
            "1", "-out",
            "cert.pem",
        ])
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// A Redis with these certificates, on the port after its plain one.
    func server(clients: String) throws -> RedisServer {
        let port = RedisServer.freePort()
        return try RedisServer(
            port: port,
            [
                "tls-port \(port + 1)", "tls-cert-file \(certificate)", "tls-key-file \(key)",
                "tls-ca-cert-file \(authority)",
                "tls-auth-clients \(clients)",
            ])
    }

    private func openssl(_ arguments: [String]) throws {
        let status = try ChildProcess(["env", "--chdir=\(directory)", "openssl"] + arguments).waitForEnd()
        guard status == 0 else { throw Failure(status: status) }
    }
}
