import SnapshotKit
import Testing

@Suite("Splices of one flat list")
struct SequentialTests {
    /// Two sections with headers, of two rows and one.
    private static let old = """
        {"sections":[{"id":"x","content":1,"items":[{"id":"a","content":1},"b"]},{"id":"y","content":2,"items":["c"]}]}
        """

    @Test(
        "what changes sections says so once",
        arguments: [
            (
                "a row that moves there",
                #"[{"id":"x","content":1,"items":["b"]},{"id":"y","content":2,"items":["c",{"id":"a","content":1}]}]"#,
                #"[{"op":"move","from":1,"to":4,"in":"y"}]"#
            ),
            (
                "one that moves there and differs",
                #"[{"id":"x","content":1,"items":["b"]},{"id":"y","content":2,"items":["c",{"id":"a","content":2}]}]"#,
                #"[{"op":"move","from":1,"to":4,"in":"y"},"#
                    + #"{"op":"update","at":4,"rows":[{"item":{"id":"a","content":2},"in":"y"}],"as":"reconfigure"}]"#
            ),
            (
                "one whose section goes, and that need not move",
                #"[{"id":"z","items":[{"id":"a","content":1},"b"]},{"id":"y","content":2,"items":["c"]}]"#,
                #"[{"op":"remove","at":0,"count":1},"#
                    + #"{"op":"update","at":0,"rows":[{"item":{"id":"a","content":1},"in":"z"},"#
                    + #"{"item":{"id":"b"},"in":"z"}],"as":"reconfigure"}]"#
            ),
            (
                "one that moves within its section does not",
                #"[{"id":"x","content":1,"items":["b",{"id":"a","content":1}]},{"id":"y","content":2,"items":["c"]}]"#,
                #"[{"op":"move","from":2,"to":1}]"#
            ),
            (
                "a header that moves is in no section",
                #"[{"id":"x","content":1,"items":[{"id":"a","content":1},"b","c"]},{"id":"y","content":2,"items":[]}]"#,
                #"[{"op":"move","from":3,"to":4},"#
                    + #"{"op":"update","at":3,"rows":[{"item":{"id":"c"},"in":"x"}],"as":"reconfigure"}]"#
            ),
        ])
    func homes(what: String, new: String, expected: String) throws {
        let change = Changeset(from: try Snapshot(json: Self.old), to: try Snapshot(json: #"{"sections":\#(new)}"#))
        let changes = change.json(.sequential)
        #expect(try TreeParser.tree(changes) == .json(expected), "\(what): \(String(decoding: changes, as: UTF8.self))")
    }
}
