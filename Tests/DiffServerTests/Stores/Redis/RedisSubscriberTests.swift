import Foundation
import Testing

@testable import HTTPCore
@testable import diffserver

@Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct RedisSubscriberTests {
    @Test func whatIsSaidBehindTheConfirmationIsHeard() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)")
        #expect(await test.subscribe("a") == nil)
        #expect(server.cli("PUBLISH", "a", "1") == "1\n")
        #expect(await test.subscribe("b") == nil)
        #expect(await test.subscribe("b") == nil)
        #expect(server.cli("PUBLISH", "b", "2") == "1\n")
        #expect(await test.hears(["a 1", "b 2"]))
        test.subscriber.unsubscribe("a")
        #expect(await eventually { server.cli("PUBLISH", "a", "3") == "0\n" })
        #expect(server.cli("PUBLISH", "b", "4") == "1\n")
        #expect(await test.hears(["a 1", "b 2", "b 4"]))
    }

    @Test func onAndOffInOneTurnIsCounted() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)")
        #expect(await test.subscribe("other") == nil)
        let outcomes = Locked<[RedisFailure?]>([])
        let subscriber = test.subscriber
        subscriber.loop.execute {
            subscriber.subscribe("a") { failure in outcomes.withLock { $0.append(failure) } }
            subscriber.unsubscribe("a")
            subscriber.subscribe("a") { failure in outcomes.withLock { $0.append(failure) } }
            subscriber.unsubscribe("a")
            subscriber.subscribe("a") { failure in outcomes.withLock { $0.append(failure) } }
        }
        #expect(await eventually { outcomes.withLock { $0.count == 3 } })
        #expect(outcomes.withLock { $0 } == [.unavailable("unsubscribed"), .unavailable("unsubscribed"), nil])
        #expect(server.cli("PUBLISH", "a", "1") == "1\n")
        #expect(await test.hears(["a 1"]))
    }

    @Test func everythingIsSubscribedAgainBehindALoss() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)")
        for name in 0..<2500 { test.subscriber.subscribe("c\(name)") { _ in } }
        #expect(await test.subscribe("last") == nil)
        #expect(server.cli("PUBLISH", "c7", "1") == "1\n")
        server.kill()
        try server.start()
        #expect(await test.hears(["c7 1", "renewed"]))
        #expect(server.cli("PUBSUB", "NUMSUB", "last", "c2499") == "last\n1\nc2499\n1\n")
        #expect(server.cli("PUBLISH", "last", "2") == "1\n")
        #expect(await test.hears(["c7 1", "renewed", "last 2"]))
    }

    @Test func aChannelWithoutAConnectionIsRefusedAndStillWanted() async throws {
        let server = try RedisServer()
        server.kill()
        let test = try TestSubscriber("unix:\(server.socket)")
        #expect(await test.subscribe("a") != nil)
        #expect(await test.subscribe("a") != nil)
        try server.start()
        #expect(await eventually { server.cli("PUBLISH", "a", "1") == "1\n" })
        #expect(await test.hears(["renewed", "a 1"]))
    }

    @Test func aSilentServerIsNoticed() async throws {
        let server = try RedisServer()
        let test = try TestSubscriber("unix:\(server.socket)") {
            $0.commandTimeout = .milliseconds(400)
            $0.connectTimeout = .milliseconds(400)
        }
        #expect(await test.subscribe("a") == nil)
        try await Task.sleep(for: .milliseconds(1000))
        #expect(test.heard.withLock { $0 } == [], "pings are answered")
        server.pause()
        try await Task.sleep(for: .milliseconds(1500))
        server.resume()
        #expect(await test.hears(["renewed"]))
    }
}
