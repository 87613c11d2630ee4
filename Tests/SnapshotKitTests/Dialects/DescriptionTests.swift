import Testing

@testable import SnapshotKit

@Suite("What is printed")
struct DescriptionTests {
    @Test(
        "a changeset is a line for each operation",
        arguments: [
            ("[]", "[]", "no changes"),
            (
                #"[{"id":"a","content":1},"b","c"]"#, #"["c",{"id":"a","content":2},"d"]"#,
                """
                {"op":"remove","items":["b"]}
                {"op":"insert","items":[{"id":"d"}],"in":"main","before":null}
                {"op":"move","item":"a","in":"main","before":"d"}
                {"op":"update","items":[{"id":"a","content":2}],"as":"reconfigure"}
                """
            ),
            (
                #"{"content":1,"sections":[]}"#, #"{"content":{"n":2},"sections":[{"id":"s"}]}"#,
                """
                {"content":{"n":2}}
                {"op":"insert","section":{"id":"s","items":[]},"before":null}
                """
            ),
            (#"{"content":1,"sections":[]}"#, #"{"sections":[]}"#, "{}"),
        ])
    func changeset(old: String, new: String, text: String) throws {
        #expect("\(Changeset(from: try Snapshot(json: old), to: try Snapshot(json: new)))" == text)
    }

    @Test("a changeset is text in each dialect", arguments: Dialect.allCases)
    func dialects(dialect: Dialect) throws {
        let change = Changeset(from: try Snapshot(json: #"["é"]"#), to: try Snapshot(json: #"["ü","é"]"#))
        #expect(change.text(dialect) == String(decoding: change.json(dialect), as: UTF8.self))
        #expect(change.text(dialect).contains("ü") == (dialect != .counts))
    }

    @Test(
        "a state is a line for each section and item",
        arguments: [
            (#"{"sections":[]}"#, "no sections"),
            ("[1,2]", "main\n  1\n  2"),
            (
                """
                {"content":{"n" : 1},"sections":[
                    {"id":"s","content":{"title":"S"},"items":[
                        {"id":"a","kind":"card","content":[1,
                            2]},
                        {"id":"b","expanded":false,"items":[{"id":"c","items":["d"]}]},"e"]},
                    {"id":"t","expanded":false,"items":["f"]}]}
                """,
                """
                {"n":1}
                s {"title":"S"}
                  a (card) [1,2]
                  b collapsed
                    c
                      d
                  e
                t collapsed
                  f
                """
            ),
        ])
    func state(json: String, text: String) throws {
        #expect("\(try Snapshot(json: json))" == text)
    }
}
