import CDiffOpenSSL
import CDiffSystem
import Testing

@testable import HTTPCore

@Suite struct TLSTests {
    private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    private func serving(
        clients: Bool = false, requires: Bool = true, _ test: (TestServer, TestCertificates) throws -> Void
    ) throws {
        let files = TestCertificates()
        defer { files.remove() }
        let server = try TestServer {
            $0.tls = TLSOptions(certificateFile: files.certificateFile, keyFile: files.keyFile)
            if clients { $0.tls?.clientAuthorityFile = files.authorityFile }
            $0.tls?.requiresClientCertificate = requires
        }
        try test(server, files)
    }

    @Test func bothVersionsServeAndEndWithCloseNotify() throws {
        try serving { (server, _) throws in
            for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
                let client = try TLSClient(server.address, versions: version...version, offered: ["h2", "http/1.1"])
                #expect(client.isConnected && client.chosenProtocol == "http/1.1")
                client.send(Self.request + Self.request)
                #expect(client.receive(until: "root").contains("200"))
                let body = String(repeating: "x", count: 100_000)
                client.send(
                    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n\(body)")
                #expect(client.receive(until: body).hasSuffix(body))
                #expect(client.endsCleanly())
            }
        }
    }

    @Test func whatIsOldOrWeakIsRefused() throws {
        try serving { (server, _) throws in
            #expect(
                try !TLSClient(server.address, versions: TLS1_VERSION...TLS1_1_VERSION, ciphers: "ALL:@SECLEVEL=0")
                    .isConnected)
            for ciphers in ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "aNULL"] {
                let client = try TLSClient(
                    server.address, versions: TLS1_2_VERSION...TLS1_2_VERSION, ciphers: "\(ciphers):@SECLEVEL=0")
                #expect(!client.isConnected, "\(ciphers)")
            }
            #expect(try !TLSClient(server.address, offered: ["h2"]).isConnected)
        }
    }

    @Test func `the first certificate of the chain to expire is told`() throws {
        try serving { (server, files) throws in
            func hoursLeft() throws -> Double {
                try server.server.reloadCertificates()
                return Double(try #require(server.server.certificateExpiry) - Instant.wallClockSeconds) / 3600
            }
            #expect((0.9...1.1).contains(try hoursLeft()))
            files.issue("localhost", hours: 50)
            #expect((49.9...50.1).contains(try hoursLeft()))
            files.issue("localhost", hours: 50, withAuthority: true)
            #expect((0.9...1.1).contains(try hoursLeft()))
            files.issue("localhost", hours: -1)
            #expect((-1.1 ... -0.9).contains(try hoursLeft()))
        }
        #expect(try TestServer().server.certificateExpiry == nil)
    }

    @Test func sessionsAreResumed() throws {
        try serving { (server, _) throws in
            for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
                let first = try TLSClient(server.address, versions: version...version)
                first.send(Self.request)
                _ = first.receive(until: "root")  // a ticket of 1.3 comes with the first bytes
                let second = try TLSClient(server.address, versions: version...version, session: first.session)
                #expect(second.isConnected && second.isResumed && !first.isResumed)
            }
        }
    }

    @Test func aReloadServesTheNewCertificateAndDropsNobody() throws {
        try serving { (server, files) throws in
            let before = try TLSClient(server.address)
            before.send(Self.request)
            #expect(before.serverName == "localhost" && before.receive(until: "root").contains("200"))
            files.issue("renewed")
            try server.server.reloadCertificates()
            #expect(try TLSClient(server.address).serverName == "renewed")
            before.send(Self.request)
            #expect(before.receive(until: "root").contains("200"))
            unlink(files.keyFile)
            #expect { try server.server.reloadCertificates() } throws: {
                "\($0)" == "\(files.keyFile): No such file or directory"
            }
            #expect(try TLSClient(server.address).serverName == "renewed")
        }
    }

    @Test(arguments: [true, false]) func aClientCertificateIsVerified(isRequired: Bool) throws {
        try serving(clients: true, requires: isRequired) { (server, files) throws in
            let known = try TLSClient(server.address, identity: files.client("writer é"))
            known.send(Self.last)
            #expect(known.receive(until: "root").contains("200"))
            let foreign = TestCertificates()
            defer { foreign.remove() }
            let stranger = try TLSClient(server.address, identity: foreign.client("stranger"))
            stranger.send(Self.last)
            #expect(stranger.receive(until: "root").isEmpty)
            let nobody = try TLSClient(server.address)
            nobody.send(Self.last)
            #expect(nobody.receive(until: "root").isEmpty == isRequired)
        }
    }

    @Test func plainTextAndNoiseAreRefusedCleanly() throws {
        try serving { (server, _) throws in
            #expect(try server.ask(Self.request).hasPrefix("HTTP/1.1 400"))
            #expect(try server.ask("\u{16}\u{3}\u{1}\u{0}\u{5}noise").hasPrefix("HTTP") == false)
            #expect(try server.ask("").isEmpty)
        }
        let plain = try TestServer()
        #expect(try !TLSClient(plain.address).isConnected)
        #expect(eventually { plain.service.exchanges.withLock { $0.first?.status } == 400 })
    }

    @Test func aWrongFileIsNamedWithItsReason() throws {
        let files = TestCertificates()
        defer { files.remove() }
        let rows: [(TLSOptions, String)] = [
            (TLSOptions(certificateFile: "/none", keyFile: files.keyFile), "/none: No such file or directory"),
            (
                TLSOptions(certificateFile: files.keyFile, keyFile: files.keyFile),
                "\(files.keyFile): not a PEM certificate: no start line"
            ),
            (
                TLSOptions(certificateFile: files.authorityFile, keyFile: files.keyFile),
                "\(files.keyFile): not a PEM private key without a passphrase: key values mismatch"
            ),
            (
                TLSOptions(
                    certificateFile: files.certificateFile, keyFile: files.keyFile, clientAuthorityFile: files.keyFile),
                "\(files.keyFile): no PEM certificates found: no certificate or crl found"
            ),
        ]
        for (options, reason) in rows {
            #expect { try TLSContext(options) } throws: {
                if "\($0)" != reason { print("\($0)") }
                return "\($0)" == reason
            }
        }
    }
}
