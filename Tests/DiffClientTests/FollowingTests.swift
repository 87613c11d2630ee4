import DiffClient
import Foundation
import SnapshotKit
import Testing

@Suite("Following a session of the real server", .realServer, .timeLimit(.minutes(5)))
struct FollowingTests {
    struct Way: Sendable, CustomTestStringConvertible {
        let form: ListClient.Form
        let content: ContentStyle
        let polls: Bool
        var testDescription: String { "\(form), content: \(content), polls: \(polls)" }
    }

    static let ways = [ListClient.Form.keyed, .staged(), .staged(compact: true), .diffable].flatMap { form in
        [(ContentStyle.full, false), (.patch, false), (.delta, false), (.full, true), (.delta, true)].map {
            Way(form: form, content: $0, polls: $1)
        }
    }

    /// A list of two sections, with rows from 0 to 11 in some order; contents differ now and then.
    static func state(_ step: Int) throws -> JSONText {
        var generator = SystemRandomNumberGenerator()
        let rows = (0..<12).shuffled(using: &generator).prefix(.random(in: 3...12)).map { row in
            #"{"id":"\#(row)","content":{"title":"row \#(row)","#
                + #""text":"a text that grows\#(String(repeating: ", and on", count: step))","#
                + #""step":\#(row % 3 == 0 ? step : 0)}}"#
        }
        let (one, other) = (rows.prefix(rows.count / 2), rows.dropFirst(rows.count / 2))
        let sections = [
            #"{"id":"one","content":"step \#(step / 4)","items":[\#(one.joined(separator: ","))]}"#,
            #"{"id":"other","items":[\#(other.joined(separator: ","))]}"#,
        ]
        return try JSONText(#"{"sections":[\#(sections.shuffled().joined(separator: ","))]}"#)
    }

    @Test("each update leads to what the server holds", arguments: ways)
    func everyForm(way: Way) async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.form = way.form
        (client.content, client.polls) = (way.content, way.polls)
        _ = try await client.post(state: Self.state(0))
        var updates = client.updates.makeAsyncIterator()
        let first = try await updates.next()
        #expect(first?.reason == "initial")
        for step in 1...15 {
            _ = try await client.post(state: Self.state(step))
            let update = try #require(try await updates.next())
            #expect(update.reason == nil)
            #expect(try await update.list == client.shown())
            switch (way.form, update.change) {
            case (.keyed, .keyed), (.diffable, .diffable): break
            case (.staged, .staged(let stages)): #expect(stages.last?.list == update.list)
            default: Issue.record("\(update.change)")
            }
        }
    }

