import Foundation
import Testing

@testable import DiffClock
@testable import DiffRedis
@testable import DiffStores
@testable import HTTPCore

@Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct RedisClientTests {
    @Test(arguments: [false, true])
    func repliesComeInTheOrderOfTheirCommands(overUnix: Bool) async throws {
        let server = try RedisServer()
        let test = try TestClient(overUnix ? "unix:\(server.socket)" : "redis://localhost:\(server.port)")
        let heard = Locked<[Int64]>([])
        await withCheckedContinuation { continuation in
            // This thread sends each command in a separate turn, the loop sends all in one.
            for _ in 0..<100 { test.client.send(RedisCommand("INCR", "n")) { heard.note($0) } }
            test.client.loop.execute {
                for _ in 0..<1000 { test.client.send(RedisCommand("INCR", "n")) { heard.note($0) } }
                test.client.send(RedisCommand("PING")) { _ in continuation.resume() }
            }
        }
        #expect(heard.withLock { $0 } == Array(1...1100))
    }

    @Test func largeAndBinaryValuesPass() async throws {
        let server = try RedisServer()
        let test = try TestClient("unix:\(server.socket)")
        for count in [0, 1, 40_000, 5_000_000] {
            let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            #expect(await test.send("SET", "a", .bytes(value)) == .success(.text("OK")))
            #expect(await test.send("GET", "a") == .success(.bytes(value)))
        }
    }

    @Test func anErrorIsARefusalAndNothingElseFails() async throws {
        let server = try RedisServer()
        let test = try TestClient("unix:\(server.socket)")
        _ = await test.send("SET", "a", "x")
        guard case .failure(.refused(let error)) = await test.send("INCR", "a") else {
            Issue.record("no refusal")
            return
        }
        #expect(error.code == "ERR")
        #expect(await test.send("GET", "a") == .success(.text("x")))
        #expect(await test.send("GET", "b") == .success(.null))
    }

    @Test func aScriptIsSentWholeWhereItIsNotKnown() async throws {
        let server = try RedisServer()
        let test = try TestClient("unix:\(server.socket)")
        let script = RedisScript("return {KEYS[1], ARGV[1]}")
        for _ in 0..<2 {
            #expect(await test.run(script, ["k"], ["v"]) == .success(.array([.text("k"), .text("v")])))
        }
        #expect(server.cli("INFO", "commandstats").contains(/cmdstat_eval:calls=1,/))
        server.cli("SCRIPT", "FLUSH")
        #expect(await test.run(script, ["k"], ["w"]) == .success(.array([.text("k"), .text("w")])))
    }

    @Test func credentialsAndDatabaseAreUsed() async throws {
        let server = try RedisServer(["requirepass top", "user node on >se/cret ~* &* +@all"])
        let right = try TestClient("redis://node:se%2Fcret@127.0.0.1:\(server.port)/3")
        #expect(await right.send("ACL", "WHOAMI") == .success(.text("node")))
        let list = try await right.send("CLIENT", "LIST").get().text ?? ""
        #expect(list.contains(/name=diffserver.*db=3/))
        let alone = try TestClient("redis://:top@127.0.0.1:\(server.port)")
        #expect(await alone.send("ACL", "WHOAMI") == .success(.text("default")))
        for (address, code) in [("redis://node:x@", "WRONGPASS"), ("redis://", "NOAUTH")] {
            let wrong = try TestClient("\(address)127.0.0.1:\(server.port)")
            guard case .failure(.denied(let reason)) = await wrong.send("PING") else {
                Issue.record("let in by \(address)")
                return
            }
            #expect(reason.contains(code))
        }
    }

    @Test func aKilledServerFailsWhatIsOutAndServesAgainOnceItIsBack() async throws {
        let server = try RedisServer()
        let test = try TestClient("unix:\(server.socket)")
        #expect(await test.send("SET", "a", "1") == .success(.text("OK")))
        let outstanding = [await test.begin("BLPOP", "nothing", "0"), await test.begin("GET", "a")]
        server.kill()
        for task in outstanding {
            let outcome = await task.value
            guard case .failure(.lost) = outcome else {
                Issue.record("\(outcome)")
                return
            }
        }
        // Commands wait for the first attempt after the loss; then there is no connection.
        guard case .failure(.unavailable) = await test.send("GET", "a") else {
            Issue.record("still there")
            return
        }
        try server.start()
        #expect(await test.answers(.text("OK"), "SET", "a", "2"))
    }

    @Test func nobodyThereIsKnownAtOnce() async throws {
        for address in ["unix:/tmp/diffserver-no-such-socket", "redis://127.0.0.1:1", "redis://no-such-host.invalid"] {
            let test = try TestClient(address) { $0.connectTimeout = .seconds(2) }
            let outcomes = await [test.send("PING"), test.send("PING")]
            for outcome in outcomes {
                guard case .failure(.unavailable) = outcome else {
                    Issue.record("\(address): \(outcome)")
                    return
                }
            }
        }
    }

    @Test func whatWasAskedOfAServerThatIsLeftIsAnswered() async throws {
        let (old, new) = (try RedisServer(), try RedisServer())
        let test = try TestClient("redis://127.0.0.1:\(old.port)")
        #expect(await test.send("PING") == .success(.text("PONG")))
        old.pause()
        let asked = await test.begin("ECHO", "a")
        test.client.leave(for: .tcp(host: "127.0.0.1", port: new.port))
        #expect(await eventually { !test.client.isUp })
        old.resume()
        #expect(await asked.value == .success(.text("a")))
    }

    @Test func aServerThatNeverAnswersIsLost() async throws {
        let server = try RedisServer()
        let notices = Locked<[String]>([])
        let test = try TestClient("unix:\(server.socket)") {
            // Long enough for a server to answer, however busy the machine is.
            ($0.commandTimeout, $0.connectTimeout) = (.seconds(3), .seconds(3))
            $0.health = StoreHealth { line, _ in notices.withLock { $0.append(line) } }
        }
        #expect(await test.answers(.text("PONG"), "PING"))
        notices.withLock { $0 = [] }
        server.pause()
        guard case .failure(.lost) = await test.send("PING") else {
            Issue.record("an answer")
            return
        }
        guard case .failure(.unavailable) = await test.send("PING") else {
            Issue.record("an answer")
            return
        }
        server.resume()
        #expect(await test.answers(.text("PONG"), "PING"))
        let said = notices.withLock { $0 }
        let expected = [
            "store unavailable: redis: connection lost: no answer within",
            "store still unavailable: redis: no connection:",
            "store available again after",
        ]
        #expect(said.count == expected.count && zip(said, expected).allSatisfy { $0.hasPrefix($1) }, "\(said)")
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n",  // not Redis
        "$5\r\nab",  // less than announced
    ])
    func aServerThatSpeaksGarbageIsNone(_ garbage: String) async throws {
        let server = FakeServer { _, _ in garbage }
        let test = try TestClient("unix:\(server.path)") { $0.connectTimeout = .milliseconds(100) }
        for _ in 0..<3 {
            switch await test.send("GET", "a") {
            case .success(let reply): Issue.record("\(reply)")
            case .failure(.refused(let error)): Issue.record("\(error)")
            case .failure: break
            }
        }
    }

    @Test func anAnswerThatNobodyAskedForEndsTheConnection() async throws {
        let connections = Locked<Set<Int>>([])
        let server = FakeServer { connection, request in
            connections.withLock { _ = $0.insert(connection) }
            return request.contains("PING") ? "+OK\r\n+PONG\r\n" : "+one\r\n+two\r\n"
        }
        let test = try TestClient("unix:\(server.path)")
        for _ in 0..<2 {
            let before = connections.withLock { $0.count }
            #expect(await test.send("GET", "a") == .success(.text("one")))
            #expect(await eventually { connections.withLock { $0.count } > before })
        }
    }

    @Test(arguments: [
        "READONLY You can't write against a read only replica.", "LOADING Redis is loading", "MASTERDOWN Link is down",
    ])
    func aServerThatCannotTakeCommandsNowIsLeft(_ error: String) async throws {
        let server = FakeServer { connection, request in
            if request.contains("PING") { return "+OK\r\n+PONG\r\n" }
            return connection == 0 ? "-\(error)\r\n" : "+OK\r\n"
        }
        let test = try TestClient("unix:\(server.path)")
        #expect(await test.send("SET", "a", "1") == .failure(.unavailable(error)))
        #expect(await test.send("SET", "a", "1") == .success(.text("OK")))
    }

    @Test func fewCommandsWait() async throws {
        let server = FakeServer { _, _ in "" }
        let test = try TestClient("unix:\(server.path)") {
            $0.maxWaiting = 2
        }
        let outcomes = Locked<[Bool]>([])
        test.client.loop.execute {
            for index in 0..<3 {
                test.client.send(RedisCommand("PING")) { _ in outcomes.withLock { $0.append(index == 2) } }
            }
        }
        #expect(await eventually { outcomes.withLock { $0 == [true] } })
        test.client.close()
        #expect(await eventually { outcomes.withLock { $0 == [true, false, false] } })
    }
}

extension Locked<[Int64]> {
    fileprivate func note(_ result: Result<RedisReply, RedisFailure>) {
        guard case .success(.integer(let number)) = result else { return }
        withLock { $0.append(number) }
    }
}
