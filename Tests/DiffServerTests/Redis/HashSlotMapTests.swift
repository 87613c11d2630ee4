import HTTPCore
import Testing

@testable import DiffRedis

@Suite struct HashSlotMapTests {
    private static let responder = ConnectAddress.tcp(host: "asked", port: 1)

    private static func node(_ host: String, _ port: Int64) -> RedisReply {
        .array([.text(host), .integer(port), .text("id"), .array([])])
    }

    private static func range(_ first: Int64, _ last: Int64, _ nodes: RedisReply...) -> RedisReply {
        .array([.integer(first), .integer(last)] + nodes)
    }

    private static func primary(_ host: String, _ port: UInt16) -> RedisAddress.Endpoint {
        .server(.tcp(host: host, port: port))
    }

    // Slots as given by `CLUSTER KEYSLOT`; the first is the check value of CRC-16/XMODEM.
    @Test(arguments: [
        ("123456789", 0x31C3), ("", 0), ("foo", 12182), ("bar", 5061), ("{user1000}.following", 3443),
        ("{user1000}.followers", 3443), ("user1000", 3443), ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015),
        ("foo{bar}{zap}", 5061), ("diffserver:{bar}", 5061), ("foo{bar", 15_278),
    ])
    func aKeyHasTheSlotOfItsTag(_ key: String, _ hashSlot: Int) {
        #expect(HashSlotMap.hashSlot(of: key.utf8) == hashSlot)
    }

    @Test func thereAreNoMoreRangesThanSlots() {
        let ranges = (0...HashSlotMap.hashSlotCount).map { Self.range(0, 0, Self.node("h\($0)", 1)) }
        #expect(HashSlotMap(.array(ranges), from: Self.responder) == nil)
    }

    @Test func onePrimaryHasAll() {
        let sole = HashSlotMap(sole: Self.primary("a", 1))
        #expect(sole.primary(of: "foo") == Self.primary("a", 1))
        #expect(sole.keys("k") == ["k"])
        #expect(sole.orphan == nil)
    }

    @Test func whatANodeSaysIsRead() throws {
        let map = try #require(
            HashSlotMap(
                .array([
                    Self.range(0, 5461, Self.node("a", 1), Self.node("r", 9)),
                    Self.range(5462, 10_000, Self.node("", 2), Self.node("?", 3)),
                    Self.range(10_001, 12_181, Self.node("a", 1), Self.node("r", 9)),
                    Self.range(12_183, 16_383, .array([.null, .integer(2)])),
                ]), from: Self.responder))
        #expect(map.primaries == [Self.primary("a", 1), Self.primary("asked", 2)])
        #expect(map.replicas == [.tcp(host: "r", port: 9), .tcp(host: "asked", port: 3)])
        #expect(map.primary(of: "bar") == Self.primary("a", 1))
        #expect(map.primary(of: "{user1000}") == Self.primary("a", 1))
        #expect(map.primary(of: "foo") == nil)
        #expect(map.orphan == 12_182)
    }

    @Test(arguments: [
        RedisReply.null, .array([]), .array([.integer(1)]), .array([range(0, 16_384, node("a", 1))]),
        .array([range(5, 4, node("a", 1))]), .array([range(-1, 4, node("a", 1))]), .array([range(0, 1)]),
        .array([range(0, 1, node("a", 0))]), .array([range(0, 1, node("a", 65_536))]), .array([range(0, 1, .null)]),
    ])
    func whatIsNoAnswerIsRefused(_ reply: RedisReply) {
        #expect(HashSlotMap(reply, from: Self.responder) == nil)
    }

    @Test func slotsMoveToOtherPrimariesAndToNewOnes() {
        var map = HashSlotMap(sole: Self.primary("a", 1))
        map.move(12_182, to: .tcp(host: "b", port: 1))
        map.move(0, to: .tcp(host: "c", port: 1))
        #expect(map.primaries == [Self.primary("a", 1), Self.primary("b", 1), Self.primary("c", 1)])
        #expect(map.primary(of: "foo") == Self.primary("b", 1))
        #expect(map.primary(of: "bar") == Self.primary("a", 1))
        map.move(12_182, to: .tcp(host: "c", port: 1))
        #expect(map.primaries == [Self.primary("a", 1), Self.primary("c", 1)], "who has nothing left is gone")
        #expect(map.primary(of: "foo") == Self.primary("c", 1))
        #expect(map.primary(of: "") == Self.primary("c", 1))
    }

    @Test func eachPrimaryHasAKeyOfAName() throws {
        let ranges = (0..<16).map { Self.range($0 * 1024, $0 * 1024 + 1023, Self.node("n", $0 % 5 + 1)) }
        let map = try #require(HashSlotMap(.array(ranges), from: Self.responder))
        let keys = map.keys("probe")
        #expect(Set(keys.map { map.primary(of: $0) }).count == 5)
        #expect(keys.count == 5)
    }
}
