import SnapshotKit
import Testing

@Suite("Operations on ids")
struct KeyedTests {
    private func changes(_ old: String, _ new: String) throws -> Tree {
        try TreeParser.tree(Changeset(from: try Snapshot(json: old), to: try Snapshot(json: new)).json(.keyed))
    }

    @Test(
        "come in runs",
        arguments: [
            (
                "neighbours that come", #"["a"]"#, #"["x","y","a","z"]"#,
                #"[{"op":"insert","items":[{"id":"z"}],"in":"main","before":null},"#
                    + #"{"op":"insert","items":[{"id":"x"},{"id":"y"}],"in":"main","before":"a"}]"#
            ),
            (
                "a row that moves between them", #"["a","b","c"]"#, #"["b","c","x","a","y"]"#,
                #"[{"op":"insert","items":[{"id":"y"}],"in":"main","before":null},"#
                    + #"{"op":"move","item":"a","in":"main","before":"y"},"#
                    + #"{"op":"insert","items":[{"id":"x"}],"in":"main","before":"a"}]"#
            ),
            (
                "all that go, of whichever section",
                #"{"sections":[{"id":"s","items":["a","b","c"]},{"id":"t","items":["d"]},{"id":"u","items":["e"]}]}"#,
                #"{"sections":[{"id":"s","items":["b"]},{"id":"t","items":[]}]}"#,
                #"[{"op":"remove","items":["a","c","d"]},{"op":"remove","section":"u"}]"#
            ),
            (
                "updates, by how they are drawn", #"["a","b","c","d"]"#,
                #"[{"id":"a","kind":"k"},{"id":"b","content":1},{"id":"c","kind":"k"},{"id":"d","content":2}]"#,
                #"[{"op":"update","items":[{"id":"b","content":1},{"id":"d","content":2}],"as":"reconfigure"},"#
                    + #"{"op":"update","items":[{"id":"a","kind":"k"},{"id":"c","kind":"k"}],"as":"reload"}]"#
            ),
            (
                "sections come first, go last, and bring their new rows along",
                #"{"sections":[{"id":"s","items":["a","b"]}]}"#,
                #"{"sections":[{"id":"t","content":1,"items":["x","a","y"]}]}"#,
                #"[{"op":"insert","section":{"id":"t","content":1,"items":[{"id":"x"},{"id":"y"}]},"before":null},"#
                    + #"{"op":"move","item":"a","in":"t","before":"y"},{"op":"remove","section":"s"}]"#
            ),
        ])
    func runs(what: String, old: String, new: String, expected: String) throws {
        let changes = try changes(old, new)
        #expect(changes == .json(expected), "\(what): \(changes)")
    }

    @Test("a page of rows at the end is one operation")
    func page() throws {
        let ids = (0..<100).map { "\"row \($0)\"" }
        let operations = try changes("[\(ids[..<50].joined(separator: ","))]", "[\(ids.joined(separator: ","))]")
        #expect(try operations.elements().count == 1)
    }
}
