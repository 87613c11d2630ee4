import SnapshotKit
import Testing

@Suite("Reading without faults")
struct OmittedFaultsTests {
    private func state(_ json: String, _ shape: String, omitsFaults: Bool = true, upon known: Snapshot? = nil) throws
        -> StateReading
    {
        let shape = shape == "{}" ? .native : try StateShape(JSONSlice(document: Array(shape.utf8)))
        var document = StateDocument(Array(json.utf8))
        return try document.state(
            shape, limits: StateLimits(), upon: known, omitsFaults: omitsFaults,
            continuing: ElementHead(sequence: 1))
    }

    /// Each section's id and its rows' ids, with the members that an item has.
    private func outline(_ snapshot: Snapshot) -> String { String(decoding: snapshot.documentJSON(), as: UTF8.self) }

    @Test(
        "leaves out what is wrong with an element, and nothing else",
        arguments: [
            (#"["a","b","a"]"#, "{}", #"[{"id":"a"},{"id":"b"}]"#),
            (#"[{"id":1,"content":1},{"id":1,"content":2},{"id":2}]"#, "{}", #"[{"id":1,"content":1},{"id":2}]"#),
            (#"[{"content":1},{"id":null},null,[],{"id":2}]"#, "{}", #"[{"id":2}]"#),
            (
                #"{"items":[{"id":1,"due":[1],"kind":7,"expanded":0,"content":2}],"total":1}"#, "{}",
                #"[{"id":1,"content":2}]"#
            ),
            (
                #"[{"id":1,"items":{}},{"id":2,"items":[{"id":3},{"id":1},{"n":4}]}]"#, "{}",
                #"[{"id":1},{"id":2,"items":[{"id":3}]}]"#
            ),
            (
                #"[{"id":1,"type":{}},{"id":2,"type":"a"},{"id":2}]"#, #"{"idAt":"/id","kindAt":"/type"}"#,
                #"[{"id":1,"content":{"id":1,"type":{}}},{"id":2,"content":{"id":2,"type":"a"},"kind":"a"}]"#
            ),
            (
                #"[{"id":1,"sub":{"n":1},"open":"no"},{"id":2,"sub":[{"id":3}],"open":false}]"#,
                #"{"idAt":"/id","childrenAt":"/sub","expandedAt":"/open"}"#,
                #"[{"id":1,"content":{"id":1,"open":"no"}},{"id":2,"content":{"id":2,"open":false},"expanded":false,"#
                    + #""items":[{"id":3,"content":{"id":3}}]}]"#
            ),
            (
                #"[{"t":"a","type":{}},{"t":"b","type":"k"}]"#, #"{"idBy":"match","kindAt":"/type"}"#,
                #"[{"id":"1.0","content":{"t":"a","type":{}}},{"id":"1.1","content":{"t":"b","type":"k"},"kind":"k"}]"#
            ),
        ])
    func rows(json: String, shape: String, rows: String) throws {
        let read = try state(json, shape)
        #expect(outline(read.snapshot) == #"{"sections":[{"id":"main","items":\#(rows)}]}"#)
        // What one reading has passed over is a fault of the next one all the same.
        #expect(throws: StateError.self) { try state(json, shape, omitsFaults: false, upon: read.snapshot) }
        #expect(try outline(state(json, shape, upon: read.snapshot).snapshot) == outline(read.snapshot))
    }

    @Test(
        "leaves out sections as well",
        arguments: [
            (
                #"{"sections":[{"id":"a","kind":1,"items":["x"]},{"items":["y"]},7,{"id":"a","items":[]},{"id":"b"}]}"#,
                "{}",
                #"{"id":"a","items":[{"id":"x"}]},{"id":"b","items":[]}"#
            ),
            (
                #"[{"id":"a","open":2,"rows":[{"id":1},{"id":1}]},{"rows":[{"id":2}]}]"#,
                #"{"sectionsAt":"","itemsAt":"/rows","sectionExpandedAt":"/open"}"#,
                #"{"id":"a","content":{"id":"a","open":2},"items":[{"id":1,"content":{"id":1}}]}"#
            ),
            (
                #"[{"id":"a","rows":"-"},{"id":"b","rows":["x"]},{"id":"c","rows":{}},{"id":"d","rows":0},{"id":"e"}]"#,
                #"{"sectionsAt":"","itemsAt":"/rows","idAt":""}"#,
                #"{"id":"a","content":{"id":"a"},"items":[]},"#
                    + #"{"id":"b","content":{"id":"b"},"items":[{"id":"x","content":"x"}]},"#
                    + #"{"id":"c","content":{"id":"c"},"items":[]},{"id":"d","content":{"id":"d"},"items":[]},"#
                    + #"{"id":"e","content":{"id":"e"},"items":[]}"#
            ),
            (
                #"[{"id":"a","rows":["x"]},{"rows":["y"]},{"id":"b","rows":["z"]}]"#,
                #"{"sectionsAt":"","itemsAt":"/rows","idBy":"match"}"#,
                #"{"id":"a","content":{"id":"a"},"items":[{"id":"1.0","content":"x"}]},"#
                    + #"{"id":"b","content":{"id":"b"},"items":[{"id":"1.2","content":"z"}]}"#
            ),
        ])
    func sections(json: String, shape: String, sections: String) throws {
        #expect(outline(try state(json, shape).snapshot) == #"{"sections":[\#(sections)]}"#)
    }

    @Test(
        "refuses an error page",
        arguments: [
            ("{}", #"{"error":{"code":500}}"#), ("{}", #""no""#), ("{}", #"{"items":{"id":1}}"#), ("{}", "[1,"),
            ("{}", #"{"sections":[],"items":[]}"#), (#"{"itemsAt":"/rows","idAt":"/id"}"#, #"{"rows":"none"}"#),
            (#"{"itemsAt":"/rows","idAt":"/id"}"#, #"{"error":1}"#),
            (#"{"sectionsAt":"","itemsAt":"","map":true,"idAt":"/id"}"#, #"{"error":{"id":1}}"#),
            (#"{"sectionsAt":"/all","itemsAt":"/rows"}"#, #"{"all":[{"id":"a"}]}"#),
            (#"{"sectionsAt":"","itemsAt":"/rows"}"#, #"[{"id":"a","rows":"no"},{"id":"b"}]"#),
            (#"{"sectionsAt":"","itemsAt":"/rows"}"#, #"[{"id":"a","rows":{}},{"rows":[]}]"#),
        ])
    func refused(shape: String, json: String) {
        #expect(throws: StateError.self) { try state(json, shape) }
    }
}
