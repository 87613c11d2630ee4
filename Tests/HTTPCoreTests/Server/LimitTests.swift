import CDiffSystem
import Testing

@testable import HTTPCore

/// Limits and addresses that only real sockets have.
@Suite struct LimitTests {
    private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func oneConnectionPastTheLimitHears503() throws {
        let server = try TestServer { $0.maxConnections = 3 }
        var clients: [Client] = []
        for _ in 0..<3 {
            let client = try Client(server.address)
            client.send(Self.request)
            #expect(client.receive(until: "root").contains("200"))
            clients.append(client)
        }
        let fourth = try Client(server.address)
        fourth.send(Self.request)
        let answer = fourth.receiveToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 503") && answer.contains("Connection: close"))
        clients.removeFirst()
        #expect(eventually { server.server.counters.openConnections <= 2 })
        let fifth = try Client(server.address)
        fifth.send(Self.request)
        #expect(fifth.receive(until: "root").contains("200"))
        #expect(server.server.counters.refusedConnections == 1)
    }

    @Test func aStreamThatNobodyReadsEndsAndHoldsLittle() throws {
        let server = try TestServer { $0.connectionLimits.writeStall = .milliseconds(300) }
        let client = try Client(server.address, receiveBuffer: 4096)
        client.send("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(eventually { server.service.streamsClosed.load(ordering: .relaxed) == 1 })
        let sent = server.service.exchanges.withLock { $0.first?.bytesOut ?? 0 }
        #expect(sent > 0 && sent < 3_000_000)
    }

    @Test func aClientThatLeavesEndsItsStream() throws {
        let server = try TestServer()
        var client: Client? = try Client(server.address)
        client?.send("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client?.receive() != nil)
        client = nil
        #expect(eventually { server.service.streamsClosed.load(ordering: .relaxed) == 1 })
        #expect(eventually { server.server.counters.openConnections == 0 })
    }

    @Test func everyKindOfAddressIsListenedOn() async throws {
        let path = "/tmp/httpcore-test-\(getpid()).sock"
        let service = TestService()
        var options = ServerOptions.ofTests(listen: [
            .tcp(host: "::1", port: 0), .unix(path: path), .tcp(host: "", port: 0),
        ])
        options.loops = 2
        let server = Server(options: options, service: service)
        let addresses = try server.start()
        #expect(addresses.count == 3)
        let local = SocketAddress.v4(address: 0x7F00_0001, port: try #require(addresses[2].port))
        for (address, peer) in [
            (addresses[0], "::1 true false"), (addresses[1], "\(path) true true"), (local, "127.0.0.1 true false"),
        ] {
            let client = try Client(address)
            client.send("GET /peer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(client.receiveToEnd().hasSuffix("\r\n\r\n" + peer))
        }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
        #expect(throws: ListenError.self) {
            try Server(options: ServerOptions.ofTests(listen: [.unix(path: path)]), service: service).start()
        }
        await server.drain(within: .seconds(1))
        #expect(access(path, F_OK) != 0)
    }

    @Test func aStaleUnixSocketIsReplacedAndAnotherFileIsNot() async throws {
        let path = "/tmp/httpcore-stale-\(getpid()).sock"
        let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #expect(SocketAddress.unix(path: path).withRaw { bind(stale, $0, $1) } == 0)
        close(stale)
        let server = Server(options: ServerOptions.ofTests(listen: [.unix(path: path)]), service: TestService())
        #expect(throws: Never.self) { try server.start() }
        await server.drain(within: .seconds(1))
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        #expect(throws: ListenError.self) {
            try Server(options: ServerOptions.ofTests(listen: [.unix(path: path)]), service: TestService()).start()
        }
        #expect(access(path, F_OK) == 0)
        unlink(path)
    }

    @Test func anInheritedSocketIsServed() throws {
        let address = SocketAddress.v4(address: 0x7F00_0001, port: 0)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(address.withRaw { bind(descriptor, $0, $1) } == 0 && listen(descriptor, 16) == 0)
        let server = try TestServer { $0.listen = [.inherited(descriptor: descriptor)] }
        for _ in 0..<20 { #expect(try server.ask(Self.request).hasSuffix("root")) }
        #expect(throws: ListenError.self) { try TestServer { $0.listen = [.inherited(descriptor: 0)] } }
    }

    @Test func socketsOfSystemdAreForThisProcessOnly() {
        setenv("LISTEN_FDS", "2", 1)
        setenv("LISTEN_PID", "1", 1)
        #expect(ListenAddress.activated() == [])
        setenv("LISTEN_FDS", "2", 1)
        setenv("LISTEN_PID", "\(getpid())", 1)
        #expect(ListenAddress.activated() == [.inherited(descriptor: 3), .inherited(descriptor: 4)])
        #expect(getenv("LISTEN_FDS") == nil && ListenAddress.activated() == [])
    }

    @Test func addressesAreReadAsAPersonWritesThem() {
        let rows: [(String, ListenAddress?)] = [
            ("127.0.0.1:80", .tcp(host: "127.0.0.1", port: 80)), ("[::1]:80", .tcp(host: "::1", port: 80)),
            (":0", .tcp(host: "", port: 0)), ("localhost:65535", .tcp(host: "localhost", port: 65535)),
            ("unix:/a", .unix(path: "/a")),
            ("::1:80", nil), ("80", nil), ("a:65536", nil), ("a:", nil), ("unix:", nil), ("", nil),
        ]
        for (text, address) in rows { #expect(ListenAddress(text) == address, "\(text)") }
    }

    @Test func loopbackIsKnownInAllItsClothes() {
        #expect(SocketAddress.v4(address: 0x7F12_3456, port: 1).isLoopback)
        #expect(!SocketAddress.v4(address: 0x8000_0001, port: 1).isLoopback)
        #expect(SocketAddress.v6(high: 0, low: 1, port: 1, scope: 0).isLoopback)
        #expect(!SocketAddress.v6(high: 0, low: 2, port: 1, scope: 0).isLoopback)
        let mapped = SocketAddress.v6(high: 0, low: 0xFFFF_7F00_0001, port: 1, scope: 0)
        #expect(mapped.isLoopback && mapped.host == "127.0.0.1")
        #expect(SocketAddress.v6(high: 0xFE80 << 48, low: 1, port: 5, scope: 2).description == "[fe80::1%2]:5")
    }
}
