import SnapshotKit
import Testing

/// A document of any shape, the pointers into it, and what they find there.
struct PointerCase: Sendable, CustomTestStringConvertible {
    var json: String
    var sectionsAt: String?
    var sectionIDAt: String?
    var itemsAt: String?
    var idAt: String?
    /// The document as GET writes it; nil if it is no state.
    var document: String?
    var violations: [String] = []

    var testDescription: String {
        "\(json.debugDescription) \([sectionsAt, sectionIDAt, itemsAt, idAt].map { $0 ?? "-" })"
    }

    func read() throws(StateError) -> Snapshot {
        let shape = StateShape.pointers(
            sectionsAt: sectionsAt.flatMap { JSONPointer($0) }, sectionIDAt: sectionIDAt.flatMap { JSONPointer($0) },
            itemsAt: itemsAt.flatMap { JSONPointer($0) }, idAt: idAt.flatMap { JSONPointer($0) })
        return try Snapshot(json: json, shape: shape)
    }
}

@Suite("Documents of any shape")
struct PointerShapeTests {
    static func main(_ items: String) -> String { #"{"sections":[{"id":"main","items":[\#(items)]}]}"# }

    static let flat: [PointerCase] = [
        .init(json: "[]", idAt: "/id", document: main("")),
        .init(json: #"[{"id":"a","x":1}]"#, idAt: "/id", document: main(#"{"id":"a","content":{"id":"a","x":1}}"#)),
        .init(json: #"[{"id":"a"}]"#, itemsAt: "", document: main(#"{"id":"a","content":{"id":"a"}}"#)),
        .init(
            json: #"[{"userID":7,"id":true}]"#, idAt: "/userID",
            document: main(#"{"id":7,"content":{"userID":7,"id":true}}"#)),
        .init(
            json: #"{"data":{"members":[{"id":"a"}],"next":[]},"items":3}"#, itemsAt: "/data/members",
            document: main(#"{"id":"a","content":{"id":"a"}}"#)),
        .init(
            json: #"[{"a":{"b":{"c":"deep"}}}]"#, idAt: "/a/b/c",
            document: main(#"{"id":"deep","content":{"a":{"b":{"c":"deep"}}}}"#)),
        .init(
            json: #"[["x",1],["y",2]]"#, idAt: "/0",
            document: main(#"{"id":"x","content":["x",1]},{"id":"y","content":["y",2]}"#)),
        .init(json: #"[1,"b"]"#, idAt: "", document: main(#"{"id":1,"content":1},{"id":"b","content":"b"}"#)),
        .init(
            json: #"[[],[{"id":"a"}]]"#, itemsAt: "/1", document: main(#"{"id":"a","content":{"id":"a"}}"#)),
        .init(
            json: #"{"a/b":{"m~n":[{"":"x"}]}}"#, itemsAt: "/a~1b/m~0n", idAt: "/",
            document: main(#"{"id":"x","content":{"":"x"}}"#)),
        .init(
            json: #"{"\u0064ata":[{"\u0069d":"\u0061"}]}"#, itemsAt: "/data",
            document: main(#"{"id":"a","content":{"id":"a"}}"#)),
        // Members that a native state would refuse are content here.
        .init(
            json: #"[{"id":"a","kind":1,"expanded":0,"items":{"id":"b"},"title":"x"}]"#, idAt: "/id",
            document: main(#"{"id":"a","content":{"id":"a","kind":1,"expanded":0,"items":{"id":"b"},"title":"x"}}"#)),
        .init(
            json: #"[{"0":"zero","id":"a"}]"#, idAt: "/0",
            document: main(#"{"id":"zero","content":{"0":"zero","id":"a"}}"#)),
    ]

    static func section(_ content: String, _ items: String = "") -> String {
        #"{"sections":[{"id":"s","content":\#(content),"items":[\#(items)]}]}"#
    }

    static let sectioned: [PointerCase] = [
        .init(json: "[]", sectionsAt: "", document: #"{"sections":[]}"#),
        .init(json: #"[{"id":"s","items":[]}]"#, sectionsAt: "", document: section(#"{"id":"s"}"#)),
        .init(json: #"[{"items":[],"id":"s"}]"#, sectionsAt: "", document: section(#"{"id":"s"}"#)),
        .init(json: #"[{"a":1,"items":[],"id":"s"}]"#, sectionsAt: "", document: section(#"{"a":1,"id":"s"}"#)),
        .init(json: #"[{"a":1,"id":"s" , "items" : [ ] }]"#, sectionsAt: "", document: section(#"{"a":1,"id":"s"}"#)),
        .init(json: #"[{ "items" : [ ] , "id":"s" }]"#, sectionsAt: "", document: section(#"{"id":"s"}"#)),
        .init(
            json: #"{"groups":[{"key":{"n":4},"rows":[{"no":1}],"title":"x"}]}"#, sectionsAt: "/groups",
            sectionIDAt: "/key/n", itemsAt: "/rows", idAt: "/no",
            document:
                #"{"sections":[{"id":4,"content":{"key":{"n":4},"title":"x"},"items":[{"id":1,"#
                + #""content":{"no":1}}]}]}"#),
        .init(
            json: #"[{"id":"s","data":{"items":[{"id":"a"}],"x":1}}]"#, sectionsAt: "", itemsAt: "/data/items",
            document: section(#"{"id":"s","data":{"x":1}}"#, #"{"id":"a","content":{"id":"a"}}"#)),
        .init(
            json: #"[{"id":"s","data":{"items":[]}}]"#, sectionsAt: "", itemsAt: "/data/items",
            document: section(#"{"id":"s","data":{}}"#)),
        .init(
            json: #"[{"id":"s","lists":[1,["a"],2]}]"#, sectionsAt: "", itemsAt: "/lists/1", idAt: "",
            document: section(#"{"id":"s","lists":[1,2]}"#, #"{"id":"a","content":"a"}"#)),
        .init(
            json: #"[{"data":{"items":[],"id":"s"}}]"#, sectionsAt: "", sectionIDAt: "/data/id", itemsAt: "/data/items",
            document: section(#"{"data":{"id":"s"}}"#)),
        .init(
            json: #"{"g":[{"id":"s","items":[{"id":"a"}]},{"id":"t","items":[{"id":"b"}]}]}"#, sectionsAt: "/g",
            document: #"{"sections":[{"id":"s","content":{"id":"s"},"items":[{"id":"a","content":{"id":"a"}}]},"#
                + #"{"id":"t","content":{"id":"t"},"items":[{"id":"b","content":{"id":"b"}}]}]}"#),
    ]

    static let refused: [PointerCase] = [
        .init(json: "{}", itemsAt: "/list", violations: ["not-found /list"]),
        .init(json: "1", itemsAt: "/list", violations: ["not-found /list"]),
        .init(json: "[]", itemsAt: "/0", violations: ["not-found /0"]),
        .init(json: "{}", idAt: "/id", violations: ["not-an-array "]),
        .init(json: #"{"list":{}}"#, itemsAt: "/list", violations: ["not-an-array /list"]),
        .init(json: #"{"list":[{"id":"a"},{"no":1}]}"#, itemsAt: "/list", violations: ["missing-id /list/1"]),
        .init(
            json: #"[{"id":"a"},"b",3,[]]"#, idAt: "/id",
            violations: ["missing-id /1", "missing-id /2", "missing-id /3"]),
        .init(json: #"[{"id":""}]"#, idAt: "/id", violations: ["invalid-id /0"]),
        .init(json: #"[{"id":null},{"id":1.5}]"#, idAt: "/id", violations: ["invalid-id /0", "invalid-id /1"]),
        .init(json: #"[{"a":{"id":{}}}]"#, idAt: "/a/id", violations: ["invalid-id /0"]),
        .init(
            json: #"{"l":[{"id":1},{"id":"1"}]}"#, itemsAt: "/l",
            violations: ["duplicate-id /l/0", "duplicate-id /l/1"]),
        .init(json: #"[["x"]]"#, idAt: "/00", violations: ["missing-id /0"]),
        .init(json: "{}", sectionsAt: "/groups", violations: ["not-found /groups"]),
        .init(json: "{}", sectionsAt: "", violations: ["not-an-array "]),
        .init(json: #"[{"id":"s"}]"#, sectionsAt: "", violations: ["missing-items /0"]),
        .init(json: #"[{"items":[]}]"#, sectionsAt: "", violations: ["missing-id /0"]),
        .init(json: #"[5]"#, sectionsAt: "", violations: ["missing-id /0", "missing-items /0"]),
        .init(json: #"[{"id":"","items":[]}]"#, sectionsAt: "", violations: ["invalid-id /0"]),
        .init(
            json: #"{"g":[{"id":"s","rows":[{"id":"a"},{}]}]}"#, sectionsAt: "/g", itemsAt: "/rows",
            violations: ["missing-id /g/0/rows/1"]),
        .init(
            json: #"[{"id":"s","items":[]},{"id":"s","items":[]}]"#, sectionsAt: "",
            violations: ["duplicate-id /0", "duplicate-id /1"]),
        .init(
            json: #"[{"id":"s","items":[{"id":"a"}]},{"id":"t","items":[{"id":"a"}]}]"#, sectionsAt: "",
            violations: ["duplicate-id /0/items/0", "duplicate-id /1/items/0"]),
    ]

    @Test("the pointers find the list, and the whole element is the content", arguments: flat + sectioned)
    func found(row: PointerCase) throws {
        let document = try #require(row.document)
        #expect(Reading { () throws(StateError) in try row.read() } == .state(Tree.json(document).json))
    }

    /// A violation may point at an element, or at the id in it.
    @Test("what cannot be read is named with its place", arguments: refused)
    func refusals(row: PointerCase) {
        guard case .violations(let found) = Reading({ () throws(StateError) in try row.read() }) else {
            Issue.record("accepted")
            return
        }
        let idAt = row.idAt ?? "/id"
        let places = found.map { place in place.hasSuffix(idAt) ? String(place.dropLast(idAt.count)) : place }
        #expect(places.sorted() == row.violations.sorted() || found == row.violations.sorted())
    }

    @Test("JSON is checked behind the list, and beside the pointers' way")
    func strictEverywhere() {
        for json in [#"{"l":[],"x":{"a":1,"a":2}}"#, #"{"x":01,"l":[]}"#, #"{"l":[]} x"#, #"{"l":[],"l":[]}"#] {
            let row = PointerCase(json: json, itemsAt: "/l")
            guard case .notJSON = Reading({ () throws(StateError) in try row.read() }) else {
                Issue.record("\(json) is accepted")
                continue
            }
        }
    }

    @Test("a section's content that only differs in the items is the same")
    func sectionContent() throws {
        let state = { (json: String) in try PointerCase(json: json, sectionsAt: "").read() }
        let old = try state(#"[{"id":"s","items":[{"id":"a"}],"title":"x"}]"#)
        let new = try state(#"[{"title":"x","items":[{"id":"b"}],"id":"s"}]"#)
        #expect(Counts(Changeset(from: old, to: new).counts) == Counts(deletions: 1, insertions: 1))
    }

    @Test("a pointer is written as RFC 6901 has it, or is none", arguments: ["a", "a/b", "/~", "/~2", "/a~", "#/a"])
    func malformedPointers(text: String) { #expect(JSONPointer(text) == nil) }

    @Test("a pointer says what it was read from", arguments: ["", "/", "/a", "/a/0/b", "/~0~1", "/é/ /\"", "//"])
    func pointers(text: String) { #expect(JSONPointer(text)?.description == text) }
}

@Suite("Places of violations in documents of any shape")
struct ViolationPlaceTests {
    @Test(
        "an id that is the name or the index of an element is at the element, and below escaped names",
        arguments: [
            (
                #"{"s":[{"items":[{"a":1}]},{"items":[{"b":1}]}]}"#,
                [(.sectionsAt, "/s"), (.sectionIDAt, "/id"), (.map, "true"), (.idScope, "section")],
                ["missing-id /s/0", "missing-id /s/1", "duplicate-id /s/0/items/0", "duplicate-id /s/1/items/0"]
            ),
            (
                #"{"s":{"\t":{"items":[{"id":1},{"id":1}]}}}"#,
                [(.sectionsAt, "/s"), (.itemsAt, "/items"), (.idAt, "/id"), (.map, "true")],
                ["invalid-id /s/\t", "duplicate-id /s/\t/items/0/id", "duplicate-id /s/\t/items/1/id"]
            ),
        ] as [(String, [(StateShape.Member, String)], [String])])
    func places(_ json: String, _ members: [(StateShape.Member, String)], _ expected: [String]) throws {
        let shape = try StateShape(members)
        do throws(StateError) {
            _ = try Snapshot(json: json, shape: shape)
            Issue.record("it is accepted")
        } catch {
            guard case .invalid(let violations) = error else { throw error }
            #expect(violations.map { "\($0.code) \($0.pointer)" } == expected)
        }
    }
}
