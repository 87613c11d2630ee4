import Foundation
import Testing

@testable import DiffRedis
@testable import HTTPCore

@Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct RedisSentinelTests {
    @Test func theReplicaIsFoundOnceThePrimaryIsDead() async throws {
        let world = try SentinelWorld()
        let test = try TestClient(world.address)
        let subscriber = try TestSubscriber(world.address)
        subscriber.subscribe("a")
        #expect(await subscriber.hears(["a"]))
        #expect(await test.send("SET", "a", "1") == .success(.text("OK")))
        #expect(await test.send("WAIT", "1", "60000") == .success(.integer(1)))
        world.noticeDeathsSoon()
        world.primary.kill()
        let killed = ContinuousClock.now
        #expect(await test.answers(.text("OK"), "SET", "b", "2"))
        print("writes again \(ContinuousClock.now - killed) after the primary was killed")
        #expect(await test.send("GET", "a") == .success(.text("1")))
        #expect(world.replica.cli("ROLE").hasPrefix("master"))
        #expect(await subscriber.hears(["a", "a"]))
        #expect(await test.send("PUBLISH", "a", "x") == .success(.integer(1)))
        #expect(await subscriber.hears(["a", "a", "a x"]))
    }

    @Test func deadSentinelsAreLeftOutAndAnUnknownPrimaryIsUnavailable() async throws {
        let world = try SentinelWorld()
        let dead = "127.0.0.1:1"
        let test = try TestClient("redis-sentinel://\(dead),127.0.0.1:\(world.sentinels[2].port)/main")
        #expect(await test.send("PING") == .success(.text("PONG")))
        let unknown = try TestClient("redis-sentinel://\(dead),127.0.0.1:\(world.sentinels[2].port)/other")
        guard case .failure(.unavailable(let reason)) = await unknown.send("PING") else {
            Issue.record("found")
            return
        }
        #expect(reason.contains("knows no primary"))
    }

    @Test func aReplicaThatASentinelNamesIsNotTaken() async throws {
        let primary = try RedisServer()
        let replica = try RedisServer(["replicaof 127.0.0.1 \(primary.port)"])
        let sentinel = FakeServer { _, _ in
            let port = "\(replica.port)"
            return "*2\r\n$9\r\n127.0.0.1\r\n$\(port.utf8.count)\r\n\(port)\r\n"
        }
        var address = RedisAddress("redis-sentinel://a/main")!
        address.endpoint = .sentinels([.unix(path: sentinel.path)], primary: "main")
        let test = try TestClient(address)
        let outcome = await test.send("SET", "a", "1")
        guard case .failure(.unavailable(let reason)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.hasSuffix("not a primary but a slave"))
    }
}

/// A primary, a replica with its data, and three sentinels that know both.
final class SentinelWorld: Sendable {
    let primary: RedisServer
    let replica: RedisServer
    let sentinels: [RedisServer]

    var address: String { "redis-sentinel://\(sentinels.map { "127.0.0.1:\($0.port)" }.joined(separator: ","))/main" }

    init() throws {
        let primary = try RedisServer()
        let replica = try RedisServer(["replicaof 127.0.0.1 \(primary.port)"])
        (self.primary, self.replica) = (primary, replica)
        sentinels = try (0..<3).map { _ in
            try RedisServer(
                asSentinel: true,
                [
                    "sentinel monitor main 127.0.0.1 \(primary.port) 2", "sentinel down-after-milliseconds main 60000",
                    "sentinel failover-timeout main 2000",
                ])
        }
        let isReady = eventually {
            let isReplicated = replica.cli("INFO", "replication").contains("master_link_status:up")
            let isKnown = sentinels.allSatisfy { sentinel in
                let state = sentinel.cli("SENTINEL", "MASTER", "main")
                return state.contains("num-slaves\n1\n") && state.contains("num-other-sentinels\n2\n")
            }
            return isReplicated && isKnown
        }
        if !isReady { throw RedisServer.Failure(log: sentinels[0].cli("SENTINEL", "MASTER", "main")) }
    }

    /// From now on half a second of silence counts as a failure. Earlier, a busy machine might cause one.
    func noticeDeathsSoon() {
        for sentinel in sentinels { sentinel.ask("SENTINEL", "SET", "main", "down-after-milliseconds", "500") }
    }
}
