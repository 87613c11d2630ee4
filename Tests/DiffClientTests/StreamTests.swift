import Foundation
import SnapshotKit
import Testing

@testable import DiffClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Streams, and polls where there are none", .timeLimit(.minutes(5)))
struct StreamTests {
    private static let first =
        #"{"from":null,"to":"1-0","dialect":"keyed","reset":"initial","state":{"sections":[{"id":"s","items":[]}]}}"#

    /// An answer that inserts a row named after the revision it leads to.
    private static func inserting(_ to: Int, since: Int) -> String {
        let changes = #"[{"op":"insert","items":[{"id":\#(to)}],"in":"s","before":null}]"#
        return #"{"from":"\#(since)-0","to":"\#(to)-0","dialect":"keyed","changes":\#(changes)}"#
    }

    private static func json(_ body: String, status: String = "200 OK") -> ScriptedServer.Part {
        .send(
            "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                + "Connection: close\r\n\r\n\(body)")
    }

    private static let streamHead = ScriptedServer.Part.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nretry: 1000\n\n")

    private static func event(_ name: String, _ data: String) -> String { "event: \(name)\ndata: \(data)\n\n" }

    private static func wantsStream(_ head: String) -> Bool { head.contains("text/event-stream") }

    private func client(_ server: ScriptedServer, _ statuses: Statuses = Statuses()) -> ListClient {
        var client = ListClient(url: server.url, session: "list")
        client.backOff = ListClient.BackOff(first: 0.02, longest: 0.1)
        statuses.listen(to: &client)
        return client
    }

    @Test(
        "where streams are not to be had, it polls",
        arguments: [
            [json(#"{"title":"Not here","status":406}"#, status: "406 Not Acceptable")],
            [json("<html>Please log in</html>")], [.silence],
        ])
    func fallback(answer: [ScriptedServer.Part]) async throws {
        let server = try ScriptedServer { head, number in
            if number == 0 { return [Self.json(Self.first)] }
            return Self.wantsStream(head) ? answer : [Self.json(Self.inserting(2, since: 1))]
        }
        var updates = client(server).updates.makeAsyncIterator()
        #expect(try await updates.next()?.ids == [])
        #expect(try await updates.next()?.ids == ["2"])
        let last = try #require(server.requests.last)
        #expect(last.contains("since=1-0") && !Self.wantsStream(last))
    }

    @Test("a stream that breaks off is resumed from what is shown")
    func brokenOff() async throws {
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.json(Self.first)]
            case 1: [Self.streamHead, .send(Self.event("changes", Self.inserting(2, since: 1))), .send("event: chan")]
            default: [Self.streamHead, .send(Self.event("changes", Self.inserting(3, since: 2))), .silence]
            }
        }
        let statuses = Statuses()
        var updates = client(server, statuses).updates.makeAsyncIterator()
        for ids in [[], ["2"], ["2", "3"]] { #expect(try await updates.next()?.ids == ids) }
        #expect(server.requests.map(Self.wantsStream) == [false, true, true])
        #expect(server.requests.last?.contains("since=2-0") == true)
        #expect(statuses.problems.map(\.title) == ["The stream broke off"])
    }

    @Test("a stream opened anew is not stale unless it says so, and an id alone changes nothing")
    func stale() async throws {
        let silent = #"{"from":"1-0","to":"1-0","dialect":"keyed","changes":[],"stale":7}"#
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.json(Self.first)]
            case 1: [Self.streamHead, .send(Self.event("changes", silent)), .send("id: 2-0\n\n")]
            default:
                [Self.streamHead, .send("id: 2-0\n\n" + Self.event("changes", Self.inserting(3, since: 2))), .silence]
            }
        }
        let statuses = Statuses()
        var updates = client(server, statuses).updates.makeAsyncIterator()
        for ids in [[], ["3"]] { #expect(try await updates.next()?.ids == ids) }
        #expect(statuses.silences == [nil, 7, nil])
    }

    @Test("what a busy loop has not read comes in one step")
    func overrun() async throws {
        let server = try ScriptedServer { head, number in
            switch number {
            case 0: return [Self.json(Self.first)]
            case 1:
                let events = (2...4).map { Self.event("changes", Self.inserting($0, since: $0 - 1)) }
                return [Self.streamHead, .send(events.joined()), .silence]
            default:
                let shown = head.contains("since=1-0") ? 1 : 2
                return [Self.streamHead, .send(Self.event("changes", Self.inserting(9, since: shown))), .silence]
            }
        }
        var updates = client(server).updates.makeAsyncIterator()
        var shown: [String] = []
        // The first of the three is shown if it was awaited.
        while shown.last != "9" { shown = try #require(try await updates.next()).ids }
        #expect(shown == ["9"] || shown == ["2", "9"])
    }

    @Test("a revision that shows nothing new is where it goes on from")
    func revisions() async throws {
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.json(Self.first)]
            case 1: [Self.streamHead, .send("id: 1-0\n\nid: 5-0\n\n")]
            default: [Self.streamHead, .send(Self.event("changes", Self.inserting(6, since: 5))), .silence]
            }
        }
        var updates = client(server).updates.makeAsyncIterator()
        for ids in [[], ["6"]] { #expect(try await updates.next()?.ids == ids) }
        #expect(server.requests.last?.contains("since=5-0") == true)
    }

    @Test("the problem that a stream ends with is told, and thrown where asking again cannot help")
    func ends() async throws {
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.json(Self.first)]
            case 1: [Self.streamHead, .send(Self.event("end", #"{"title":"Shutting down","status":503}"#))]
            default: [Self.streamHead, .send(Self.event("end", #"{"title":"Forbidden","status":403}"#))]
            }
        }
        let statuses = Statuses()
        var updates = client(server, statuses).updates.makeAsyncIterator()
        _ = try await updates.next()
        let problem = await #expect(throws: ServerProblem.self) { try await updates.next() }
        #expect(problem?.status == 403)
        #expect(statuses.problems.map(\.status) == [503])
    }

    @Test("whoever reconnects gives up a stream that may be dead")
    func reconnecting() async throws {
        let server = try ScriptedServer { _, number in
            switch number {
            case 0: [Self.json(Self.first)]
            case 1: [Self.streamHead, .send("id: 1-0\n\n"), .silence]
            default: [Self.streamHead, .send(Self.event("changes", Self.inserting(2, since: 1))), .silence]
            }
        }
        let statuses = Statuses()
        let client = client(server, statuses)
        let reader = Task {
            var updates = client.updates.makeAsyncIterator()
            _ = try await updates.next()
            return try await updates.next()?.ids
        }
        await eventually { server.requests.count >= 2 }
        client.reconnect()
        #expect(try await reader.value == ["2"])
        #expect(statuses.problems.isEmpty)
    }

    @Test("a session that is gone is told, though a stream would wait for it")
    func missing() async throws {
        let server = try ScriptedServer { head, number in
            switch number {
            case 0: return [Self.json(Self.first)]
            case 1: return [Self.streamHead, .silence]
            case 2: return [Self.json(#"{"title":"There is no such session","status":404}"#, status: "404 Not Found")]
            default:
                let reset = Self.first.replacing("initial", with: "unknown").replacing("1-0", with: "1-1")
                return [Self.streamHead, .pause(milliseconds: 50), .send(Self.event("changes", reset)), .silence]
            }
        }
        let statuses = Statuses()
        var updates = client(server, statuses).updates.makeAsyncIterator()
        _ = try await updates.next()
        #expect(try await updates.next()?.reason == "unknown")
        #expect(server.requests.map(Self.wantsStream) == [false, true, false, true])
        #expect(statuses.problems.map(\.status) == [404])
    }

    @Test("of many revisions that nobody read the last is kept")
    func unreadRevisions() throws {
        var news = News()
        for sequence in 1...1_000 {
            let wantsMore = news.take(Data("id: \(sequence)-0\n\n".utf8), at: Double(sequence))
            #expect(wantsMore)
        }
        #expect(news.lastHeard == 1_000)
        #expect(try news.next()?.get() == .revision("1000-0"))
        #expect(news.isEmpty)
    }

    @Test("what is behind the end, or behind too much, is not news")
    func ended() throws {
        var news = News()
        let wantsMore = news.take(Data("id: 1-0\n\nevent: end\ndata: {\"status\":401}\n\nid: 2-0\n\n".utf8), at: 0)
        news.finish(.success(.unavailable))
        #expect(try news.next()?.get() == .revision("1-0"))
        #expect(throws: ServerProblem.self) { try news.next()?.get() }
        #expect(news.isEmpty && !wantsMore)

        var many = News()
        let wants = [0.0, 1].map { many.take(Data("event: changes\ndata: {}\n\n".utf8), at: $0) }
        #expect(wants == [true, false])
        #expect(try many.next()?.get() == .overrun)
        #expect(many.isEmpty)
    }

    @Test("a wait ends at its time, by news of the request, or by whatever else wakes it")
    func waiting() async throws {
        let (alarm, watched) = (Alarm(), Watched(0))
        watched.wakes(alarm)
        await alarm.wait(until: .uptime + 0.01)
        watched.change { $0 += 1 }
        await alarm.wait(until: .infinity)
        let request = OpenRequest(waking: alarm) { events in
            #expect(events(Data(": a comment\nid: 1-0\n\n".utf8)))
            return .unavailable
        }
        var news: [News.Item] = []
        while news.count < 2 {
            if let next = try request.next()?.get() { news.append(next) } else { await alarm.wait(until: .infinity) }
        }
        #expect(news == [.revision("1-0"), .unavailable])
    }

    @Test("a request that nobody holds is abandoned")
    func released() async throws {
        let (cancelled, isCancelled) = AsyncStream.makeStream(of: Void.self)
        var request: OpenRequest? = OpenRequest(waking: Alarm()) { _ in
            await Task.pause(for: 600)
            isCancelled.yield()
            return .unavailable
        }
        #expect(request?.news.value.lastHeard == nil)
        request = nil
        for await _ in cancelled { break }
    }

    @Test("where there is no such route, asking again cannot help")
    func route() async throws {
        let body = #"{"type":"/problems/route-not-found","title":"T","status":404,"detail":"nothing at /v1/v1"}"#
        let server = try ScriptedServer { _, _ in [Self.json(body, status: "404 Not Found")] }
        let statuses = Statuses()
        var updates = client(server, statuses).updates.makeAsyncIterator()
        let problem = await #expect(throws: ServerProblem.self) { try await updates.next() }
        #expect(problem?.description == "404: nothing at /v1/v1")
        #expect(statuses.problems.isEmpty && server.requests.count == 1)
    }

    @Test("an address without http:// is refused before anything is asked", arguments: ["localhost:1", "localhost"])
    func scheme(address: String) async throws {
        let statuses = Statuses()
        var client = ListClient(url: try #require(URL(string: address)), session: "list")
        statuses.listen(to: &client)
        var updates = client.updates.makeAsyncIterator()
        let read = await #expect(throws: ServerProblem.self) { try await updates.next() }
        let editor = client
        let edit = await #expect(throws: ServerProblem.self) { try await editor.edit(ListEdit.remove("a")) }
        #expect(read?.description == "The server's URL needs http:// or https://")
        #expect(edit == read && statuses.problems.isEmpty)
    }

    @Test("a problem keeps its title, with a type or without", arguments: ["", #""type":"/problems/x","#])
    func title(type: String) async throws {
        let body = #"{\#(type)"title":"Closed for today","status":403}"#
        let server = try ScriptedServer { _, _ in [Self.json(body, status: "403 Forbidden")] }
        var updates = client(server).updates.makeAsyncIterator()
        let problem = await #expect(throws: ServerProblem.self) { try await updates.next() }
        #expect(problem?.title == "Closed for today")
    }
}
