import Foundation
import Testing

@testable import DiffClock
@testable import DiffRedis
@testable import DiffStores
@testable import HTTPCore

/// Two nodes of a cluster with scripted answers.
@Suite struct RedisClientRoutingTests {
    private static let script = RedisScript("return redis.call('PUBLISH', KEYS[1], '')")

    // As Redis does: each command is refused and then the transaction, or only that if the slot moved meanwhile.
    @Test(
        arguments: ["MOVED 12182", "ASK 12182"],
        ["-ERROR\r\n-ERROR\r\n-EXECABORT Discarded", "+QUEUED\r\n+QUEUED\r\n-ERROR"])
    func aTransactionIsRedirectedAsAWhole(_ word: String, _ answers: String) async throws {
        let pair = NodePair { pair, request in
            request.contains("EXEC")
                ? "+OK\r\n\(answers.replacing("ERROR", with: "\(word) \(pair.second)"))\r\n" : nil
        } second: { request in
            guard request.contains("EXEC") else { return nil }
            return (request.contains("ASKING") ? "+OK\r\n" : "") + "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:7\r\n"
        }
        let test = try TestClient(pair.address)
        #expect(await eventually { test.client.isUp })
        let answer = await test.run(Self.script, ["foo"], [], staging: ["HSET", "foo", "a", "1"])
        #expect(answer == .success(.integer(7)))
        let heard = pair.heard.withLock { $0.filter { $0.contains("EXEC") } }
        #expect(heard.count == 2)
        let once = heard.first.map { $0.dropFirst(2) } ?? ""
        let asking = word.hasPrefix("ASK") ? "*1\r\n$6\r\nASKING\r\n" : ""
        #expect(heard.last == "2 \(asking)\(once)")
        #expect(once.hasPrefix("*1\r\n$5\r\nMULTI\r\n"))
    }

    @Test func aNodeThatIsAskedSoonerThanItCanAnswerIsAskedAgain() async throws {
        let tries = Locked(0)
        let pair = NodePair { _, request in
            guard request.contains("GET") else { return nil }
            let count = tries.withLock { tries in
                tries += 1
                return tries
            }
            return count < 3 ? "-TRYAGAIN Multiple keys request during rehashing of slot\r\n" : "$1\r\na\r\n"
        }
        let test = try TestClient(pair.address)
        #expect(await eventually { test.client.isUp })
        #expect(await test.ask("GET", "foo") == .success(.text("a")))
        #expect(tries.withLock { $0 } == 3)
    }

    @Test(arguments: [
        ("CLUSTERDOWN The cluster is down", 1), ("TRYAGAIN Multiple keys", 8), ("MOVED 12182 :PORT", 8),
        ("ASK 12182 :PORT", 8),
    ])
    func whatNobodyTakesIsUnavailable(_ error: String, _ times: Int) async throws {
        let pair = NodePair { pair, request in
            guard request.contains("GET") else { return nil }
            let asked = request.contains("ASKING") ? "+OK\r\n" : ""
            return "\(asked)-\(error.replacing("PORT", with: "\(pair.ports.0)"))\r\n"
        }
        let test = try TestClient(pair.address)
        #expect(await eventually { test.client.isUp })
        guard case .failure(.unavailable(let reason)) = await test.ask("GET", "foo") else {
            Issue.record("an answer")
            return
        }
        #expect(reason.hasPrefix(error.prefix { $0 != ":" }))
        #expect(pair.heard.withLock { $0.count { $0.contains("GET") } } == times)
    }

    @Test func aScriptThatOnlyTheNewNodeDoesNotKnowIsSentWhole() async throws {
        let pair = NodePair { pair, request in
            request.contains("EVAL") ? "-ASK 12182 \(pair.second)\r\n" : nil
        } second: { request in
            guard request.contains("EVAL") else { return nil }
            return "+OK\r\n" + (request.contains("EVALSHA") ? "-NOSCRIPT No matching script\r\n" : ":1\r\n")
        }
        let test = try TestClient(pair.address)
        #expect(await eventually { test.client.isUp })
        #expect(await test.run(Self.script, ["foo"], []) == .success(.integer(1)))
        let whole = pair.heard.withLock { $0.last { $0.contains("EVAL") } }
        #expect(whole?.contains("redis.call('SPUBLISH', KEYS[1], '')") == true)
    }

    @Test func aSlotThatNobodyHasIsUnavailableAndSaid() async throws {
        let notices = Locked<[String]>([])
        let pair = NodePair(slots: 0...12_181) { _, request in request.contains("GET") ? "$1\r\na\r\n" : nil }
        let test = try TestClient(pair.address) {
            $0.health = StoreHealth { line, _ in notices.withLock { $0.append(line) } }
        }
        #expect(await eventually { notices.withLock { $0.count == 1 } })
        #expect(notices.withLock { $0 } == ["store unavailable: redis: no primary serves slot 12182"])
        #expect(!test.client.isUp)
        #expect(await test.ask("GET", "bar") == .success(.text("a")))
        guard case .failure(.unavailable) = await test.ask("GET", "foo") else {
            Issue.record("an answer")
            return
        }
    }
}

/// Two cluster nodes; the first has all or some slots, and both report that.
private final class NodePair: Sendable {
    let ports = (RedisServer.freePort(), RedisServer.freePort())
    /// Requests received, each after its node's number.
    let heard = Locked<[String]>([])
    private let servers = Locked<[FakeServer]>([])

    var address: String { "redis-cluster://127.0.0.1:\(ports.0)" }
    /// The second's address, as in a redirection.
    var second: String { "127.0.0.1:\(ports.1)" }

    /// - Parameters:
    ///   - first: the first node's answers; nil for those that any node gives.
    init(
        slots: ClosedRange<Int> = 0...16_383, _ first: @escaping @Sendable (NodePair, String) -> String?,
        second: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        let common = { @Sendable [port = ports.0] (request: String) in
            request.contains("SLOTS")
                ? "*1\r\n*3\r\n:\(slots.lowerBound)\r\n:\(slots.upperBound)\r\n*2\r\n$0\r\n\r\n:\(port)\r\n"
                : "+OK\r\n+PONG\r\n"
        }
        let one = FakeServer(port: ports.0) { [weak self] _, request in
            guard let self else { return nil }
            heard.withLock { $0.append("1 " + request) }
            return first(self, request) ?? common(request)
        }
        let two = FakeServer(port: ports.1) { [heard] _, request in
            heard.withLock { $0.append("2 " + request) }
            return second(request) ?? common(request)
        }
        servers.withLock { $0 = [one, two] }
    }
}
