import CDiffSystem
import Testing

@testable import DiffClock
@testable import HTTPCore

/// The whole server over real sockets.
@Suite struct ServerTests {
    private func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }
    private func post(_ path: String, _ body: String, _ fields: String = "") -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }
    private func statuses(_ text: String) -> [String] {
        text.split(separator: "HTTP/1.1 ").map { String($0.prefix(3)) }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
        let server = try TestServer()
        let client = try Client(server.address)
        client.send(get("/") + post("/echo", "abc") + get("/elsewhere") + get("/none") + post("/unread", "body"))
        client.send(get("/stream") + get("/", "Connection: close\r\n") + get("/"))
        let answer = client.receiveToEnd()
        #expect(statuses(answer) == ["200", "200", "200", "404", "403", "200", "200"])
        #expect(answer.contains("root") && answer.contains("abc") && answer.contains("from elsewhere"))
    }

    @Test func aStreamIsChunkedAndTheConnectionGoesOn() throws {
        let server = try TestServer()
        let client = try Client(server.address)
        client.send(get("/stream") + get("/"))
        let answer = client.receive(until: "root")
        #expect(answer.contains("Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\nHTTP/1.1 200"))
    }

    @Test func anOldClientGetsAStreamUntilTheClose() throws {
        let server = try TestServer()
        let client = try Client(server.address)
        client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        let answer = client.receiveToEnd()
        #expect(
            answer.hasSuffix("\r\n\r\nonetwo") && answer.contains("Connection: close") && !answer.contains("chunked"))
    }

    @Test func headHasTheLengthButNotTheBody() throws {
        let server = try TestServer()
        let answer = try server.ask(
            "HEAD /bytes/5000 HTTP/1.1\r\nHost: a\r\n\r\n" + "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"))
        #expect(answer.contains("Content-Length: 5000\r\n") && !answer.contains("xx") && !answer.contains("one"))
        #expect(statuses(answer) == ["200", "200", "200"])
    }

    @Test func hundredContinueComesOnlyWhenTheBodyIsWanted() throws {
        let server = try TestServer()
        let wanted = try Client(server.address)
        wanted.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(wanted.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        wanted.send("abc")
        #expect(wanted.receive(until: "abc").hasPrefix("HTTP/1.1 200"))
        for path in ["/unread", "/echo"] {
            let unwanted = try Client(server.address)
            unwanted.send("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\nExpect: 100-continue\r\n\r\n")
            let answer = unwanted.receiveToEnd()
            #expect(answer.hasPrefix(path == "/echo" ? "HTTP/1.1 413" : "HTTP/1.1 403"))
            #expect(answer.contains("Connection: close"))
        }
    }

    @Test func aBodyIsTakenAtItsLimitAndRefusedOnePast() throws {
        let server = try TestServer()
        let full = String(repeating: "a", count: 100_000)
        #expect(try server.ask(post("/echo", full)).hasSuffix(full))
        let tooLong = try server.ask(post("/echo", full + "a"))
        #expect(
            tooLong.hasPrefix("HTTP/1.1 413")
                && tooLong.contains("contentTooLarge(limit: 100000, actual: Optional(100001))"))
        let chunked = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n186A0\r\n\(full)\r\n"
        #expect(try server.ask(chunked + "0\r\n\r\n").hasSuffix(full))
        #expect(try server.ask(chunked + "1\r\na\r\n0\r\n\r\n").hasPrefix("HTTP/1.1 413"))
    }

    @Test func aMalformedBodyIsNeverAnsweredWithSuccess() throws {
        let server = try TestServer()
        for path in ["/", "/echo", "/unread"] {
            let answer = try server.ask(
                "POST \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab" + get("/"))
            #expect(statuses(answer) == ["400"], "\(path): \(answer)")
        }
    }

    @Test func aForgottenAnswerIs500() throws {
        let server = try TestServer()
        #expect(try server.ask(get("/forgotten") + get("/")).hasPrefix("HTTP/1.1 500"))
    }

    @Test func aPeerThatOnlyShutsItsSideWaitsForItsAnswer() throws {
        let server = try TestServer { $0.loops = 1 }
        let client = try Client(server.address)
        client.send(get("/held"))
        #expect(eventually { server.service.pendings.withLock { $0.count } == 1 })
        client.finishSending()
        // The loop handles events in the order of arrival, so it has seen the end of the input by the first answer.
        for _ in 0..<3 { #expect(try server.ask(get("/")).contains("root")) }
        #expect(server.service.gone.load(ordering: .relaxed) == 0)
        server.service.pendings.withLock { $0.removeFirst() }.answer(Response(status: 200, text: "late"))
        #expect(client.receiveToEnd().hasSuffix("late"))
    }

    @Test func aPeerThatIsGoneIsForgotten() throws {
        let server = try TestServer()
        var client: Client? = try Client(server.address)
        client?.send(get("/held"))
        #expect(eventually { server.service.pendings.withLock { $0.count } == 1 })
        client?.abort()
        client = nil
        #expect(eventually { server.service.gone.load(ordering: .relaxed) == 1 })
        // The work begun for the client still holds its slot.
        #expect(server.server.counters.openConnections == 1)
        // A service that has nobody left to answer drops its `Pending`.
        server.service.pendings.withLock { $0 = [] }
        #expect(eventually { server.server.counters.openConnections == 0 })
        #expect(server.service.exchanges.withLock { $0.map(\.status) } == [0])
    }

    @Test func drainEndsIdleConnectionsAndLetsTheOthersFinish() throws {
        let server = try TestServer { $0.loops = 1 }  // so that the end of one connection tells about the other
        let idle = try Client(server.address)
        idle.send(get("/"))
        _ = idle.receive(until: "root")
        let busy = try Client(server.address)
        busy.send(get("/held") + get("/"))
        #expect(eventually { server.service.pendings.withLock { $0.count } == 1 })
        let isDrained = Locked(false)
        server.server.drain(within: .seconds(300)) { isDrained.withLock { $0 = true } }
        #expect(idle.receiveToEnd().isEmpty)
        server.service.pendings.withLock { $0.removeFirst() }.answer(Response(status: 200, text: "done"))
        let answer = busy.receiveToEnd()
        #expect(statuses(answer) == ["200"] && answer.contains("Connection: close") && answer.hasSuffix("done"))
        #expect(eventually { isDrained.withLock { $0 } })
        #expect(throws: Client.Failure.self) { try Client(server.address) }
        #expect(server.server.counters.openConnections == 0)
    }

    @Test func anAnnouncedEndIsSaidWithEachAnswerAndNobodyIsRefused() throws {
        let server = try TestServer { $0.loops = 1 }
        let kept = try Client(server.address)
        kept.send(get("/"))
        #expect(!kept.receive(until: "root").contains("Connection"))
        let held = try Client(server.address)
        held.send(get("/held"))
        #expect(eventually { server.service.pendings.withLock { $0.count } == 1 })
        server.server.announceEnd()
        let isAnnounced = Locked(false)
        server.server.loops[0].execute { isAnnounced.withLock { $0 = true } }
        #expect(eventually { isAnnounced.withLock { $0 } })
        let new = try Client(server.address)
        for client in [new, kept] {
            client.send(get("/") + get("/"))
            let answer = client.receiveToEnd()
            #expect(statuses(answer) == ["200"] && answer.contains("Connection: close"))
        }
        server.service.pendings.withLock { $0.removeFirst() }.answer(Response(status: 200, text: "done"))
        #expect(held.receiveToEnd().contains("Connection: close"))
        #expect(try server.ask(get("/stream")).contains("Connection: close"))
    }

    @Test func whoeverIsInTheQueueIsServedBeforeNobodyListens() throws {
        let server = try TestServer { $0.loops = 1 }
        let first = try Client(server.address)
        first.send(post("/stuck", ""))
        server.service.isStuck.wait()
        // The kernel completes connections while the loop is stuck.
        let clients = try (0..<50).map { _ in try Client(server.address) }
        for client in clients.dropFirst() { client.send(get("/")) }
        let (isDrained, isQuiet) = (Locked(false), Locked(false))
        server.server.drain(
            within: .seconds(300), whenQuiet: { isQuiet.withLock { $0 = true } },
            completion: { isDrained.withLock { $0 = true } })
        server.service.goOn.signal()
        #expect(first.receiveToEnd().contains("unstuck"))
        for client in clients.dropFirst() { #expect(client.receiveToEnd().hasSuffix("root")) }
        #expect(eventually { isQuiet.withLock { $0 } })
        #expect(throws: Client.Failure.self) { try Client(server.address) }
        // A client that has not made a request yet may still make one.
        clients[0].send(get("/"))
        #expect(clients[0].receiveToEnd().hasSuffix("root"))
        #expect(eventually { isDrained.withLock { $0 } })
    }

    @Test func aConnectionThatWasKeptIsServedUntilNobodyUsesAnyMore() throws {
        let server = try TestServer()
        let clients = try (0..<4).map { _ in try Client(server.address) }
        for client in clients {
            client.send(get("/"))
            _ = client.receive(until: "root")
        }
        let (isDrained, isQuiet) = (Locked(false), Locked(false))
        server.server.drain(
            within: .seconds(300), quiet: .seconds(2), whenQuiet: { isQuiet.withLock { $0 = true } },
            completion: { isDrained.withLock { $0 = true } })
        #expect(eventually { (try? Client(server.address)) == nil })
        clients[0].send(get("/"))
        #expect(clients[0].receiveToEnd().contains("Connection: close"))
        #expect(!isQuiet.withLock { $0 })
        for client in clients.dropFirst() { #expect(client.receiveToEnd().isEmpty) }
        #expect(isQuiet.withLock { $0 })
        #expect(eventually { isDrained.withLock { $0 } })
    }

    @Test func whoeverComesWhileConnectionsSettleIsRefusedLater() throws {
        let server = try TestServer()
        let isDrained = Locked(false)
        server.server.drain(within: .seconds(300), settling: .milliseconds(200)) { isDrained.withLock { $0 = true } }
        #if os(Linux)
            #expect { try Client(server.address) } throws: { ($0 as? Client.Failure)?.code == ECONNREFUSED }
        #endif
        #expect(eventually { isDrained.withLock { $0 } })
    }

    @Test func aConnectionThatNeverAsksDoesNotHoldUpTheEnd() throws {
        let server = try TestServer { $0.connectionLimits.firstRequestTimeout = .milliseconds(100) }
        let clients = try (0..<4).map { _ in try Client(server.address) }
        #expect(eventually { server.server.counters.openConnections == 4 })
        let isDrained = Locked(false)
        server.server.drain(within: .seconds(300)) { isDrained.withLock { $0 = true } }
        #expect(clients.map { $0.receiveToEnd() } == ["", "", "", ""])
        #expect(eventually { isDrained.withLock { $0 } })
    }

    @Test func drainGivesUpAfterItsLimit() throws {
        let server = try TestServer()
        let client = try Client(server.address)
        client.send(get("/held"))
        #expect(eventually { server.service.pendings.withLock { $0.count } == 1 })
        server.server.drain(within: .milliseconds(50)) {}
        #expect(client.receiveToEnd().isEmpty)
        #expect(eventually { server.service.gone.load(ordering: .relaxed) == 1 })
    }

    @Test func whoeverIsInTheQueueDoesNotOutlastWhatIsAbandoned() throws {
        let server = try TestServer { $0.loops = 1 }
        let first = try Client(server.address)
        first.send(post("/stuck", ""))
        server.service.isStuck.wait()
        let clients = try (0..<50).map { _ in try Client(server.address) }
        for client in clients { client.send(get("/held")) }
        let isDrained = Locked(false)
        server.server.drain(within: .seconds(300), settling: .milliseconds(200)) { isDrained.withLock { $0 = true } }
        server.server.abandon()
        server.service.goOn.signal()
        #expect(eventually { isDrained.withLock { $0 } })
        for client in clients { #expect(client.receiveToEnd().isEmpty) }
    }

    @Test func aTakenPortIsRefused() throws {
        let server = try TestServer()
        let port = try #require(server.address.port)
        #expect(throws: ListenError.self) { try TestServer { $0.listen = [.tcp(host: "127.0.0.1", port: port)] } }
        let second = Server(
            options: ServerOptions.ofTests(listen: [.tcp(host: "127.0.0.1", port: port)]), service: TestService())
        #expect { try second.start() } throws: { "\($0)" == "127.0.0.1:\(port): already in use" }
    }

    @Test func eachExchangeIsSummed() throws {
        let server = try TestServer()
        let request = post("/echo", "abc")
        let answer = try server.ask(request)
        #expect(eventually { server.service.exchanges.withLock { $0.count } == 1 })
        let summary = server.service.exchanges.withLock { $0[0] }
        #expect(summary.status == 200 && summary.bytesIn == request.utf8.count && summary.bytesOut == answer.utf8.count)
        #expect(summary.method == .post && summary.target == "/echo" && summary.peer.isLoopback)
        #expect(answer.contains("\r\nX-Request-Id: \(summary.requestID)\r\n") && summary.requestID.utf8.count == 16)
    }

    @Test func theEndOfTheInputWithinAMessageIsRefused() throws {
        let server = try TestServer()
        #expect(try server.ask("GET / HTTP/1.1\r\nHost: a\r\n").hasPrefix("HTTP/1.1 400"))
        #expect(
            try server.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc").hasPrefix("HTTP/1.1 400"))
        #expect(try server.ask("HEAD / HTTP/1.1\r\nHost: a\r\n").hasSuffix("\r\n\r\n"))
        #expect(try server.ask("HEAD / HTTP/1.1\r\nHost : a\r\n").hasSuffix("\r\n\r\n"))
        #expect(try server.ask("").isEmpty)
        #expect(try server.ask("\r\n").isEmpty)
    }
}
