import DiffClient
import Foundation
import SnapshotKit
import Testing

@Suite("What edits do to rows")
struct EditedRowsTests {
    static let table: [(String, String, String)] = [
        // Hidden items are counted but not shown.
        (
            #"[{"id":"a","expanded":false,"children":3},{"id":"b"},{"id":"c"}]"#,
            #"[{"op":"move","items":["c"],"into":"a"}]"#, #"[{"id":"a","expanded":false,"children":4},{"id":"b"}]"#
        ),
        (
            #"[{"id":"a","expanded":false,"children":3},{"id":"b"}]"#, #"[{"op":"expand","items":["a"]}]"#,
            #"[{"id":"a","children":3},{"id":"b"}]"#
        ),
        (
            #"[{"id":"a","expanded":false,"children":3}]"#, #"[{"op":"clear","items":["a"]}]"#,
            #"[{"id":"a","expanded":false}]"#
        ),
        (
            #"[{"id":"a","children":1},{"id":"b","level":1,"parent":"a"},{"id":"c"}]"#,
            #"[{"op":"collapse","items":["a"]}]"#, #"[{"id":"a","expanded":false,"children":1},{"id":"c"}]"#
        ),
        // In a window the ancestors of the first rows are missing.
        (
            #"[{"id":"b","level":2,"parent":"p"},{"id":"c","level":1,"parent":"q"},{"id":"e"}]"#,
            #"[{"op":"update","items":[{"id":"e","content":1}]}]"#,
            #"[{"id":"b","level":2,"parent":"p"},{"id":"c","level":1,"parent":"q"},{"id":"e","content":1}]"#
        ),
        (
            #"[{"id":"b","level":2,"parent":"p","children":1},{"id":"c","level":3,"parent":"b"},{"id":"e"}]"#,
            #"[{"op":"move","items":["b"],"after":"e"}]"#,
            #"[{"id":"e"},{"id":"b","children":1},{"id":"c","level":1,"parent":"b"}]"#
        ),
        // Relative edits apply to the content at their time.
        (
            #"[{"id":"a","content":{"likes":1,"of":[0.1]}},{"id":"b"}]"#,
            #"[{"op":"update","items":[{"id":"a","patch":{"x":1},"add":{"/likes":1,"/of/0":0.2}}]},"#
                + #"{"op":"update","items":[{"id":"b","add":{"/n":1}}]},"#
                + #"{"op":"move","items":["a"],"after":["c","b"]}]"#,
            #"[{"id":"b","content":{"n":1}},{"id":"a","content":{"likes":2,"of":[0.3],"x":1}}]"#
        ),
    ]

    @Test("as far as rows can tell", arguments: table)
    func edited(before: String, edits: String, after: String) async throws {
        let rows = { (items: String) in #"{"sections":[{"id":"m","items":\#(items)}]}"# }
        let client = StillClient(state: rows(before))
        #expect(try await client.shown(after: edits) == RowList(state: Array(rows(after).utf8)))
    }

    @Test("what is to be drawn again is told though an edit is pending")
    func marks() async throws {
        let client = StillClient(
            state: #"{"sections":[{"id":"m","items":[{"id":"a"},{"id":"b"},{"id":"c"}]}]}"#,
            changes: #"[{"name":"updates","counts":[3],"items":{"updated":["#
                + #"{"at":[0,0],"item":{"id":"a"},"as":"reconfigure"},{"at":[0,1],"item":{"id":"b"},"as":"reload"}]}}]"#
        )
        let redraws = try await client.redraws(after: #"[{"op":"move","items":["c"],"at":"start"}]"#)
        #expect(redraws == ["a": .reconfigure, "b": .reload])
    }
}

/// A client of a server that sends one state, perhaps a change of it, and never answers an edit.
private struct StillClient {
    var client: ListClient

    init(state: String, changes: String? = nil) {
        client = ListClient(url: URL(string: "http://still.example")!, session: "list")
        client.form = .staged()
        client.transport = { request in
            let since = request.url?.query?.contains("since=") == true
            if request.httpMethod == "POST" || since && changes == nil { try await waitForCancellation() }
            if since { try await pause(.milliseconds(100), "another writer, after the edit is shown") }
            let body =
                since
                ? #"{"session":"list","from":"1-a","to":"2-a","dialect":"staged","changes":\#(changes ?? "")}"#
                : #"{"session":"list","from":null,"to":"1-a","dialect":"staged","reset":"initial","state":\#(state)}"#
            return try await Faults([.answered(status: 200, body)]).transport(request)
        }
    }

    /// The list shown after edits.
    func shown(after edits: String) async throws -> RowList? {
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        let editing = Task { await client.edited(edits) }
        defer { editing.cancel() }
        return try await updates.next()?.list
    }

    /// The redraws of the update after the edits' own.
    func redraws(after edits: String) async throws -> [ElementID: Marks.Redraw] {
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        let editing = Task { await client.edited(edits) }
        defer { editing.cancel() }
        _ = try await updates.next()
        guard case .staged(let stages) = try await updates.next()?.change else { return [:] }
        var redraws: [ElementID: Marks.Redraw] = [:]
        for stage in stages {
            for update in stage.batch.items.updated { redraws[stage.list[update.at].id] = update.redraw }
        }
        return redraws
    }
}