    @Test("a document of one's own is posted with its shape")
    func shape() async throws {
        struct Board: Encodable {
            struct Card: Encodable {
                let type: String
                let number: Int
            }
            let cards: [Card]
        }
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        var mapping = StateShape.FieldMapping()
        mapping.itemsAt = JSONPointer("/cards")
        mapping.element.idAt = ["/type", "/number"].compactMap(JSONPointer.init)
        let board = Board(cards: [.init(type: "bug", number: 2), .init(type: "bug", number: 1)])
        let revision = try await client.post(board, shape: StateShape(mapping))
        let list = try await client.shown()
        #expect(list.sections[0].rows.map(\.id) == ["bug/2", "bug/1"])
        let document = try JSONText(#"{"list":[{"key":"x"}]}"#)
        let shape = StateShape.pointers(itemsAt: JSONPointer("/list"), idAt: JSONPointer("/key"))
        _ = try await client.post(state: document, shape: shape, ifMatch: revision)
        #expect(try await client.shown().sections[0].rows.map(\.id) == ["x"])
        await #expect(throws: ServerProblem.self) { try await client.post(board) }
    }

    @Test("a held request is answered by a write; many writes meanwhile are one update")
    func squash() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.polls = true
        _ = try await client.post(state: JSONText("[1]"))
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        async let written = Task { [client] in
            try await pause(.milliseconds(100), "the writer, until the request is held")
            return try await client.post(edits: JSONText(#"[{"op":"insert","items":[{"id":2}]}]"#))
        }.value
        #expect(try await updates.next()?.ids == ["1", "2"])
        _ = try await written
        for count in 3...6 { _ = try await client.post(state: JSONText("[\(count)]")) }
        #expect(try await updates.next()?.ids == ["6"])
    }

    @Test("a session that is started over replaces the list")
    func startedOver() async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        _ = try await client.post(state: JSONText(#"["a"]"#))
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        try await client.send("PUT", #"{"state":["b"]}"#)
        let update = try #require(try await updates.next())
        #expect(update.reason == "replaced")
        #expect(update.ids == ["b"])
    }

    @Test("a session that is gone is waited for, and what is shown stays")
    func recreated() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        let statuses = Statuses()
        statuses.listen(to: &client)
        _ = try await client.post(state: JSONText(#"["a"]"#))
        var updates = client.updates.makeAsyncIterator()
        let first = try #require(try await updates.next())
        try await client.send("DELETE")
        let writer = ListClient.hasty(server)
        let renewal = Task {
            await statuses.met(404)
            _ = try await writer.post(state: JSONText(#"["a","b"]"#))
        }
        let second = try #require(try await updates.next())
        try await renewal.value
        #expect(first.ids == ["a"])
        #expect(second.reason == "unknown")
        #expect(second.ids == ["a", "b"])
    }

    @Test("a client outlives a restart of the server")
    func restart() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        let statuses = Statuses()
        statuses.listen(to: &client)
        _ = try await client.post(state: JSONText(#"["a"]"#))
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        let (port, writer) = (server.port, ListClient.hasty(server))
        let restart = Task {
            try await pause(.milliseconds(100), "the server, until the stream has begun")
            server.stop()
            await statuses.met(nil)
            let next = try RunningServer(port: port)
            await statuses.met(404)
            _ = try await writer.post(state: JSONText(#"["b"]"#))
            return next
        }
        let update = try await updates.next()
        let next = try await restart.value
        #expect(update?.reason == "unknown")
        #expect(update?.ids == ["b"])
        next.stop()
    }

    @Test("429 is obeyed: nothing is asked before Retry-After")
    func tooMany() async throws {
        let server = try RunningServer(options: "--max-streams", "1")
        var client = ListClient.hasty(server)
        let statuses = Statuses()
        statuses.listen(to: &client)
        _ = try await client.post(state: JSONText("[1]"))
        // Both readers hold a request once they know the list; the limit is one.
        let readers = (0..<2).map { _ in
            Task { [client] in
                var updates = client.updates.makeAsyncIterator()
                _ = try await updates.next()
                return try await updates.next()?.ids
            }
        }
        await statuses.met(429)
        // The last event of a stream names no time.
        for (problem, delay) in zip(statuses.problems, statuses.delays) where problem.retryAfter != nil {
            #expect(delay >= 1)
        }
        _ = try await client.post(state: JSONText("[2]"))
        for reader in readers { #expect(try await reader.value == ["2"]) }
    }

    @Test("a key that is not known ends it; a token that can be renewed does not")
    func tokens() async throws {
        let secret = "a secret of more than thirty-two bytes"
        let key = try RunningServer.output("key", "test")
        let (bearer, option) = try #require(
            key.firstMatch(of: /key: +(\S+)\noption: +--key (\S+)\n/).map { ($0.1, $0.2) })
        let server = try RunningServer(options: "--key", String(option), "--token-secret", secret)
        _ = try await ListClient.hasty(server, token: String(bearer)).post(state: JSONText("[1]"))

        var refused = ListClient.hasty(server, token: "unknown").updates.makeAsyncIterator()
        let problem = await #expect(throws: ServerProblem.self) { try await refused.next() }
        #expect(problem?.status == 401)

        let waiting = Statuses()
        var anonymous = ListClient.hasty(server, "public")
        waiting.listen(to: &anonymous)
        let reading = Task { [anonymous] in
            var updates = anonymous.updates.makeAsyncIterator()
            return try await updates.next()?.ids
        }
        await eventually { waiting.problems.contains { $0.status == 401 } }
        let edits = await #expect(throws: ServerProblem.self) { try await anonymous.edit(.remove("1")) }
        #expect(edits?.status == 401)
        var publishing = URLRequest(url: server.url.appending(path: "v1/sessions/public"))
        publishing.httpMethod = "PUT"
        publishing.httpBody = Data(#"{"state":[2],"public":true}"#.utf8)
        publishing.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization")
        _ = try await URLSession.shared.data(for: publishing)
        #expect(try await reading.value == ["2"])

        let token = try RunningServer.output("token", "--session", "list", "--token-secret", secret)
        let statuses = Statuses()
        var client = ListClient(url: server.url, session: "list") {
            statuses.problems.isEmpty ? "expired" : token.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        client.backOff = ListClient.BackOff(first: 0.02)
        statuses.listen(to: &client)
        var updates = client.updates.makeAsyncIterator()
        #expect(try await updates.next()?.ids == ["1"])
        #expect(statuses.problems.map(\.status) == [401])
    }

    @Test("a server's URL that ends in the API's path ends it", arguments: ["v1", "v1/sessions"])
    func pathTwice(path: String) async throws {
        let server = try RunningServer()
        var updates = ListClient(url: server.url.appending(path: path), session: "list").updates.makeAsyncIterator()
        let problem = await #expect(throws: ServerProblem.self) { try await updates.next() }
        #expect(problem?.type == "/problems/route-not-found")
    }

    @Test("cancelling ends a held request at once")
    func cancelling() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.wait = 60
        _ = try await client.post(state: JSONText("[1]"))
        let (updates, told) = AsyncStream.makeStream(of: Int.self)
        let reader = Task { [client] in
            var count = 0
            for try await _ in client.updates {
                count += 1
                told.yield(count)
            }
            return count
        }
        for await _ in updates { break }
        try await pause(.milliseconds(100), "the reader, until the next request is held")
        let start = ContinuousClock.now
        reader.cancel()
        #expect(try await reader.value == 1)
        #expect(ContinuousClock.now - start < .seconds(50))
    }
}
