import Foundation
import Testing

@testable import DiffClient

private struct Card: Codable, Sendable, Equatable {
    var title: String
    var likes: Int?
}

private struct Dated: Encodable, Sendable {
    var dueDay: Date
    var costs: Double?
}

private struct Row: Encodable, Sendable {
    var id: Int
    var content: Card
}

private let client = ListClient(url: URL(fileURLWithPath: "/"), session: "list")
private let uuid = UUID(uuid: (0xAB, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

@Suite("Typed edits", .timeLimit(.minutes(5)))
struct ListEditTests {
    static let nobody: String? = nil

    static let table: [(ListEdit, String)] = [
        (.move("a", before: "b"), #"{"op":"move","items":["a"],"before":"b"}"#),
        (.move(1, after: 2), #"{"op":"move","items":[1],"after":2}"#),
        (.move(["b", "a"], before: nil), #"{"op":"move","items":["b","a"],"before":null}"#),
        (.move("a", after: nobody), #"{"op":"move","items":["a"],"after":null}"#),
        (.move("a", before: ["b", "c", nil]), #"{"op":"move","items":["a"],"before":["b","c",null]}"#),
        (.move("a", after: ["b", "c"]), #"{"op":"move","items":["a"],"after":["b","c"]}"#),
        (.move("a"), #"{"op":"move","items":["a"],"at":"end"}"#),
        (.move("a", at: .start), #"{"op":"move","items":["a"],"at":"start"}"#),
        (.move("a", into: .section("s")), #"{"op":"move","items":["a"],"into":{"section":"s"},"at":"end"}"#),
        (.move("a", into: .item(7), at: .start), #"{"op":"move","items":["a"],"into":{"item":7},"at":"start"}"#),
        (
            .move(uuid, before: ElementID("b")),
            #"{"op":"move","items":["ab000000-0000-4000-8000-000000000001"],"before":"b"}"#
        ),
        (.insert("a", before: "b"), #"{"op":"insert","items":[{"id":"a"}],"before":"b"}"#),
        (
            .insert(uuid, before: "b"),
            #"{"op":"insert","items":[{"id":"ab000000-0000-4000-8000-000000000001"}],"before":"b"}"#
        ),
        (.sections(.sections(.remove("s"))), #"{"op":"delete","sections":["s"]}"#),
        (.insert(["a", "b"], after: nil), #"{"op":"insert","items":[{"id":"a"},{"id":"b"}],"after":null}"#),
        (
            .insert(Row(id: 1, content: Card(title: "x")), before: ["b", nil]),
            #"{"op":"insert","items":[{"id":1,"content":{"title":"x"}}],"before":["b",null]}"#
        ),
        (
            .insert([Row(id: 1, content: Card(title: "x", likes: 2))], into: .section("s")),
            #"{"op":"insert","items":[{"id":1,"content":{"title":"x","likes":2}}],"into":{"section":"s"},"at":"end"}"#
        ),
        (
            .insert(
                NewElement(
                    "a", Card(title: "x"), kind: "card", isExpanded: false,
                    items: [NewElement("b"), NewElement(uuid, 1)]),
                at: .start),
            #"{"op":"insert","items":[{"id":"a","content":{"title":"x"},"kind":"card","expanded":false,"items":["#
                + #"{"id":"b"},{"id":"ab000000-0000-4000-8000-000000000001","content":1}]}],"at":"start"}"#
        ),
        (
            .insert(elements: [Card(title: "x")], before: "b"),
            #"{"op":"insert","elements":[{"title":"x"}],"before":"b"}"#
        ),
        (
            .insert(elements: ["k": Card(title: "x")], after: nil),
            #"{"op":"insert","elements":{"k":{"title":"x"}},"after":null}"#
        ),
        (.insert(elements: [1], into: .item("a")), #"{"op":"insert","elements":[1],"into":{"item":"a"},"at":"end"}"#),
        (.remove("a"), #"{"op":"delete","items":["a"]}"#),
        (.remove(Set([1])), #"{"op":"delete","items":[1]}"#),
        (.update("a", Card(title: "x")), #"{"op":"update","items":[{"id":"a","content":{"title":"x"}}]}"#),
        (.update("a", "text"), #"{"op":"update","items":[{"id":"a","content":"text"}]}"#),
        (.update("a", nobody), #"{"op":"update","items":[{"id":"a","content":null}]}"#),
        (.update("a", kind: "ad"), #"{"op":"update","items":[{"id":"a","kind":"ad"}]}"#),
        (
            .patch("a", ["title": "x", "likes": nil, "by": ["name": "Ann"]]),
            #"{"op":"update","items":[{"id":"a","patch":{"title":"x","likes":null,"by":{"name":"Ann"}}}]}"#
        ),
        (.patch("a", Card(title: "x")), #"{"op":"update","items":[{"id":"a","patch":{"title":"x"}}]}"#),
        (.add("a", "/likes", 1), #"{"op":"update","items":[{"id":"a","add":{"/likes":1}}]}"#),
        (.add("a", "/price", -0.1), #"{"op":"update","items":[{"id":"a","add":{"/price":-0.1}}]}"#),
        (.add("a", "/price", Decimal(5)), #"{"op":"update","items":[{"id":"a","add":{"/price":5}}]}"#),
        (.expand("a"), #"{"op":"expand","items":["a"]}"#),
        (.collapse(["a", "b"]), #"{"op":"collapse","items":["a","b"]}"#),
        (.reload("a"), #"{"op":"reload","items":["a"]}"#),
        (.reconfigure("a"), #"{"op":"reconfigure","items":["a"]}"#),
        (.clear("a"), #"{"op":"clear","items":["a"]}"#),
        (.clear(), #"{"op":"clear"}"#),
        (.sections(.move("s", before: nil)), #"{"op":"move","sections":["s"],"before":null}"#),
        (
            .sections(.insert(NewElement("s", Card(title: "x"), items: [NewElement("a")]), after: "t")),
            #"{"op":"insert","sections":[{"id":"s","content":{"title":"x"},"items":[{"id":"a"}]}],"after":"t"}"#
        ),
        (.sections(.remove("s")), #"{"op":"delete","sections":["s"]}"#),
        (.sections(.update("s", "New")), #"{"op":"update","sections":[{"id":"s","content":"New"}]}"#),
        (.sections(.patch("s", ["title": "x"])), #"{"op":"update","sections":[{"id":"s","patch":{"title":"x"}}]}"#),
        (.sections(.collapse("s")), #"{"op":"collapse","sections":["s"]}"#),
        (.sections(.clear(["s"])), #"{"op":"clear","sections":["s"]}"#),
        (.sections(.clear()), #"{"op":"clear"}"#),
    ]

    @Test("are what the contract has, and read as such", arguments: table)
    func written(edit: ListEdit, json: String) throws {
        let written = try client.json([edit])
        #expect(try written == JSONText("[\(json)]"), "\(written)")
        // Elements are read by the shape of a list.
        if json.contains("elements") { return }
        #expect(try EditBatch(json: written.bytes).count == 1)
    }

    @Test("contents are encoded by the client's encoder, and nothing else is")
    func encoder() throws {
        var client = client
        client.encoder = JSONEncoder()
        client.encoder.dateEncodingStrategy = .iso8601
        client.encoder.keyEncodingStrategy = .convertToSnakeCase
        let dated = Dated(dueDay: Date(timeIntervalSince1970: 0))
        let edits: [ListEdit] = [
            .update("A1", dated), .update("A1", dated.dueDay), .patch("A1", ["dueDay": dated.dueDay]),
            .add("A1", "/itsLikes", 1), .insert(NewElement("A2", dated)), .sections(.update("S", dated)),
        ]
        let content = #"{"due_day":"1970-01-01T00:00:00Z"}"#
        #expect(
            try client.json(edits)
                == JSONText(
                    #"[{"op":"update","items":[{"id":"A1","content":\#(content)}]},"#
                        + #"{"op":"update","items":[{"id":"A1","content":"1970-01-01T00:00:00Z"}]},"#
                        + #"{"op":"update","items":[{"id":"A1","patch":{"dueDay":"1970-01-01T00:00:00Z"}}]},"#
                        + #"{"op":"update","items":[{"id":"A1","add":{"/itsLikes":1}}]},"#
                        + #"{"op":"insert","items":[{"id":"A2","content":\#(content)}],"at":"end"},"#
                        + #"{"op":"update","sections":[{"id":"S","content":\#(content)}]}]"#))
    }

    @Test("what cannot be encoded is a problem, sent to nobody")
    @MainActor
    func unencodable() async {
        let dated = Dated(dueDay: Date(), costs: .nan)
        var client = client
        client.transport = { _ in throw URLError(.badURL) }
        let posted = await #expect(throws: ServerProblem.self) { try await client.post([dated]) }
        let edited = await #expect(throws: ServerProblem.self) { try await client.edit(.update("a", dated)) }
        for problem in [posted, edited] {
            #expect(problem?.title == "A value cannot be encoded")
            #expect(problem?.detail?.contains("costs") == true)
            #expect(problem?.status == nil)
        }
        #expect(client.pending.count == 0)
        let list = LiveList<Card>()
        let unfollowed = await #expect(throws: ServerProblem.self) { try await list.edit(.remove("a")) }
        #expect(unfollowed?.title == "No session is followed")
    }

    @Test("do on the real server what they do here, and a refused batch is taken back", .realServer)
    @MainActor
    func real() async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        try await client.post([
            "sections": [
                NewElement("open", Card(title: "Open"), items: [NewElement("a", Card(title: "A")), NewElement("b")]),
                NewElement("done"),
            ]
        ])
        let list = LiveList<Card?>()
        let following = Task { await list.follow(client) }
        await eventually { list.revision != nil }
        let ids = { list.sections.map { [$0.id.text] + $0.rows.map(\.id.text) } }

        let edits = Task.immediate { () -> String in
            try await list.edit(
                .insert(NewElement(uuid, Card(title: "U")), before: "b"), .move("a", into: .section("done")),
                .add("a", "/likes", 2), .add("a", "/likes", 1), .patch("a", ["title": "AA"]),
                .update("b", Card(title: "B")), .sections(.move("done", before: "open")),
                .sections(.patch("open", ["title": "Todo"])))
        }
        // The edits are shown at once.
        let shown = [["done", "a"], ["open", uuid.elementID.text, "b"]]
        #expect(ids() == shown)
        let revision = try await edits.value
        await eventually { list.revision == revision }
        #expect(ids() == shown)
        #expect(list.rows.map(\.item) == [Card(title: "AA", likes: 3), Card(title: "U"), Card(title: "B")])
        #expect(list.sections[1].content == (try JSONText(#"{"title":"Todo"}"#)))
        #expect(list.rows.compactMap { UUID(id: $0.id) } == [uuid])
        #expect(try await client.shown() == list.list)

        let refused = Task.immediate {
            await Self.problem { try await list.edit([.remove("b"), .move("x", after: "y")]) }
        }
        // A batch that does not fit is not shown.
        #expect(ids() == shown)
        let problem = try #require(await refused.value)
        #expect(problem.status == 422)
        #expect(problem.errors.map(\.pointer) == ["/edits/1/items/0", "/edits/1/after"])
        #expect(problem.errors.map(\.code) == ["unknown-id", "anchor-not-found"])

        #expect(await Self.problem { try await ListClient.hasty(server, "missing").edit(.remove("a")) }?.status == 404)
        #expect(ids() == shown)

        // The client cannot know that a hidden item has the id.
        try await client.edit(.insert(NewElement("hidden"), into: .item("b")), .collapse("b"))
        await eventually { list.rows.last?.isExpanded != true }
        let taken = Task.immediate { await Self.problem { try await list.edit(.insert("hidden", at: .start)) } }
        #expect(ids() == [["done", "hidden", "a"], shown[1]])
        #expect(await taken.value?.errors.map(\.code) == ["duplicate-id"])
        #expect(ids() == shown)
        following.cancel()
    }

    @MainActor
    private static func problem(_ edit: () async throws -> String) async -> ServerProblem? {
        do {
            _ = try await edit()
            return nil
        } catch { return error as? ServerProblem }
    }
}
