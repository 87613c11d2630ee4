import SnapshotKit
import Testing

@Suite("Corrections of a guessed shape")
struct ShapeCorrectionTests {
    private func shape(_ json: String) throws -> StateShape {
        try StateShape(JSONSlice(document: Array(json.utf8)))
    }

    /// The shape after a second document; nil if that of the first stays.
    private func correction(_ first: String, _ second: String) throws -> StateShape? {
        var (one, other) = (StateDocument(Array(first.utf8)), StateDocument(Array(second.utf8)))
        let guess = try #require(try one.listShapes(StateLimits()).first).shape
        let known = try one.state(guess, limits: StateLimits()).snapshot
        let reading = try? other.state(guess, limits: StateLimits(), upon: known)
        return other.correction(of: guess, reading: reading, after: known, StateLimits())
    }

    @Test(
        "are made where the guess was wrong, and nowhere else",
        arguments: [
            // Nothing new.
            (#"[{"id":1,"n":1},{"id":2,"n":1}]"#, #"[{"id":2,"n":1},{"id":3,"n":2}]"#, nil),
            (#"[{"t":"a","n":1},{"t":"b","n":1}]"#, #"[{"t":"b","n":1},{"t":"c","n":1}]"#, nil),
            (#"[{"id":1},{"id":2}]"#, #"[{"id":3},{"id":4}]"#, nil), (#"["a","b"]"#, #"["b","c"]"#, nil),
            (#"{"A":1.5,"B":2,"C":3}"#, #"{"error":"no"}"#, nil),
            // What tells elements apart does so no longer.
            (#"[{"id":1,"n":1},{"id":2,"n":1}]"#, #"[{"id":2,"n":1},{"id":2,"n":2}]"#, #"{"idBy":"match"}"#),
            (#"[{"id":1,"n":1},{"id":2,"n":1}]"#, #"[{"id":2,"n":1},{"n":2}]"#, #"{"idBy":"match"}"#),
            (#"["a","b"]"#, #"["b","b"]"#, #"{"idBy":"match"}"#),
            (#"["a","b"]"#, #"[{"id":1,"n":2}]"#, #"{"idBy":"match"}"#),
            (
                #"{"list":[{"id":1,"x":[{"id":2},{"id":3}]}]}"#, #"{"list":[{"id":1,"x":[{"id":2},{"id":2}]}]}"#,
                #"{"sectionsAt":"/list","itemsAt":"/x","idBy":"match"}"#
            ),
            // An object becomes an array of the same rows, or of what has no id.
            (
                #"{"a":{"id":"a","n":1},"b":{"id":"b","n":2},"c":{"id":"c","n":2}}"#,
                #"[{"id":"a","n":1},{"id":"b","n":3}]"#, #"{"idAt":"/id"}"#
            ),
            (#"{"a":{"n":1},"b":{"n":2},"c":{"n":3}}"#, #"[{"n":1},{"n":3}]"#, nil),
            // It tells of an outage.
            (#"{"rows":[{"id":1,"n":1}]}"#, #"{"errors":[{"message":"no","path":"a"}],"rows":null}"#, nil),
            (#"{"rows":[{"id":1,"n":1}]}"#, #"{"errors":[{"message":"no","path":"a"}]}"#, nil),
            // A state stays one while its ids repeat, and no longer.
            (#"[{"id":1,"content":1}]"#, #"[{"id":1,"content":1},{"id":1,"content":2}]"#, nil),
            (#"[{"id":1,"content":1}]"#, #"[{"id":1,"content":1,"due":2}]"#, #"{"idAt":"/id"}"#),
            (
                #"{"sections":[{"id":"a","items":[{"id":"x"}]}]}"#,
                #"{"sections":[{"id":"a","items":[{"id":"x","title":"T"}]}]}"#,
                #"{"sectionsAt":"/sections","itemsAt":"/items","idAt":"/id"}"#
            ),
            // It is drawn for each answer, or a position.
            (
                #"[{"id":1,"t":"a"},{"id":2,"t":"b"},{"id":3,"t":"c"}]"#,
                #"[{"id":4,"t":"a"},{"id":5,"t":"b"},{"id":6,"t":"c"}]"#, #"{"idBy":"match"}"#
            ),
            (
                #"[{"no":1,"t":"a"},{"no":2,"t":"b"},{"no":3,"t":"c"}]"#,
                #"[{"no":1,"t":"c"},{"no":2,"t":"a"},{"no":3,"t":"b"}]"#, #"{"idBy":"match"}"#
            ),
            (
                #"[{"id":1,"t":"a"},{"id":2,"t":"b"},{"id":3,"t":"c"}]"#,
                #"[{"id":1,"t":"a"},{"id":3,"t":"b"},{"id":2,"t":"c"},{"id":4,"t":"d"}]"#, #"{"idBy":"match"}"#
            ),
            // There is more to it.
            (
                #"[{"id":1,"type":"a"},{"id":2,"type":"a"}]"#, #"[{"id":1,"type":"a"},{"id":2,"type":"b"}]"#,
                #"{"idAt":"/id","kindAt":"/type"}"#
            ),
            (
                #"[{"id":1,"t":"a","sub":[]},{"id":2,"t":"b","sub":[]}]"#,
                #"""
                [{"id":1,"t":"a","sub":[{"id":3,"t":"c","sub":[]}]},{"id":2,"t":"b","sub":[]}]
                """#,
                #"{"idAt":"/id","childrenAt":"/sub"}"#
            ),
            (#"[{"id":1,"t":"a","sub":[{"id":3,"t":"c","sub":[]}]}]"#, #"[{"id":1,"t":"a","sub":[]}]"#, nil),
            (
                #"{"tags":["x"],"items":[]}"#,
                #"""
                {"tags":["x"],"items":[{"id":1,"n":"a longer text of a row"},{"id":2,"n":"b"}]}
                """#, #"{"itemsAt":"/items"}"#
            ),
            // A kind that is none is only nice to know.
            (
                #"[{"id":1,"type":"a"},{"id":2,"type":"b"}]"#, #"[{"id":1,"type":"a"},{"id":2,"type":{}}]"#,
                #"{"idAt":"/id"}"#
            ),
        ] as [(String, String, String?)])
    func corrections(first: String, second: String, wanted: String?) throws {
        #expect(try correction(first, second) == (try wanted.map(shape)), "\(first), then \(second)")
    }

    @Test(
        "are made where a list comes late that is likelier than what was guessed while it was empty",
        arguments: [
            // An array or null may be a list; a member that is not there, or that had elements, was none.
            (#"{"notes":[{"text":"no data"}],"rows":[]}"#, #"{"notes":[{"text":"x"}],"rows":[{"id":1,"n":22}]}"#, true),
            (#"{"notes":[{"text":"no data"}],"rows":null}"#, #"{"notes":[],"rows":[{"id":1,"n":22}]}"#, true),
            (#"{"notes":[{"text":"no data"}],"rows":[]}"#, #"{"rows":[{"n":1},{"n":2}]}"#, false),
            (#"{"notes":[{"text":"no data"}]}"#, #"{"notes":[{"text":"x"}],"rows":[{"id":1,"n":22}]}"#, false),
            (#"{"notes":[{"text":"no data"}],"rows":[]}"#, #"{"notes":[{"text":"x"}],"rows":[]}"#, false),
            // What is smaller is beside the list, also where it has ids; and errors make none.
            (
                #"{"hours":[{"t":1.5},{"t":2.5}],"alerts":[]}"#,
                #"""
                {"hours":[{"t":1.5,"wind":"north"},{"t":2.5,"wind":"north"},{"t":2.5,"wind":"south-west"},
                {"t":3.5,"wind":"north"},{"t":4.5,"wind":"north-west, then calm"}],"alerts":[{"id":1}]}
                """#, false
            ),
            (#"{"notes":[{"text":"no"}],"errors":[]}"#, #"{"notes":[],"errors":[{"message":"a","path":"b"}]}"#, false),
            // Rows with ids give way to a far larger list alone, and never because there are none of them.
            (#"{"rows":[{"id":1}],"notices":[]}"#, #"{"rows":[],"notices":[{"id":2,"n":3}]}"#, false),
            (#"{"rows":[{"id":1}],"more":[]}"#, #"{"rows":[{"id":1}],"more":[{"id":2,"n":3},{"id":3,"n":3}]}"#, false),
        ])
    func lateLists(first: String, later: String, isTaken: Bool) throws {
        var (one, other) = (StateDocument(Array(first.utf8)), StateDocument(Array(later.utf8)))
        let guess = try #require(try one.listShapes(StateLimits()).first).shape
        try other.check(StateLimits())
        let late = other.lateList(at: one.emptyPlaces, than: guess, StateLimits())
        #expect(late == (isTaken ? try shape(#"{"itemsAt":"/rows"}"#) : nil), "\(first), then \(later)")
    }
}
