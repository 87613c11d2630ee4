import Foundation
import Testing

@testable import DiffRedis
@testable import DiffClock
@testable import DiffStores
@testable import HTTPCore

@Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct RedisSubscriberTests {
    @Test func whatIsSaidBehindTheConfirmationIsHeard() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)")
        test.subscribe("a")
        #expect(await test.hears(["a"]))
        #expect(server.cli("PUBLISH", "a", "1") == "1\n")
        test.subscribe("b")
        #expect(await test.hears(["a", "a 1", "b"]))
        test.subscribe("b")
        #expect(await test.hears(["a", "a 1", "b", "b"]), "it is confirmed already")
        #expect(server.cli("PUBLISH", "b", "2") == "1\n")
        test.onLoop { $0.unsubscribe("a") }
        #expect(await eventually { server.cli("PUBSUB", "NUMSUB", "a") == "a\n0\n" })
        #expect(server.cli("PUBLISH", "a", "3") == "0\n")
        #expect(server.cli("PUBLISH", "b", "4") == "1\n")
        #expect(await test.hears(["a", "a 1", "b", "b", "b 2", "b 4"]))
    }

    @Test func onAndOffInOneTurnIsCounted() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)")
        test.subscribe("other")
        #expect(await test.hears(["other"]))
        test.onLoop { subscriber in
            for _ in 0..<2 {
                subscriber.subscribe("a")
                subscriber.unsubscribe("a")
            }
            subscriber.subscribe("a")
        }
        #expect(await test.hears(["other", "a"]), "only the last is confirmed")
        #expect(server.cli("PUBLISH", "a", "1") == "1\n")
        #expect(await test.hears(["other", "a", "a 1"]))
        test.onLoop { subscriber in
            subscriber.unsubscribe("a")
            subscriber.subscribe("a")
            subscriber.unsubscribe("a")
        }
        #expect(await eventually { server.cli("PUBSUB", "NUMSUB", "a") == "a\n0\n" })
        #expect(server.cli("PUBLISH", "a", "2") == "0\n")
        #expect(await test.hears(["other", "a", "a 1"]))
    }

    @Test func everythingIsSubscribedAgainBehindALoss() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)")
        let channels = (0..<2500).map { "c\($0)" } + ["last"]
        for channel in channels { test.subscribe(channel) }
        for times in 1...2 {
            // Each message once, in any order.
            #expect(await eventually { test.heard.withLock { $0.count == times * channels.count } })
            #expect(test.heard.withLock { Set($0.suffix(channels.count)) } == Set(channels))
            guard times == 1 else { break }
            server.kill()
            try server.start()
        }
        #expect(server.cli("PUBSUB", "NUMSUB", "last", "c2499") == "last\n1\nc2499\n1\n")
        #expect(server.cli("PUBLISH", "last", "2") == "1\n")
        #expect(await eventually { test.heard.withLock { $0.last == "last 2" } })
    }

    @Test func aChannelIsWantedBeforeThereIsAConnection() async throws {
        let server = try RedisServer()
        server.kill()
        let notices = Locked<[String]>([])
        let test = try TestSubscriber("unix:\(server.socket)") {
            $0.health = StoreHealth { line, _ in notices.withLock { $0.append(line) } }
        }
        for channel in ["a", "b", "a"] { test.subscribe(channel) }
        test.onLoop { $0.unsubscribe("b") }
        #expect(await eventually { notices.withLock { !$0.isEmpty } })
        #expect(test.heard.withLock { $0 } == [])
        try server.start()
        #expect(await eventually { server.cli("PUBLISH", "a", "1") == "1\n" })
        #expect(server.cli("PUBLISH", "b", "1") == "0\n")
        #expect(await test.hears(["a", "a 1"]))
    }

    @Test func aSilentServerIsNoticed() async throws {
        let server = try RedisServer()
        let notices = Locked<[String]>([])
        let test = try TestSubscriber("unix:\(server.socket)") {
            // Long enough for a server to answer, however busy the machine is.
            $0.commandTimeout = .seconds(2)
            $0.health = StoreHealth { line, _ in notices.withLock { $0.append(line) } }
        }
        test.subscribe("a")
        #expect(await test.hears(["a"]))
        // A PING is followed by another only if answered.
        let pings = {
            server.ask("INFO", "commandstats").firstMatch(of: /cmdstat_ping:calls=(\d+)/).flatMap { Int($0.1) }
        }
        let before = try #require(pings())
        #expect(await eventually { pings() ?? 0 >= before + 2 })
        #expect(test.heard.withLock { $0 } == ["a"] && notices.withLock { $0 } == [])
        server.pause()
        #expect(await eventually { notices.withLock { $0.first?.contains("no answer within") == true } })
        server.resume()
        #expect(await test.hears(["a", "a"]))
    }
}
