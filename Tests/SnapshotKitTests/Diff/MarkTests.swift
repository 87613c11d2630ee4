import SnapshotKit
import Testing

// Marks ask to redraw unchanged rows: CONTRACT §3 (edits) and §6 (`as`).

@Suite("Marks in each dialect")
struct MarkTests {
    private static let state =
        #"{"sections":[{"id":"s","content":1,"items":["a","b",{"id":"p","expanded":false,"items":["h"]}]},"#
        + #"{"id":"t","items":["c"]}]}"#
    private static let marking =
        #"[{"op":"reconfigure","items":["a","h"]},{"op":"reload","items":["b"]},{"op":"reload","sections":["s"]}]"#

    /// The changeset from a state to the result of edits.
    private func changes(from json: String = state, by edits: String) throws -> Changeset {
        let old = try Snapshot(json: json)
        let (new, marks, _) = try old.applying(try EditBatch(json: edits))
        return Changeset(from: old, to: new, marks: marks)
    }

    private func tree(_ changeset: Changeset, _ dialect: Dialect) throws -> Tree {
        try TreeParser.tree(changeset.json(dialect))
    }

    @Test(
        "visible rows and sections that are marked are updates",
        arguments: [
            (
                Dialect.keyed,
                #"[{"op":"update","section":{"id":"s","content":1},"as":"reload"},"#
                    + #"{"op":"update","items":[{"id":"a"}],"as":"reconfigure"},"#
                    + #"{"op":"update","items":[{"id":"b"}],"as":"reload"}]"#
            ),
            (
                .indexed,
                #"{"sections":{"updated":[{"from":0,"at":0,"section":{"id":"s","content":1},"as":"reload"}]},"#
                    + #""items":{"updated":[{"from":[0,0],"at":[0,0],"item":{"id":"a"},"as":"reconfigure"},"#
                    + #"{"from":[0,1],"at":[0,1],"item":{"id":"b"},"as":"reload"}]}}"#
            ),
            (
                .staged,
                #"[{"name":"updates","counts":[3,1],"items":{"updated":[{"at":[0,0],"item":{"id":"a"},"#
                    + #""as":"reconfigure"},"#
                    + #"{"at":[0,1],"item":{"id":"b"},"as":"reload"}]}},{"name":"headers","counts":[3,1],"#
                    + #""sections":{"updated":[{"at":0,"section":{"id":"s","content":1},"as":"reload"}]}}]"#
            ),
            (
                .sequential,
                #"[{"op":"update","at":0,"rows":[{"section":{"id":"s","content":1}}],"as":"reload"},"#
                    + #"{"op":"update","at":1,"rows":[{"item":{"id":"a"},"in":"s"}],"as":"reconfigure"},"#
                    + #"{"op":"update","at":2,"rows":[{"item":{"id":"b"},"in":"s"}],"as":"reload"}]"#
            ),
            (.counts, #"{"sections":{"updated":1},"items":{"updated":2}}"#),
            (.jsonPatch, "[]"),
        ])
    func marked(dialect: Dialect, expected: String) throws {
        #expect(try tree(try changes(by: Self.marking), dialect) == .json(expected))
    }

    @Test(
        "count as updates, though nothing else changed",
        arguments: [(state, marking, 3), ("[1,2]", #"[{"op":"reload","items":[1]}]"#, 1)])
    func counted(json: String, edits: String, updates: Int) throws {
        let changes = try changes(from: json, by: edits)
        #expect(changes.counts.updates == updates && !changes.isEmpty)
    }

    @Test("a diffable snapshot names them, each once")
    func diffable() throws {
        let old = try Snapshot(json: Self.state)
        let rows = try readRows(old.rowsJSON())
        let result = try DiffableApplier.apply(try tree(try changes(by: Self.marking), .diffable), to: rows)
        #expect(result.rows == rows)
        #expect((result.reloaded, result.reconfigured) == (["b"], ["a"]))
        #expect((result.reloadedSections, result.reconfiguredSections) == (["s"], []))
    }

    @Test("a section whose header changed is drawn again in place, in every dialect that says how")
    func headers() throws {
        let edits = #"[{"op":"update","sections":[{"id":"s","content":2}]},{"op":"reconfigure","sections":["t"]}]"#
        let changeset = try changes(by: edits)
        for (dialect, expected) in [
            (
                Dialect.keyed,
                #"[{"op":"update","section":{"id":"s","content":2},"as":"reconfigure"},"#
                    + #"{"op":"update","section":{"id":"t"},"as":"reconfigure"}]"#
            ),
            (
                .indexed,
                #"{"sections":{"updated":[{"from":0,"at":0,"section":{"id":"s","content":2},"as":"reconfigure"},"#
                    + #"{"from":1,"at":1,"section":{"id":"t"},"as":"reconfigure"}]}}"#
            ),
            (
                .staged,
                #"[{"name":"headers","counts":[3,1],"sections":{"updated":["#
                    + #"{"at":0,"section":{"id":"s","content":2},"as":"reconfigure"},"#
                    + #"{"at":1,"section":{"id":"t"},"as":"reconfigure"}]}}]"#
            ),
            (.sequential, #"[{"op":"update","at":0,"rows":[{"section":{"id":"s","content":2}}],"as":"reconfigure"}]"#),
            (
                .diffable,
                #"{"sections":[{"id":"s","items":["a","b","p"]},"#
                    + #"{"id":"t","items":["c"]}],"reload":[],"reconfigure":[],"#
                    + #""reloadSections":[],"reconfigureSections":["s","t"],"items":[],"#
                    + #""sectionContents":[{"id":"s","content":2},{"id":"t"}]}"#
            ),
        ] { #expect(try tree(changeset, dialect) == .json(expected), "\(dialect)") }
    }

    @Test("neighbours that are drawn in different ways are updates of their own")
    func runs() throws {
        let edits = #"[{"op":"reconfigure","items":["a","p"]},{"op":"reload","items":["b","c"]}]"#
        let operations = try tree(try changes(by: edits), .sequential).elements()
        #expect(
            try operations.map { try $0.members("op", "at", "rows", "as").take("as") }
                == [.string("reconfigure"), .string("reload"), .string("reconfigure"), .string("reload")])
    }

    @Test("marks count as updates, hidden rows' do not")
    func counts() throws {
        #expect(Counts(try changes(by: Self.marking).counts) == Counts(updates: 3))
        #expect(Counts(try changes(by: #"[{"op":"reload","items":["h"]}]"#).counts) == Counts())
    }

    @Test("a row that is new, or becomes visible, is drawn anyway")
    func newRows() throws {
        let edits = [
            #"[{"op":"insert","items":[{"id":"n"}]},{"op":"reload","items":["n"]}]"#,
            #"[{"op":"delete","items":["a"]},{"op":"insert","items":[{"id":"n"}],"before":"b"},"#
                + #"{"op":"reconfigure","items":["n"]}]"#,
        ]
        for edits in edits { #expect(try changes(by: edits).counts.updates == 0) }
        let expanding = try changes(by: #"[{"op":"expand","items":["p"]},{"op":"reload","items":["h"]}]"#)
        #expect(Counts(expanding.counts) == Counts(insertions: 1, updates: 1))
    }

    @Test(
        "of a mark and a change the stronger shows",
        arguments: [
            (#"[{"op":"reload","items":["c"]},{"op":"update","items":[{"id":"c","content":2}]}]"#, "reload"),
            (#"[{"op":"reconfigure","items":["c"]},{"op":"update","items":[{"id":"c","content":2}]}]"#, "reconfigure"),
            (#"[{"op":"reconfigure","items":["c"]},{"op":"update","items":[{"id":"c","kind":"k"}]}]"#, "reload"),
            (#"[{"op":"reconfigure","items":["c"]},{"op":"reload","items":["c"]}]"#, "reload"),
            (#"[{"op":"reload","items":["c"]},{"op":"reconfigure","items":["c"]}]"#, "reload"),
        ])
    func strongest(edits: String, manner: String) throws {
        let operations = try tree(try changes(by: edits), .keyed).elements()
        try #require(operations.count == 1)
        #expect(try operations[0].members("op", "items", "as").take("as") == .string(Text(manner)))
    }

    @Test("a marked row that moves is moved and updated")
    func moved() throws {
        let changeset = try changes(by: #"[{"op":"move","items":["c"],"before":"a"},{"op":"reload","items":["c"]}]"#)
        #expect(Counts(changeset.counts) == Counts(moves: 1, updates: 1))
        let batch = try Batch(try tree(changeset, .indexed).members("sections", "items"), namesBoth: true)
        #expect(batch.items.updated.map(\.from) == [IndexPath(1, 0)])
        #expect(batch.items.updated.map(\.at) == [IndexPath(0, 0)])
    }
}
