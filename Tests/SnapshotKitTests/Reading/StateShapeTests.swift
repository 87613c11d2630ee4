import SnapshotKit
import Testing

@Suite("Shapes of states")
struct StateShapeTests {
    private func main(_ items: String) -> String { #"{"sections":[{"id":"main","items":[\#(items)]}]}"# }

    private func expect(_ json: String, is document: String, _ location: SourceLocation = #_sourceLocation) {
        let reading = Reading { () throws(StateError) in try Snapshot(json: json) }
        #expect(reading == .state(Tree.json(document).json), "\(json)", sourceLocation: location)
    }

    @Test("a bare array, or an object with items, is one section named main")
    func shorthands() {
        expect("[]", is: main(""))
        expect(#"{"items":[]}"#, is: main(""))
        expect(#"["a",1,{"id":"b","content":null}]"#, is: main(#"{"id":"a"},{"id":1},{"id":"b","content":null}"#))
        expect(#" { "items" : [ "a" ] } "#, is: main(#"{"id":"a"}"#))
        expect(#"{"\u0069tems":["a"]}"#, is: main(#"{"id":"a"}"#))
        expect(#"{"sections":[]}"#, is: #"{"sections":[]}"#)
    }

    @Test("defaults are left out of the document, and nothing else")
    func defaults() {
        expect(
            #"[{"id":"a","expanded":true,"items":[]},{"id":"b","expanded":false,"kind":"","content":{}}]"#,
            is: main(#"{"id":"a"},{"id":"b","expanded":false,"kind":"","content":{}}"#))
        expect(
            #"{"sections":[{"items":["a"],"expanded":true,"content":null,"id":"s"}]}"#,
            is: #"{"sections":[{"id":"s","content":null,"items":[{"id":"a"}]}]}"#)
        expect(
            #"{"sections":[{"items":[{"items":["b"],"id":"a"}],"expanded":false,"id":"s"}]}"#,
            is: #"{"sections":[{"id":"s","expanded":false,"items":[{"id":"a","items":[{"id":"b"}]}]}]}"#)
    }

    @Test("a document as GET writes it is a state, and the same one")
    func documentsComeBack() throws {
        for seed in Effort.seeds(20) {
            var generator = StateGenerator(seed: seed, shape: RandomStateTests.outline)
            let state = try State(generator.state())
            try state.requireFaithful()
            let again = try Snapshot(json: state.snapshot.documentJSON())
            #expect(Changeset(from: state.snapshot, to: again).counts.total == 0)
            #expect(again.documentJSON() == state.snapshot.documentJSON())
        }
    }

    @Test("a section and an item may have the same id")
    func separateNames() throws {
        let state = try Snapshot(json: #"{"sections":[{"id":"x","items":["x","main"]},{"id":"y","items":["y"]}]}"#)
        #expect((state.sectionCount, state.itemCount, state.rowCount) == (2, 3, 3))
    }

    @Test("rows are counted without what is hidden")
    func counts() throws {
        let state = try Snapshot(
            json: #"""
                {"sections":[
                    {"id":"s","expanded":false,"items":["a",{"id":"b","items":["c"]}]},
                    {"id":"t","items":["d",{"id":"e","expanded":false,"items":[{"id":"f","items":["g"]}]},{"id":"h",
                    "items":["i"]}]}
                ]}
                """#)
        #expect((state.sectionCount, state.itemCount, state.rowCount) == (2, 9, 4))
        let rows = try readRows(state.rowsJSON())
        #expect(rows.map { $0.rows.map(\.id) } == [[], ["d", "e", "h", "i"]])
        #expect(rows[1].rows.map(\.children) == [0, 1, 1, 0])
        #expect(rows[1].rows.map(\.level) == [0, 0, 0, 1])
        #expect(rows[1].rows.map(\.parent) == [nil, nil, nil, "h"])
    }

    @Test("what came in goes out byte by byte")
    func verbatim() throws {
        let pieces = [
            #"{"z":1.50,"a":1E+2,"unknown":[-0,0.10,1e400],"é":"\u00e9\/"}"#, "12345678901234567890",
            #""\ud83d\uDE00""#,
        ]
        let items = pieces.enumerated().map { #"{"id":"i\#($0.offset)","content":\#($0.element)}"# }
        let state = try Snapshot(json: "[\(items.joined(separator: ","))]")
        let changes = Changeset(from: .empty, to: state)
        for bytes in [state.documentJSON(), state.rowsJSON()]
            + Dialect.allCases.filter(\.isAdopted).map({ changes.json($0) })
        {
            let text = String(decoding: bytes, as: UTF8.self)
            for piece in pieces { #expect(text.contains(piece)) }
        }
    }

    @Test("an id is echoed as it was written, but an integer that a double cannot hold as a string")
    func tokens() throws {
        let tokens = ["1", "-7", "\"2\"", #""\u0061b""#, #""\/""#, "\"é\"", "\"e\u{301}\"", "9007199254740991"]
        let large = ["-9007199254740992", "123456789012345678901234567890"]
        let state = try Snapshot(json: "[\((tokens + large).joined(separator: ","))]")
        let changes = Changeset(from: .empty, to: state)
        for bytes in [state.documentJSON(), state.rowsJSON()]
            + Dialect.allCases.filter(\.isAdopted).map({ changes.json($0) })
        {
            let text = Array(bytes)
            for token in tokens + large.map({ "\"\($0)\"" }) {
                #expect(text.firstRange(of: Array(("\"id\":" + token).utf8)) != nil, "\(token)")
            }
        }
    }

    @Test("a parent is named as it was written, too")
    func parentTokens() throws {
        let state = try Snapshot(json: #"[{"id":7,"items":["a"]},{"id":"\u0062","items":["c"]}]"#)
        let text = String(decoding: state.rowsJSON(), as: UTF8.self)
        #expect(text.contains(#""parent":7"#))
        #expect(text.contains(#""parent":"\u0062""#) || text.contains(#""parent":"b""#))
    }
}
