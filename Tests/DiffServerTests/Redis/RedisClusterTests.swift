import Foundation
import Testing

@testable import DiffClock
@testable import DiffRedis
@testable import DiffStores
@testable import HTTPCore

/// Real clusters; one at a time, since each is up to six servers.
@Suite(.serialized, .enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct RedisClusterTests {
    private static let script = RedisScript(
        """
        redis.call('HSET', KEYS[1], 'b', ARGV[1])
        redis.call('PUBLISH', KEYS[1], ARGV[1])
        return redis.call('HLEN', KEYS[1])
        """)

    /// One key of each primary.
    private static let keys: [RedisArgument] = ["{bar}", "{user1000}", "{foo}", "a{}"]

    @Test func eachKeyIsItsPrimarys() async throws {
        let world = try ClusterWorld()
        let test = try TestClient("redis-cluster://127.0.0.1:\(world.primaries[2].port)")
        let subscriber = try TestSubscriber(world.address)
        for key in Self.keys {
            let name = String(decoding: key.bytes, as: UTF8.self)
            #expect(
                await test.run(Self.script, [key], ["1"], staging: ["HSET", key, "a", "1"]) == .success(.integer(2)))
            #expect(world.primary(of: name).cli("HGET", name, "a") == "1\n")
            #expect(
                world.primary(of: name).cli("CLUSTER", "KEYSLOT", name) == "\(HashSlotMap.hashSlot(of: key.bytes))\n")
        }
        #expect(Set(Self.keys.map { world.primary(of: String(decoding: $0.bytes, as: UTF8.self)).port }).count == 3)
        #expect(await eventually { test.client.isUp })
        for name in ["{bar}", "{foo}", "a{}"] { subscriber.subscribe(name) }
        #expect(await eventually { subscriber.heard.withLock { Set($0) == ["{bar}", "{foo}", "a{}"] } })
        #expect(await test.run(Self.script, ["{foo}"], ["2"]) == .success(.integer(2)))
        #expect(await eventually { subscriber.heard.withLock { $0.last == "{foo} 2" } })
    }

    @Test func aSlotThatMovesIsFollowedKeyByKey() async throws {
        let world = try ClusterWorld()
        let (old, new) = (world.primary(of: "{bar}"), world.primary(of: "{foo}"))
        let test = try TestClient(world.address)
        let subscriber = try TestSubscriber(world.address)
        subscriber.subscribe("there{bar}")
        #expect(await eventually { subscriber.heard.withLock { !$0.isEmpty } })
        #expect(await test.ask("HSET", "there{bar}", "a", "1") == .success(.integer(1)))

        world.beginMoving("{bar}", from: old, to: new)
        // The old primary serves existing keys, and the new one creates missing keys: each transaction as a whole.
        #expect(await commit(test, "there{bar}", "2") == .success(.integer(2)))
        #expect(await commit(test, "new{bar}", "2") == .success(.integer(2)))
        #expect(old.cli("EXISTS", "there{bar}") == "1\n")
        #expect(old.cli("CLUSTER", "COUNTKEYSINSLOT", "5061") == "1\n")
        #expect(new.cli("CLUSTER", "COUNTKEYSINSLOT", "5061") == "1\n")
        world.push("there{bar}", from: old, to: new)
        #expect(await commit(test, "there{bar}", "3") == .success(.integer(2)))
        #expect(await test.ask("HGET", "there{bar}", "b") == .success(.text("3")))
        #expect(old.cli("CLUSTER", "COUNTKEYSINSLOT", "5061") == "0\n")

        let confirmations = subscriber.heard.withLock { $0.count { $0 == "there{bar}" } }
        world.endMoving("{bar}", from: old, to: new)
        #expect(await commit(test, "there{bar}", "4") == .success(.integer(2)))
        // The primary that gave the slot away says so, and messages on the new one are heard.
        #expect(await eventually { new.cli("PUBSUB", "SHARDNUMSUB", "there{bar}") == "there{bar}\n1\n" })
        #expect(await commit(test, "there{bar}", "5") == .success(.integer(2)))
        #expect(await eventually { subscriber.heard.withLock { $0.last == "there{bar} 5" } })
        let both = subscriber.heard.withLock { $0.count { $0 == "there{bar}" } }
        #expect(both == confirmations + 1, "and it is confirmed anew")
    }

    @Test func aPrimaryThatIsNewIsFound() async throws {
        let world = try ClusterWorld()
        let test = try TestClient(world.address)
        #expect(await test.ask("SET", "{bar}", "1") == .success(.text("OK")))
        let (old, new) = (world.primary(of: "{bar}"), try world.joined())
        world.beginMoving("{bar}", from: old, to: new)
        #expect(await test.ask("SET", "new{bar}", "1") == .success(.text("OK")))
        world.push("{bar}", from: old, to: new)
        #expect(await test.ask("GET", "{bar}") == .success(.text("1")))
        world.endMoving("{bar}", from: old, to: new)
        #expect(await test.ask("GET", "{bar}") == .success(.text("1")))
        #expect(new.cli("DBSIZE") == "2\n")
        #expect(await eventually { test.client.isUp })
        #expect(test.client.topology.map.primaries.count == 4)
    }

    @Test func aReplicaIsFoundOnceItsPrimaryIsDead() async throws {
        let world = try ClusterWorld(withReplicas: true)
        let notices = Locked<[String]>([])
        let test = try TestClient(world.address) {
            $0.health = StoreHealth { line, _ in notices.withLock { $0.append(line) } }
        }
        let subscriber = try TestSubscriber(world.address)
        subscriber.subscribe("{foo}")
        #expect(await eventually { subscriber.heard.withLock { !$0.isEmpty } })
        #expect(await test.ask("SET", "{foo}", "1") == .success(.text("OK")))
        #expect(await test.send(RedisCommand("WAIT", "1", "60000"), about: "{foo}") == .success(.integer(1)))
        world.noticeDeathsSoon()
        world.primary(of: "{foo}").kill()
        let killed = ContinuousClock.now
        #expect(await test.answers(.text("OK"), "SET", "{foo}", "2", about: "{foo}"))
        print("writes again \(ContinuousClock.now - killed) after the primary was killed")
        #expect(await eventually { world.replicas[2].cli("PUBSUB", "SHARDNUMSUB", "{foo}") == "{foo}\n1\n" })
        #expect(world.replicas[2].cli("SPUBLISH", "{foo}", "x") == "1\n")
        #expect(await eventually { subscriber.heard.withLock { $0.suffix(2) == ["{foo}", "{foo} x"] } })
        #expect(await eventually { test.client.isUp })
        #expect(await eventually { notices.withLock { $0.last?.hasPrefix("store available again") == true } })
    }

    private func commit(_ test: TestClient, _ key: RedisArgument, _ value: RedisArgument) async -> Result<
        RedisReply, RedisFailure
    > {
        await test.run(Self.script, [key], [value], staging: ["HSET", key, "a", value])
    }
}
