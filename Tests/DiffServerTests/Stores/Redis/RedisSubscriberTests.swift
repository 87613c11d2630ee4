import Foundation
import Testing

@testable import HTTPCore
@testable import diffserver

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
            // Once each, in whichever order they were asked for.
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
        let test = try TestSubscriber("unix:\(server.socket)")
        for channel in ["a", "b", "a"] { test.subscribe(channel) }
        test.onLoop { $0.unsubscribe("b") }
        try await Task.sleep(for: .milliseconds(100))
        #expect(await test.hears([]))
        try server.start()
        #expect(await eventually { server.cli("PUBLISH", "a", "1") == "1\n" })
        #expect(server.cli("PUBLISH", "b", "1") == "0\n")
        #expect(await test.hears(["a", "a 1"]))
    }

    @Test func aSilentServerIsNoticed() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)") {
            $0.commandTimeout = .milliseconds(400)
            $0.connectTimeout = .milliseconds(400)
        }
        test.subscribe("a")
        #expect(await test.hears(["a"]))
        try await Task.sleep(for: .milliseconds(1000))
        #expect(test.heard.withLock { $0 } == ["a"], "pings are answered")
        server.pause()
        try await Task.sleep(for: .milliseconds(1500))
        server.resume()
        #expect(await test.hears(["a", "a"]))
    }
}
