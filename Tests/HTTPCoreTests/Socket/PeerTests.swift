import CDiffSystem
import Dispatch
import Testing

@testable import HTTPCore

@Suite struct PeerNetworkTests {
    private static let documentation: UInt64 = 0x2001_0DB8_0000_0001

    private static let table: [(SocketAddress, PeerNetwork?)] = [
        (.v4(address: 0x7F00_0001, port: 1), .v4(0x7F00_0001)),
        (.v4(address: 0x7F00_0002, port: 1), .v4(0x7F00_0002)),
        (.v4(address: 0x7F00_0001, port: 65_535), .v4(0x7F00_0001)),
        (.v4(address: 0, port: 1), .v4(0)),
        // ::ffff:192.0.2.1 is 192.0.2.1, on whatever interface.
        (.v6(high: 0, low: 0xFFFF_C000_0201, port: 1, scope: 0), .v4(0xC000_0201)),
        (.v6(high: 0, low: 0xFFFF_C000_0201, port: 1, scope: 3), .v4(0xC000_0201)),
        // An address that only resembles a mapped one is not mapped.
        (.v6(high: 0, low: 0xFFFE_C000_0201, port: 1, scope: 0), .v6(prefix: 0, scope: 0)),
        (.v6(high: 0, low: 0x1_FFFF_C000_0201, port: 1, scope: 0), .v6(prefix: 0, scope: 0)),
        (.v6(high: 1, low: 0xFFFF_C000_0201, port: 1, scope: 0), .v6(prefix: 1, scope: 0)),
        (.v6(high: 0, low: 1, port: 1, scope: 0), .v6(prefix: 0, scope: 0)),
        // The first and the last address of a /64, and its neighbour.
        (.v6(high: documentation, low: 0, port: 1, scope: 0), .v6(prefix: documentation, scope: 0)),
        (.v6(high: documentation, low: .max, port: 2, scope: 0), .v6(prefix: documentation, scope: 0)),
        (.v6(high: documentation + 1, low: 0, port: 1, scope: 0), .v6(prefix: documentation + 1, scope: 0)),
        // Every link has fe80::/64.
        (.v6(high: 0xFE80 << 48, low: 1, port: 1, scope: 2), .v6(prefix: 0xFE80 << 48, scope: 2)),
        (.v6(high: 0xFE80 << 48, low: 1, port: 1, scope: 3), .v6(prefix: 0xFE80 << 48, scope: 3)),
        (.unix(path: "/run/a.sock"), nil), (.unix(path: ""), nil),
    ]

    @Test(arguments: table) func `an address belongs to one peer`(_ address: SocketAddress, _ network: PeerNetwork?) {
        #expect(PeerNetwork(address) == network)
        #expect(Peer(remote: address).network == network)
    }
}

@Suite struct PeerConnectionsTests {
    private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Slots that are held until the value is released.
    private final class Places {
        private(set) var permits: [Held] = []

        final class Held {
            let permit: PeerPermit
            init(_ permit: consuming PeerPermit) { self.permit = permit }
        }

        /// Takes one more slot; returns whether it is for a served connection, or nil if there is none.
        func take(_ connections: PeerConnections, _ network: PeerNetwork) -> Bool? {
            guard let permit = connections.permit(for: network) else { return nil }
            permits.append(Held(permit))
            return permits.last?.permit.isServed
        }

        func giveBack(_ count: Int) { permits.removeFirst(count) }
    }

