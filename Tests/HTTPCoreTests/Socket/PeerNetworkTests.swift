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
        // What only resembles a mapped address is none.
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
