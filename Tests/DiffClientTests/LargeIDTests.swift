import DiffClient
import Foundation
import Synchronization
import Testing

private let safe = ElementID(9_007_199_254_740_991)
private let even = ElementID(9_007_199_254_740_992)
private let odd = ElementID(9_007_199_254_740_993)

/// A list that is followed while a test runs.
private final class Reader: Sendable {
    private let all = Mutex<[ListUpdate]>([])

    var updates: [ListUpdate] { all.withLock { $0 } }
    var list: RowList { updates.last?.list ?? RowList() }
    /// Ids of sections and of their rows.
    var ids: [[String]] { list.sections.map { [$0.id.text] + $0.rows.map(\.id.text) } }

    func follow(_ client: ListClient) async throws {
        for try await update in client.updates { all.withLock { $0.append(update) } }
    }

    func shows(_ ids: [ElementID]...) async throws {
        let wanted = ids.map { $0.map(\.text) }
        await eventually { self.ids == wanted }
        #expect(self.ids == wanted)
    }
}

@Suite("Integer ids beyond 2^53", .timeLimit(.minutes(5)))
struct LargeIDTests {
    @Test(
        "are written as strings, and read either way",
        arguments: [
            (safe, "9007199254740991", "9007199254740991"), (even, #""9007199254740992""#, "9007199254740992"),
            (odd, #""9007199254740993""#, "9007199254740993"),
            (ElementID(-9_007_199_254_740_991), "-9007199254740991", "-9007199254740991"),
            (ElementID(Int.min), #""-9223372036854775808""#, "-9223372036854775808"),
            (
                ElementID(UInt128.max), #""340282366920938463463374607431768211455""#,
                #""340282366920938463463374607431768211455""#
            ),
        ] as [(ElementID, String, String)])
    func coding(id: ElementID, written: String, other: String) throws {
        #expect(try JSONText(encoding: [id]).description == "[\(written)]")
        for text in [written, other] {
            #expect(try JSONDecoder().decode([ElementID].self, from: Data("[\(text)]".utf8)) == [id])
        }
    }

    @Test(
        "keep rows and sections apart, and edits find them", .realServer,
        arguments: [ListClient.Form.keyed, .staged(), .staged(compact: true), .diffable])
    func apart(form: ListClient.Form) async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.form = form
        _ = try await client.post(
            state: JSONText(
                #"{"sections":[{"id":9007199254740993,"items":[9007199254740991,9007199254740992,9007199254740993]},"#
                    + #"{"id":9007199254740992}]}"#))
        let (reader, statuses) = (Reader(), Statuses())
        statuses.listen(to: &client)
        let following = Task { [client] in try await reader.follow(client) }
        try await reader.shows([odd, safe, even, odd], [even])

        // Others write integers.
        _ = try await ListClient.hasty(server).post(
            edits: JSONText(
                #"[{"op":"move","items":[9007199254740993],"before":9007199254740992},"#
                    + #"{"op":"update","items":[{"id":9007199254740992,"content":1}]}]"#))
        try await reader.shows([odd, safe, odd, even], [even])
        #expect(reader.list.sections[0].rows.map { $0.content?.description } == [nil, nil, "1"])

        // This client writes its own notation.
        for (edit, ids) in [
            (
                #"{"op":"move","items":[\#(odd.json)],"into":{"section":\#(even.json)}}"#,
                [[odd, safe, even], [even, odd]]
            ),
            (#"{"op":"move","sections":[\#(even.json)],"at":"start"}"#, [[even, odd], [odd, safe, even]]),
            (#"{"op":"delete","items":[\#(even.json)]}"#, [[even, odd], [odd, safe]]),
        ] {
            try await client.edit(JSONText("[\(edit)]"))
            try await reader.shows(ids[0], ids[1])
        }
        #expect(try await client.shown() == reader.list)
        #expect(statuses.problems == [])
        following.cancel()
        _ = await following.result
    }

    @Test("an edit is shown at once, and settles in one step", .realServer)
    func settling() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.form = .staged()
        _ = try await client.post(state: JSONText("[9007199254740991,9007199254740992,9007199254740993]"))
        let reader = Reader()
        let following = Task { [client] in try await reader.follow(client) }
        try await reader.shows(["main", safe, even, odd])
        let new = ElementID(9_007_199_254_740_997)
        for (edit, ids) in [
            (#"{"op":"move","items":[\#(odd.json)],"at":"start"}"#, ["main", odd, safe, even]),
            (#"{"op":"move","items":[9007199254740992],"after":\#(odd.json)}"#, ["main", odd, even, safe]),
            (#"{"op":"insert","items":[9007199254740997],"before":\#(even.json)}"#, ["main", odd, new, even, safe]),
            (#"{"op":"update","items":[{"id":\#(new.json),"content":2}]}"#, ["main", odd, new, even, safe]),
            (#"{"op":"delete","items":[\#(odd.json)]}"#, ["main", new, even, safe]),
        ] as [(String, [ElementID])] {
            let count = reader.updates.count
            let revision = try await client.edit(JSONText("[\(edit)]"))
            await eventually { reader.updates.last?.revision == revision }
            try await reader.shows(ids)
            #expect(reader.list.sections[0].rows.allSatisfy { $0.id == safe || !$0.id.isInteger })
            let operations = reader.updates.dropFirst(count).map(\.operations)
            #expect(operations.reduce(0, +) == 1, "\(edit): \(operations)")
        }
        following.cancel()
        _ = await following.result
    }

    @Test("a window is around the one that is meant", .realServer)
    func window() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: JSONText("[9007199254740991,9007199254740992,9007199254740993,1]"))
        client.window = ListWindow(StateWindow(.around(odd), before: 1, after: 0))
        var updates = client.updates.makeAsyncIterator()
        let update = try #require(try await updates.next())
        #expect(update.ids == [even.text, odd.text])
        #expect(update.window?.anchor == odd)
        #expect(update.window?.above == 1)
    }
}

extension ListUpdate {
    /// The number of operations on rows in the stages.
    fileprivate var operations: Int {
        guard case .staged(let stages) = change else { return 0 }
        return stages.map(\.batch.items).reduce(0) { count, items in
            count + items.deleted.count + items.inserted.count + items.moved.count + items.updated.count
        }
    }
}

extension ElementID {
    /// The id as the client writes it.
    fileprivate var json: String {
        do { return String(try JSONText(encoding: [self]).description.dropFirst().dropLast()) } catch {
            return "\(error)"
        }
    }
}