    @Test(arguments: [1, 3, 100]) func `so many are served, some are told, and more are not heard`(_ limit: Int) {
        let connections = PeerConnections(limit: limit)
        let (permits, others) = (Places(), Places())
        let one = PeerNetwork.v4(1)
        for _ in 0..<limit { #expect(permits.take(connections, one) == true) }
        for _ in 0..<PeerConnections.overflow { #expect(permits.take(connections, one) == false) }
        for _ in 0..<3 { #expect(permits.take(connections, one) == nil) }
        #expect(connections.inUse == (limit + PeerConnections.overflow, 1), "what was not heard takes nothing")
        #expect(others.take(connections, .v4(2)) == true, "another's room is its own")
        #expect(others.take(connections, .v6(prefix: 1, scope: 0)) == true)
        permits.giveBack(1)
        #expect(permits.take(connections, one) == true, "those that are told so take no slot of one that is served")
        #expect(permits.take(connections, one) == nil)
        permits.giveBack(permits.permits.count)
        #expect(connections.inUse == (2, 2), "who has none is forgotten")
        #expect(permits.take(connections, one) == true)
    }

    @Test func `permits are taken and given back on many threads`() {
        let connections = PeerConnections(limit: 5)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            let permits = Places()
            for round in 0..<5000 {
                _ = permits.take(connections, .v4(UInt32(round % 3)))
                if round % 4 == thread { permits.giveBack(permits.permits.count / 2) }
            }
        }
        #expect(connections.inUse == (0, 0))
    }

    // MARK: A server

    /// A client's connection from this source address.
    private func client(_ server: TestServer, from source: UInt32) throws -> Client {
        try Client(server.address, from: .v4(address: source, port: 0))
    }

    private static let (here, there) = (UInt32(0x7F00_0001), UInt32(0x7F00_0002))

    private func isServed(_ client: Client) -> Bool {
        client.send(Self.request)
        return client.receive(until: "root").hasSuffix("root")
    }

    @Test func `one connection of an address past its limit hears 503, and another address is served`() throws {
        let server = try TestServer { $0.maxPeerConnections = 2 }
        let two = try (0..<2).map { _ in try client(server, from: Self.here) }
        for each in two { #expect(isServed(each)) }
        let third = try client(server, from: Self.here)
        third.send(Self.request)
        let answer = third.receiveToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 503") && answer.contains("Connection: close"))
        #expect(answer.hasSuffix("tooManyOfPeer(limit: 2)"))
        #expect(isServed(try client(server, from: Self.there)))
        #expect(server.server.counters.refusedConnectionsOfPeers == 1)
        #expect(server.server.counters.refusedConnections == 0, "the server itself has room")
    }

    /// Opens and closes connections in every possible way, then checks that just as many as before can be served.
    @Test func `each connection gives its permit back, however it ends`() throws {
        let limit = 4
        let server = try TestServer {
            $0.maxPeerConnections = limit
            $0.connectionLimits.headTimeout = .milliseconds(50)
        }
        for round in 0..<40 {
            var clients: [Client] = []
            for number in 0..<limit + PeerConnections.overflow + 8 {
                let client = try client(server, from: Self.here)
                switch (round + number) % 6 {
                case 0: client.send(Self.request)
                case 1: client.send("GET /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
                case 2: client.send("nonsense\r\n\r\n")
                case 3: client.send("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n")
                case 4: client.finishSending()
                default: client.send("GET /he")
                }
                if number % 2 == 0 { client.abort() }
                clients.append(client)
            }
        }
        #expect(eventually { server.server.counters.openConnections == 0 })
        #expect(server.server.counters.refusedConnectionsOfPeers > 0)
        // The count of open connections is lowered just before a slot is given back, and a client on a busy machine may
        // be too slow for the head's time limit.
        var served: [Client] = []
        let isOneMoreServed = {
            guard let client = try? client(server, from: Self.here), isServed(client) else { return false }
            served.append(client)
            return true
        }
        for _ in 0..<limit { #expect(eventually(isOneMoreServed)) }
        let more = try client(server, from: Self.here)
        more.send(Self.request)
        #expect(more.receiveToEnd().hasPrefix("HTTP/1.1 503"))
    }

    @Test func `Unix sockets have no limit`() async throws {
        let path = "/tmp/httpcore-peers-\(getpid()).sock"
        let server = try TestServer {
            $0.listen = [.unix(path: path)]
            $0.maxPeerConnections = 1
        }
        let clients = try (0..<5).map { _ in try Client(server.address) }
        for each in clients { #expect(isServed(each)) }
        await server.server.drain(within: .seconds(1))
    }
}
