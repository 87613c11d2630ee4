import Testing

@testable import SnapshotKit

/// Sections out of flat rows (CONTRACT §2, `groupAt`), and ids that are unique within their section.
///
/// The file is long for its table: half of it is documents, each with the state that it is read as.
@Suite("Groups")
struct GroupTests {
    private static func section(_ id: String, _ items: String, _ content: String? = nil) -> String {
        #"{"id":\#(id)\#(content.map { #","content":\#($0)"# } ?? ""),"items":[\#(items)]}"#
    }

    /// A section that a group makes; `value` is the group's, if its id is written in another way.
    private static func group(_ id: String, _ items: String, _ value: String? = nil) -> String {
        section(id, items, #"{"group":\#(value ?? id)}"#)
    }

    private static func state(_ sections: String..., content: String? = nil) -> String {
        #"{\#(content.map { #""content":\#($0),"# } ?? "")"sections":[\#(sections.joined(separator: ","))]}"#
    }

    static let flat: [ShapeCase] = [
        .init(
            json: #"[{"id":1,"g":"b"},{"id":2,"g":"a"},{"id":3,"g":"b"}]"#, shape: #"{"groupAt":"/g"}"#,
            document: state(
                group(#""b""#, #"{"id":1,"content":{"id":1,"g":"b"}},{"id":3,"content":{"id":3,"g":"b"}}"#),
                group(#""a""#, #"{"id":2,"content":{"id":2,"g":"a"}}"#))),
        // No group, an empty one and one with that very name.
        .init(
            json: #"[{"id":1},{"id":2,"g":null},{"id":3,"g":""},{"id":4,"g":"none"}]"#, shape: #"{"groupAt":"/g"}"#,
            document: state(
                group(
                    #""none""#,
                    #"{"id":1,"content":{"id":1}},{"id":2,"content":{"id":2,"g":null}},"#
                        + #"{"id":3,"content":{"id":3,"g":""}},{"id":4,"content":{"id":4,"g":"none"}}"#, "null"))),
        .init(json: "[]", shape: #"{"groupAt":"/g"}"#, document: state()),
        .init(json: "null", shape: #"{"groupAt":"/g"}"#, document: state()),
        // An integer and its text are one section; a notation with escapes is the same text.
        .init(
            json: #"["7",7,"\u0061","a"]"#, shape: #"{"idAt":"","groupAt":"","idScope":"state","duplicates":"first"}"#,
            document: state(
                group(#""7""#, #"{"id":"7","content":"7"}"#),
                group(#""a""#, #"{"id":"\u0061","content":"\u0061"}"#))),
        .init(
            json: #"[{"id":1,"d":"2026-11-25T10"},{"id":2,"d":"2026-11-26"},{"id":3,"d":"2026-11-25"}]"#,
            shape: #"{"groupAt":"/d","groupPrefix":10}"#,
            document: state(
                group(
                    #""2026-11-25""#,
                    #"{"id":1,"content":{"id":1,"d":"2026-11-25T10"}},{"id":3,"content":{"id":3,"d":"2026-11-25"}}"#),
                group(#""2026-11-26""#, #"{"id":2,"content":{"id":2,"d":"2026-11-26"}}"#))),
        // Scalars, not bytes; digits are text.
        .init(
            json: #"["éa","éb","\u00e9\"",123,"12"]"#, shape: #"{"idAt":"","groupAt":"","groupPrefix":2}"#,
            document: state(
                group(#""éa""#, #"{"id":"éa","content":"éa"}"#), group(#""éb""#, #"{"id":"éb","content":"éb"}"#),
                group(#""é\"""#, #"{"id":"\u00e9\"","content":"\u00e9\""}"#),
                group(#""12""#, #"{"id":123,"content":123},{"id":"12","content":"12"}"#))),
        // Children stay with their parents.
        .init(
            json: #"[{"id":1,"g":"a","k":[{"id":2,"g":"b"}]},{"id":3,"g":"b"},{"id":4,"g":"a","k":[{"id":5,"g":[]}]}]"#,
            shape: #"{"groupAt":"/g","childrenAt":"/k"}"#,
            document: state(
                group(
                    #""a""#,
                    #"{"id":1,"content":{"id":1,"g":"a"},"items":[{"id":2,"content":{"id":2,"g":"b"}}]},"#
                        + #"{"id":4,"content":{"id":4,"g":"a"},"items":[{"id":5,"content":{"id":5,"g":[]}}]}"#),
                group(#""b""#, #"{"id":3,"content":{"id":3,"g":"b"}}"#))),
        .init(
            json: #"{"x":{"g":2},"y":{"g":1},"z":{"g":"2"}}"#, shape: #"{"itemsAt":"","map":true,"groupAt":"/g"}"#,
            document: state(
                group("2", #"{"id":"x","content":{"g":2}},{"id":"z","content":{"g":"2"}}"#),
                group("1", #"{"id":"y","content":{"g":1}}"#))),
        // Omitted rows make no section.
        .init(
            json: #"[{"id":1,"g":"a"},{"id":2,"g":"b"},{"id":1,"g":"c"},{"id":3,"g":"b"},{"id":4,"g":"a"}]"#,
            shape: #"{"groupAt":"/g","duplicates":"first"}"#,
            document: state(
                group(#""a""#, #"{"id":1,"content":{"id":1,"g":"a"}},{"id":4,"content":{"id":4,"g":"a"}}"#),
                group(#""b""#, #"{"id":2,"content":{"id":2,"g":"b"}},{"id":3,"content":{"id":3,"g":"b"}}"#))),
        .init(
            json: #"[{"g":"z"},{"id":2,"g":"b"},null,{"id":1,"g":"a"},{"id":3,"g":"b"}]"#,
            shape: #"{"groupAt":"/g","invalid":"skip"}"#,
            document: state(
                group(#""b""#, #"{"id":2,"content":{"id":2,"g":"b"}},{"id":3,"content":{"id":3,"g":"b"}}"#),
                group(#""a""#, #"{"id":1,"content":{"id":1,"g":"a"}}"#))),
        // The first in the document is kept, not the first in the state.
        .init(
            json: #"[{"id":1,"g":"a"},{"id":2,"g":"b"},{"id":2,"g":"a"}]"#,
            shape: #"{"groupAt":"/g","duplicates":"first"}"#,
            document: state(
                group(#""a""#, #"{"id":1,"content":{"id":1,"g":"a"}}"#),
                group(#""b""#, #"{"id":2,"content":{"id":2,"g":"b"}}"#))),
        .init(
            json: #"[{"id":1,"g":1.5},{"id":2,"g":{}},{"id":3,"g":true},{"id":4,"g":"\u0007"},{"id":5,"g":[]},"#
                + #"{"id":6}]"#,
            shape: #"{"groupAt":"/g"}"#,
            document: state(
                group(#""1.5""#, #"{"id":1,"content":{"id":1,"g":1.5}}"#, "1.5"),
                group(
                    #""none""#,
                    #"{"id":2,"content":{"id":2,"g":{}}},{"id":4,"content":{"id":4,"g":"\u0007"}},"#
                        + #"{"id":5,"content":{"id":5,"g":[]}},{"id":6,"content":{"id":6}}"#, "null"),
                group(#""true""#, #"{"id":3,"content":{"id":3,"g":true}}"#, "true"))),
        // Numbers by their text, whatever their value; the first row says how the header has it.
        .init(
            json: #"[[1,1],[2,1.0],[3,"1"],[4,1e2],[5,100],[6,-0],[7,"1.0"],[8,false],[9,"false"]]"#,
            shape: #"{"idAt":"/0","groupAt":"/1"}"#,
            document: state(
                group("1", #"{"id":1,"content":[1,1]},{"id":3,"content":[3,"1"]}"#),
                group(#""1.0""#, #"{"id":2,"content":[2,1.0]},{"id":7,"content":[7,"1.0"]}"#, "1.0"),
                group(#""1e2""#, #"{"id":4,"content":[4,1e2]}"#, "1e2"), group("100", #"{"id":5,"content":[5,100]}"#),
                group("-0", #"{"id":6,"content":[6,-0]}"#),
                group(#""false""#, #"{"id":8,"content":[8,false]},{"id":9,"content":[9,"false"]}"#, "false"))),
        .init(
            json: #"[[1,"1"],[2,1],[3,"\u0074rue"],[4,true],[5,9007199254740993]]"#,
            shape: #"{"idAt":"/0","groupAt":"/1"}"#,
            document: state(
                group(#""1""#, #"{"id":1,"content":[1,"1"]},{"id":2,"content":[2,1]}"#),
                group(#""true""#, #"{"id":3,"content":[3,"\u0074rue"]},{"id":4,"content":[4,true]}"#),
                group(#""9007199254740993""#, #"{"id":5,"content":[5,9007199254740993]}"#, "9007199254740993"))),
        // What is cut is text.
        .init(
            json: #"[[1,true],[2,"t"],[3,20.5],[4,20],[5,"\u0007x"],[6,"ab\u0007"]]"#,
            shape: #"{"idAt":"/0","groupAt":"/1","groupPrefix":2}"#,
            document: state(
                group(#""tr""#, #"{"id":1,"content":[1,true]}"#), group(#""t""#, #"{"id":2,"content":[2,"t"]}"#),
                group(#""20""#, #"{"id":3,"content":[3,20.5]},{"id":4,"content":[4,20]}"#),
                group(#""none""#, #"{"id":5,"content":[5,"\u0007x"]}"#, "null"),
                group(#""ab""#, #"{"id":6,"content":[6,"ab\u0007"]}"#))),
        // The first row that is kept.
        .init(
            json: #"[{"id":1,"g":"a"},{"id":1,"g":"5"},{"g":"5"},{"id":2,"g":5}]"#,
            shape: #"{"groupAt":"/g","duplicates":"first","invalid":"skip"}"#,
            document: state(
                group(#""a""#, #"{"id":1,"content":{"id":1,"g":"a"}}"#),
                group(#""5""#, #"{"id":2,"content":{"id":2,"g":5}}"#, "5"))),
        .init(
            json: #"{"d":[{"id":1,"g":"a"},{"id":2,"g":"b"},{"id":1,"g":"c"}]}"#,
            shape: #"{"itemsAt":"/d","groupAt":"/g"}"#, violations: ["duplicate-id /d/0/id", "duplicate-id /d/2/id"]),
        .init(
            json: #"[{"id":1,"g":"a","k":[{"id":2},{"id":3}]},{"id":4,"g":"b","k":[{"id":3}]}]"#,
            shape: #"{"groupAt":"/g","childrenAt":"/k"}"#,
            violations: ["duplicate-id /0/k/1/id", "duplicate-id /1/k/0/id"]),
    ]

    static let joined: [ShapeCase] = [
        .init(
            json: #"{"s":[{"id":"A","t":"Eggs"},{"id":"B"}],"i":[{"id":1,"g":"B"},{"id":2,"g":"C"},{"id":3,"g":"A"}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#,
            document: state(
                section(#""A""#, #"{"id":3,"content":{"id":3,"g":"A"}}"#, #"{"id":"A","t":"Eggs"}"#),
                section(#""B""#, #"{"id":1,"content":{"id":1,"g":"B"}}"#, #"{"id":"B"}"#),
                group(#""C""#, #"{"id":2,"content":{"id":2,"g":"C"}}"#))),
        // In either order, and with everything else as the list's content.
        .init(
            json: #"{"n":1,"i":[{"id":1,"g":"B"}],"s":[{"k":"A"},{"k":"B","o":false}]}"#,
            shape: #"{"sectionsAt":"/s","sectionIdAt":"/k","sectionExpandedAt":"/o","itemsAt":"/i","groupAt":"/g","#
                + #""rest":true}"#,
            document: #"{"content":{"n":1},"sections":[{"id":"A","content":{"k":"A"},"items":[]},"#
                + #"{"id":"B","expanded":false,"content":{"k":"B","o":false},"items":["#
                + #"{"id":1,"content":{"id":1,"g":"B"}}]}]}"#),
        .init(
            json: #"{"i":[],"s":[],"n":1}"#, shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g","rest":true}"#,
            document: state(content: #"{"n":1}"#)),
        .init(
            json: #"{"i": [] , "s":{"x":[]}}"#,
            shape: #"{"sectionsAt":"/s/x","itemsAt":"/i","groupAt":"/g","rest":true}"#,
            document: state(content: #"{"s":{}}"#)),
        .init(
            json: #"{"s":{"A":{"t":1},"B":7},"i":{"x":{"g":"B"}}}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","map":true,"groupAt":"/g"}"#,
            document: state(
                section(#""A""#, "", #"{"t":1}"#), section(#""B""#, #"{"id":"x","content":{"g":"B"}}"#, "7"))),
        // Each list may be missing.
        .init(
            json: #"{"s":[{"id":"A"}]}"#, shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#,
            violations: ["not-found /i"]),
        .init(
            json: #"{"i":[{"id":1}]}"#, shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#,
            violations: ["not-found /s"]),
        .init(
            json: #"{"s":[{"id":"A"}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g","missing":"empty"}"#,
            document: state(section(#""A""#, "", #"{"id":"A"}"#))),
        .init(
            json: #"{"i":[{"id":1,"g":"A"}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g","missing":"empty"}"#,
            document: state(group(#""A""#, #"{"id":1,"content":{"id":1,"g":"A"}}"#))),
        .init(
            json: #"{"i":[],"s":7}"#, shape: #"{"sectionsAt":"/s/x","itemsAt":"/i","groupAt":"/g","missing":"empty"}"#,
            violations: ["not-found /s/x"]),
        .init(
            json: #"{"s":[{"id":"A"},{"id":"A"},{"x":1}],"i":[{"id":1,"g":"A"}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#,
            violations: ["duplicate-id /s/0/id", "duplicate-id /s/1/id", "missing-id /s/2"]),
        .init(
            json: #"{"s":[{"id":"A"},{"id":"A"}],"i":[{"id":1,"g":"A"}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#,
            violations: ["duplicate-id /s/0/id", "duplicate-id /s/1/id"]),
        .init(
            json: #"{"i":[{"id":1,"g":"A"},{"id":2,"g":"B"}],"s":[{"id":"A","n":1},{"id":"A","n":2},{},{"id":"B"}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g","duplicates":"first","invalid":"skip"}"#,
            document: state(
                section(#""A""#, #"{"id":1,"content":{"id":1,"g":"A"}}"#, #"{"id":"A","n":1}"#),
                section(#""B""#, #"{"id":2,"content":{"id":2,"g":"B"}}"#, #"{"id":"B"}"#))),
        // One array may be both.
        .init(
            json: #"[{"id":"A","g":"B"},{"id":"B"}]"#, shape: #"{"sectionsAt":"","itemsAt":"","groupAt":"/g"}"#,
            document: state(
                section(#""A""#, "", #"{"id":"A","g":"B"}"#),
                section(#""B""#, #"{"id":"A","content":{"id":"A","g":"B"}}"#, #"{"id":"B"}"#),
                group(#""none""#, #"{"id":"B","content":{"id":"B"}}"#, "null"))),
        // A listed section keeps its element, whatever its rows say.
        .init(
            json: #"{"s":[{"id":"none"},{"id":true},{"id":"true"}],"i":[{"id":1,"g":[]},{"id":2,"g":true}]}"#,
            shape: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g","invalid":"skip"}"#,
            document: state(
                section(#""none""#, #"{"id":1,"content":{"id":1,"g":[]}}"#, #"{"id":"none"}"#),
                section(#""true""#, #"{"id":2,"content":{"id":2,"g":true}}"#, #"{"id":"true"}"#))),
    ]

    static let scoped: [ShapeCase] = [
        .init(
            json: #"[{"id":"popular","items":[{"id":"s1"},{"id":2}]},{"id":"a/b","items":[{"id":"s1"},{"id":"~/"}]}]"#,
            shape: #"{"sectionsAt":"","idScope":"section"}"#,
            document: state(
                section(
                    #""popular""#,
                    #"{"id":"popular/s1","content":{"id":"s1"}},{"id":"popular/2","content":{"id":2}}"#,
                    #"{"id":"popular"}"#),
                section(
                    #""a/b""#,
                    #"{"id":"a~1b/s1","content":{"id":"s1"}},{"id":"a~1b/~0~1","content":{"id":"~/"}}"#,
                    #"{"id":"a/b"}"#))),
        // Ids written with escapes.
        .init(
            json: ##"[{"id":"\u0041","items":[{"id":"\u0061"},{"id":"\"q"}]}]"##,
            shape: #"{"sectionsAt":"","idScope":"section"}"#,
            document: state(
                section(
                    ##""\u0041""##,
                    ##"{"id":"A/a","content":{"id":"\u0061"}},{"id":"A/\"q","content":{"id":"\"q"}}"##,
                    ##"{"id":"\u0041"}"##))),
        // The section's id may come after its items.
        .init(
            json: #"[{"items":[{"k":[{"id":"c"}],"id":"p"}],"id":7}]"#,
            shape: #"{"sectionsAt":"","childrenAt":"/k","idScope":"section"}"#,
            document: state(
                section(
                    "7", #"{"id":"7/p","content":{"id":"p"},"items":[{"id":"7/c","content":{"id":"c"}}]}"#,
                    #"{"id":7}"#))),
        .init(
            json: #"[{"id":1,"g":"a"},{"id":1,"g":"b"},{"id":1}]"#, shape: #"{"groupAt":"/g","idScope":"section"}"#,
            document: state(
                group(#""a""#, #"{"id":"a/1","content":{"id":1,"g":"a"}}"#),
                group(#""b""#, #"{"id":"b/1","content":{"id":1,"g":"b"}}"#),
                group(#""none""#, #"{"id":"none/1","content":{"id":1}}"#, "null"))),
        .init(
            json: #"[{"id":1}]"#, shape: #"{"itemsAt":"","idScope":"section"}"#,
            document: state(section(#""main""#, #"{"id":"main/1","content":{"id":1}}"#))),
        .init(
            json: #"[{"t":"x/","id":1}]"#, shape: #"{"idAt":["/t","/id"],"idScope":"section"}"#,
            document: state(section(#""main""#, #"{"id":"main/x~01~11","content":{"t":"x/","id":1}}"#))),
        .init(
            json: #"{"A":{"x":1},"B":{"x":2}}"#,
            shape: #"{"sectionsAt":"","itemsAt":"","map":true,"idScope":"section"}"#,
            document: state(
                section(#""A""#, #"{"id":"A/x","content":1}"#), section(#""B""#, #"{"id":"B/x","content":2}"#))),
        .init(
            json: #"[{"id":"A","items":[{"id":1},{"id":1}]}]"#, shape: #"{"sectionsAt":"","idScope":"section"}"#,
            violations: ["duplicate-id /0/items/0/id", "duplicate-id /0/items/1/id"]),
        .init(
            json: #"[{"id":"A","items":[{"id":1},{"id":"\#(String(repeating: "x", count: 2_047))"}]}]"#,
            shape: #"{"sectionsAt":"","idScope":"section"}"#, violations: ["invalid-id /0/items/1"]),
        .init(
            json: #"[{"id":1,"g":"A"},{"id":"\#(String(repeating: "/", count: 1_024))","g":"A"}]"#,
            shape: #"{"groupAt":"/g","idScope":"section","invalid":"skip"}"#,
            document: state(group(#""A""#, #"{"id":"A/1","content":{"id":1,"g":"A"}}"#))),
    ]

    @Test("are read as the contract says", arguments: flat + joined + scoped)
    func cases(_ each: ShapeCase) {
        let reading = Reading { () throws(StateError) in try each.read() }
        if let document = each.document {
            #expect(reading.description == (try? TreeParser.tree(Array(document.utf8)).json))
        } else {
            #expect(reading == .violations(each.violations.sorted()))
        }
    }

    @Test(
        "a shape that contradicts itself is refused",
        arguments: [
            (#"{"groupPrefix":3,"itemsAt":""}"#, "/groupPrefix"), (#"{"groupAt":"/g","sectionsAt":"/s"}"#, "/groupAt"),
            (#"{"groupAt":"/g","groupPrefix":0}"#, "/groupPrefix"), (#"{"groupAt":7}"#, "/groupAt"),
            (#"{"groupAt":"/g","groupPrefix":"3"}"#, "/groupPrefix"), (#"{"idScope":"section"}"#, ""),
            (#"{"idScope":true,"idAt":"/id"}"#, "/idScope"), (#"{"idScope":"list","idAt":"/id"}"#, "/idScope"),
            (#"{"groupAt":"/g","groupPrefix":1.5}"#, "/groupPrefix"),
        ])
    func contradiction(_ shape: String, _ pointer: String) {
        #expect(throws: StateError.self) { _ = try StateShape(text: shape) }
        do throws(StateError) { _ = try StateShape(text: shape) } catch {
            if case .wrongShape(let violations) = error {
                #expect(violations.map(\.pointer) == [pointer])
            } else {
                Issue.record("\(error)")
            }
        }
    }

    @Test("a shape is written as it is read")
    func roundTrip() throws {
        let texts = [
            #"{"itemsAt":"/i","sectionsAt":"/s","sectionIdAt":"/id","groupAt":"/g","groupPrefix":3,"#
                + #""idScope":"section","idAt":"/id"}"#,
            #"{"itemsAt":"","groupAt":"","idAt":"/id"}"#,
        ]
        for text in texts {
            let shape = try StateShape(text: text)
            var writer = JSONWriter()
            shape.write(into: &writer)
            #expect(String(decoding: writer.bytes(), as: UTF8.self) == text)
        }
    }

    @Test("groups beyond the limit of sections are refused")
    func limit() throws {
        let rows = (0..<5).map { #"{"id":\#($0),"g":\#($0)}"# }.joined(separator: ",")
        var limits = StateLimits()
        limits.maxSections = 4
        let shape = try StateShape(text: #"{"groupAt":"/g"}"#)
        #expect(
            Reading { () throws(StateError) in try Snapshot(json: Array("[\(rows)]".utf8), shape: shape, limits: limits)
            }
                == .limit(4, actual: 5, pointer: "/4"))
        let joined = try StateShape(text: #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#)
        let document =
            #"{"s":[{"id":"a"},{"id":"b"}],"i":[{"id":1,"g":1},{"id":2,"g":2},{"id":3,"g":"a"},{"id":4,"g":4}]}"#
        #expect(
            Reading { () throws(StateError) in try Snapshot(json: Array(document.utf8), shape: joined, limits: limits) }
                == .limit(4, actual: 5, pointer: ""))
    }

    @Test("groups of rows that are left out do not count")
    func limitOfKept() throws {
        var limits = StateLimits()
        limits.maxSections = 2
        let rows =
            (0..<5).map { #"{"g":\#($0)}"# } + [#"{"id":1,"g":"a"}"#, #"{"id":1,"g":"b"}"#, #"{"id":2,"g":"c"}"#]
        let read = { (shape: String, rows: ArraySlice<String>) in
            Reading { () throws(StateError) in
                try Snapshot(
                    json: Array("[\(rows.joined(separator: ","))]".utf8), shape: StateShape(text: shape), limits: limits
                )
            }
        }
        let both = #"{"groupAt":"/g","invalid":"skip","duplicates":"first"}"#
        if case .state = read(both, rows[...]) {} else { Issue.record("\(read(both, rows[...]))") }
        #expect(read(both, rows + [#"{"id":3,"g":"d"}"#]) == .limit(2, actual: 3, pointer: ""))
    }

    @Test("ids with those of their sections are bounded by the document")
    func scopedBytes() throws {
        let rows = (0..<3_000).map { #"{"id":\#($0)}"# }.joined(separator: ",")
        let document = #"[{"id":"\#(String(repeating: "x", count: 2_000))","items":[\#(rows)]}]"#
        let shape = try StateShape(text: #"{"sectionsAt":"","idScope":"section"}"#)
        let reading = Reading { () throws(StateError) in try Snapshot(json: Array(document.utf8), shape: shape) }
        if case .limit = reading {} else { Issue.record("\(reading)") }
    }

    @Test("an id that begins with its section's is told where it stands, in the document's order")
    func scopedPlaces() throws {
        let long = String(repeating: "x", count: 2_040)
        let list = #"{"id":"1\#(long)"},{"id":"2\#(long)","c":[{"id":"3\#(long)"},{"id":4}]},{"id":5}"#
        let map = #""1\#(long)":{"c":{"2\#(long)":{},"a/~":{"c":{"3\#(long)":{},"a/~":{}}}}}"#
        let (shape, id) = (#""sectionsAt":"","itemsAt":"/i","childrenAt":"/c","idScope":"section""#, "a long section")
        for (document, more, places) in [
            (#"[{"id":"\#(id)","i":[\#(list)]}]"#, "", ["/0/i/0", "/0/i/1", "/0/i/1/c/0"]),
            (#"[{"id":"\#(id)","i":[\#(list)]}]"#, #","invalid":"skip""#, ["/0/i/0", "/0/i/1"]),
            (
                #"{"\#(id)":{"i":{\#(map)}}}"#, #","map":true"#,
                ["1L", "1L/c/2L", "1L/c/a~1~0/c/3L", "1L/c/a~1~0", "1L/c/a~1~0/c/a~1~0"].map { "/\(id)/i/\($0)" }
            ),
            (
                #"{"s":{"i":{"a/~":{"c":{"b":{"c":{"a/~":{}}}}}}}}"#, #","map":true,"duplicates":"first""#,
                ["/s/i/a~1~0/c/b/c/a~1~0"]
            ),
        ] {
            let shape = try StateShape(text: "{\(shape)\(more)}")
            var found: [String]
            do throws(StateError) {
                found = try Snapshot.reading(json: Array(document.utf8), shape: shape, upon: nil).warnings.map(
                    \.pointer)
            } catch {
                guard case .invalid(let violations) = error else { throw error }
                found = violations.map(\.pointer)
            }
            #expect(found.map { $0.replacing(long, with: "L") } == places)
        }
    }

    @Test("ids of several parts are bounded by the document")
    func joinedBytes() throws {
        let rows = (0..<1_000).map { #"{"id":"\#($0)\#(String(repeating: "~", count: 240))"}"# }.joined(separator: ",")
        let shape = try StateShape(text: #"{"idAt":["/id","/id","/id","/id"]}"#)
        let reading = Reading { () throws(StateError) in try Snapshot(json: Array("[\(rows)]".utf8), shape: shape) }
        if case .limit = reading {} else { Issue.record("\(reading)") }
    }

    @Test("ids made of others have a limit, which leaves no element out")
    func madeBytes() throws {
        let rows = (0..<300).map { #"{"id":\#($0 + 100),"g":1}"# }.joined(separator: ",")
        for (shape, bytes) in [
            (#"{"idAt":["/id","/id"]}"#, 2_100), (#"{"idAt":["/id","/id"],"invalid":"skip"}"#, 2_100),
            (#"{"idAt":"/id","idScope":"section"}"#, 2_400), (#"{"idAt":["/id","/g"],"idScope":"section"}"#, 4_800),
            (#"{"groupAt":"/g"}"#, 14), (#"{"groupAt":"/g","idScope":"section"}"#, 1_514),
            (#"{"groupAt":"/g","idScope":"section","duplicates":"first","invalid":"skip"}"#, 1_514),
        ] {
            var limits = StateLimits()
            let shape = try StateShape(text: shape)
            let read = {
                Reading { () throws(StateError) in
                    try Snapshot(json: Array("[\(rows)]".utf8), shape: shape, limits: limits)
                }
            }
            limits.maxMadeBytes = bytes
            if case .state = read() {} else { Issue.record("\(read())") }
            limits.maxMadeBytes -= 1
            if case .limit(bytes - 1, bytes, _) = read() {} else { Issue.record("\(read())") }
        }
    }

    @Test("whatever is stored beside a document has the same limit, which leaves no element out")
    func storedBytes() throws {
        for (row, shape, bytes) in [
            (#"{"id":"\/*"}"#, #"{"idAt":"/id"}"#, 300 * (7 + 4)),
            (#"{"id":"\/*"}"#, #"{"idAt":"/id","invalid":"skip"}"#, 300 * (7 + 4)),
            (#"{"id":*,"c":[]}"#, #"{"childrenAt":"/c"}"#, 300 * 10),
            (#"{"id":*,"k":12}"#, #"{"kindAt":"/k"}"#, 300 * 2),
            (#"{"id":*}"#, #"{"itemsAt":"/rows","rest":true}"#, #"{,"x":"yy"}"#.utf8.count),
            (#"{"id":*}"#, #"{"itemsAt":"/rows","rest":["/x"]}"#, #"{,"x":"yy"}"#.utf8.count),
            (#"{"id":"\/*","c":[]}"#, #"{"childrenAt":"/c","idAt":["/id","/id"]}"#, 300 * (2 * 11 + 11 + 14)),
        ] {
            var limits = StateLimits()
            let rows = (100..<400).map { row.replacing("*", with: "\($0)") }.joined(separator: ",")
            let text = shape.contains("rows") ? #"{"rows":[\#(rows)],"x":"yy"}"# : "[\(rows)]"
            let shape = try StateShape(text: shape)
            let read = {
                Reading { () throws(StateError) in try Snapshot(json: Array(text.utf8), shape: shape, limits: limits) }
            }
            limits.maxMadeBytes = bytes
            if case .state = read() {} else { Issue.record("\(row): \(read())") }
            limits.maxMadeBytes -= 1
            if case .limit(bytes - 1, bytes, _) = read() {} else { Issue.record("\(row): \(read())") }
        }
    }

    @Test("much that is stored behind a document is read like little")
    func longTails() throws {
        // 1,000 ids of which each takes 1,600 bytes there: more than is kept in one piece with the document.
        let rows = { (n: Int) in
            (0..<1_000).map { #"{"id":"\/\#(String(repeating: "x", count: 1_600))\#($0)","g":\#($0 % 7),"n":\#(n)}"# }
        }
        for shape in [#"{"idAt":["/id","/g"]}"#, #"{"groupAt":"/g"}"#, #"{"idAt":"/id","rest":true}"#] {
            let shape = try StateShape(text: shape)
            let (old, new) = (rows(1).joined(separator: ","), rows(1)[..<999].joined(separator: ","))
            let known = try Snapshot(json: "[\(old)]", shape: shape)
            let reading = try Snapshot.reading(json: Array("[\(new)]".utf8), shape: shape, upon: known)
            let expected = try Snapshot(json: "[\(new)]", shape: shape).documentJSON()
            #expect(reading.snapshot.documentJSON() == expected)
            #expect(Changeset(from: known, to: reading.snapshot).counts.total == 1)
            let text = Array(#"{"old":[\#(old)],"new":[\#(new)]}"#.utf8)
            let both = try Envelope(json: text, members: .init(states: ["old", "new"]), shape: shape)
            #expect(both.states["old"]?.documentJSON() == known.documentJSON())
            #expect(both.states["new"]?.documentJSON() == expected)
        }
    }

    @Test("a document with too many groups is refused alike upon a known state")
    func limitUponKnown() throws {
        var limits = StateLimits()
        limits.maxSections = 40
        let shape = try StateShape(text: #"{"groupAt":"/g"}"#)
        let rows = (0..<40).map { #"{"id":\#($0),"g":"g\#($0)"}"# }
        let known = try Snapshot(json: Array("[\(rows.joined(separator: ","))]".utf8), shape: shape, limits: limits)
        let text = Array("[\((["{\"id\":\"n\"}"] + rows).joined(separator: ","))]".utf8)
        let readings = [known, nil].map { known in
            Reading { () throws(StateError) in
                try Snapshot.reading(json: text, shape: shape, limits: limits, upon: known).snapshot
            }
        }
        #expect(readings[0] == readings[1])
        #expect(readings[1] == .limit(40, actual: 41, pointer: "/40"))
    }

    @Test("reading upon a known state comes to the same, with the same changes")
    func known() throws {
        let shapes = [
            #"{"itemsAt":"/i","groupAt":"/g"}"#, #"{"itemsAt":"/i","groupAt":"/g","groupPrefix":1}"#,
            #"{"sectionsAt":"/s","itemsAt":"/i","groupAt":"/g"}"#,
            #"{"itemsAt":"/i","groupAt":"/g","duplicates":"first","invalid":"skip"}"#,
        ]
        var taken = 0
        for seed in Effort.seeds(600) {
            var random = SplitMix64(seed: seed)
            let shape = try StateShape(text: shapes[Int(seed) % 4])
            let isSorted = random.below(3) == 0
            let names = [
                #""aa""#, #""ab""#, "7", #""\u0061a""#, "null", #""b\"/""#, #""7""#, "7.0", "true", #""true""#, "[]",
                #""\u0007""#, #""""#, "none",
            ].map { $0 == "none" ? "" : #","g":\#($0)"# }
            // Some lists have few groups, so that their sections stay.
            let groupCount = seed % 3 == 0 ? 6 : names.count
            var rows = (0..<14).map { (id: $0, group: random.below(groupCount), n: 0) }
            func document() -> [UInt8] {
                if isSorted { rows.sort { $0.group < $1.group } }
                let elements = rows.map { #"{"n":\#($0.n),"id":\#($0.id)\#(names[$0.group])}"# }
                var sections = ["ab", "7", "zz"]
                sections.swapAt(0, random.below(3))
                let list = sections.map { #"{"id":"\#($0)","n":\#(random.below(2))}"# }.joined(separator: ",")
                let items = elements.joined(separator: ",")
                return Array(
                    (seed % 8 < 4 ? #"{"s":[\#(list)],"i":[\#(items)]}"# : #"{"i":[\#(items)],"s":[\#(list)]}"#).utf8)
            }
            var known = try Snapshot(json: document(), shape: shape)
            for step in 0..<8 {
                let row = random.below(rows.count)
                switch random.below(6) {
                case 0: rows[row].n += 1
                case 1: rows.insert(rows.remove(at: row), at: random.below(rows.count))
                case 2: rows[row].group = random.below(groupCount)
                case 3: rows.insert((id: 100 * step + Int(seed), group: random.below(groupCount), n: 0), at: row)
                case 4: rows.insert((id: rows[row].id, group: random.below(groupCount), n: 1), at: row)
                default: if rows.count > 5 { rows.remove(at: row) }
                }
                let text = document()
                if Set(rows.map(\.id)).count < rows.count, seed % 4 != 3 {
                    let readings = [known, nil].map { known in
                        Reading { () throws(StateError) in
                            try Snapshot.reading(json: text, shape: shape, upon: known).snapshot
                        }
                    }
                    #expect(readings[0] == readings[1], "seed \(seed)")
                    if case .state = readings[0] { Issue.record("seed \(seed)") }
                    var ids: Set<Int> = []
                    rows = rows.filter { ids.insert($0.id).inserted }
                    continue
                }
                let plainly = try Snapshot.reading(json: text, shape: shape, upon: nil)
                let (plain, reading) = (plainly.snapshot, try Snapshot.reading(json: text, shape: shape, upon: known))
                #expect(reading.warnings == plainly.warnings, "seed \(seed)")
                let (one, two) = (reading.snapshot.documentJSON(), plain.documentJSON())
                try #require(
                    one == two,
                    "seed \(seed): \(String(decoding: one, as: UTF8.self)) of \(String(decoding: text, as: UTF8.self))")
                try #require(reading.snapshot.columns.nodes.count == plain.columns.nodes.count)
                try #require(reading.snapshot.columns.rowOfItem == plain.columns.rowOfItem)
                #expect(reading.snapshot.columns.documentOrder == plain.columns.documentOrder)
                reading.snapshot.columns.checkInvariants()
                taken += reading.shared?.runs.reduce(0) { $0 + $1.count } ?? 0
                let change = Changeset(from: known, to: reading.snapshot, shared: reading.shared)
                #expect(change.json(.keyed) == Changeset(from: known, to: plain).json(.keyed), "seed \(seed)")
                let (opened, _) = PackedSnapshot(
                    reading.snapshot, Fingerprints(of: reading.snapshot, by: KeyedHash(key: [1, 2, 3]))
                ).opened()
                #expect(opened.columns.documentOrder == plain.columns.documentOrder)
                known = random.below(4) == 0 ? opened : reading.snapshot
            }
        }
        #expect(taken > Effort.runs(12_000), "\(taken)")
    }

    @Test("rows whose values could be no group are warned of, in each document that has them")
    func unusable() throws {
        let long = String(repeating: "x", count: 2_049)
        let digits = String(repeating: "1", count: 2_049)
        for (row, values, shape, pointer) in [
            (#"{"id":*,"n":#,"g":@}"#, ["[]", #""a""#], #"{"groupAt":"/g"}"#, "/g"),
            (#"{"k":{"id":"i*"},"n":#,"g":@}"#, [#""\u0007""#, "7"], #"{"groupAt":"/g","idAt":"/k/id"}"#, "/g"),
            (
                #"{"id":*,"n":#,"g":{"h":@}}"#, [#""\#(long)""#, "true"], #"{"groupAt":"/g/h","idAt":["/id","/n"]}"#,
                "/g/h"
            ),
            (
                #"{"id":*,"n":#,"c":[],"g":@}"#, ["{}", "null"],
                #"{"groupAt":"/g","childrenAt":"/c","idScope":"section"}"#, "/g"
            ),
            (#"{"id":*,"n":#,"g":[@]}"#, [digits, "1.5"], #"{"groupAt":"/g/0","invalid":"skip"}"#, "/g/0"),
        ] {
            let shape = try StateShape(text: shape)
            var known: Snapshot?
            // A negative number is a row with a usable value.
            for numbers in [[1, -2, 3], [1, -2, 3], [-2, 1, 4, 3], [-1, -2, -3], [-1, -2, 3], [3]] {
                for n in 0..<2 {
                    let rows = numbers.map { number in
                        row.replacing("*", with: "\(abs(number))").replacing("#", with: "\(number % 2 == 0 ? n : 0)")
                            .replacing("@", with: values[number > 0 ? 0 : 1])
                    }
                    let text = Array("[\(rows.joined(separator: ","))]".utf8)
                    let reading = try Snapshot.reading(json: text, shape: shape, upon: known)
                    let expected = numbers.indices.filter { numbers[$0] > 0 }.map { "no-group /\($0)\(pointer)" }
                    #expect(reading.warnings.map { "\($0.code) \($0.pointer)" } == expected)
                    known = reading.snapshot
                }
            }
        }
        let many = (0..<30).map { #"{"id":\#($0 / 2),"g":[]}"# }.joined(separator: ",")
        let shape = try StateShape(text: #"{"groupAt":"/g","duplicates":"first"}"#)
        let codes = try Snapshot.reading(json: Array("[\(many)]".utf8), shape: shape, upon: nil).warnings.map(\.code)
        #expect(codes == Array(repeating: "duplicate-id", count: 15) + Array(repeating: "no-group", count: 5))
        let rest = try Snapshot.reading(
            json: Array(#"[{"id":1,"g":2},null,{"id":3,"g":{}}]"#.utf8),
            shape: StateShape(text: #"{"groupAt":"/g","invalid":"skip"}"#), upon: nil)
        #expect(rest.warnings.map(\.pointer) == ["/1", "/2/g"])
    }

    @Test("a section's header is what its first row says, in every document that follows")
    func headers() throws {
        let shape = try StateShape(text: #"{"groupAt":"/g"}"#)
        var known: Snapshot?
        for (first, header) in [("1", "1"), (#""1""#, #""1""#), ("1", "1"), (#""1""#, #""1""#)] {
            let text = #"[{"id":1,"g":\#(first)},{"id":2,"g":"1"},{"id":3,"g":"b"}]"#
            let reading = try Snapshot.reading(json: Array(text.utf8), shape: shape, upon: known)
            let contents = reading.snapshot.columns.withView { view in
                view.sections.indices.map { String(decoding: view.content(ofSection: $0), as: UTF8.self) }
            }
            #expect(contents == [#"{"group":\#(header)}"#, #"{"group":"b"}"#])
            if let known {
                let change = Changeset(from: known, to: reading.snapshot, shared: reading.shared).json(.keyed)
                #expect(change == Changeset(from: known, to: try Snapshot(json: text, shape: shape)).json(.keyed))
                #expect(String(decoding: change, as: UTF8.self).contains(#""group":\#(header)"#))
            }
            known = reading.snapshot
        }
    }

    @Test("a collapsed group stays so where expansion is kept")
    func expansion() throws {
        let shape = try StateShape(text: #"{"sectionsAt":"/s","sectionExpandedAt":"/o","itemsAt":"/i","groupAt":"/g"}"#)
        let document = { (rest: String) in
            Array(#"{"s":[{"id":"A"\#(rest)}],"i":[{"id":1,"g":"A"},{"id":2,"g":"B"},{"id":3,"g":"A"}]}"#.utf8)
        }
        let first = try Snapshot(json: document(""), shape: shape)
        let batch = try EditBatch(json: Array(#"[{"op":"collapse","sections":["A","B"]}]"#.utf8))
        let collapsed = try first.applying(batch).snapshot
        var next = StateDocument(document(""))
        let kept = try next.state(shape, limits: StateLimits(), upon: collapsed, keepsExpanded: true).snapshot
        #expect(kept.columns.sections.map { $0.flags.contains(.isCollapsed) } == [true, true])
        next = StateDocument(document(#","o":true"#))
        let said = try next.state(shape, limits: StateLimits(), upon: collapsed, keepsExpanded: true).snapshot
        #expect(said.columns.sections.map { $0.flags.contains(.isCollapsed) } == [false, true])
    }
}
