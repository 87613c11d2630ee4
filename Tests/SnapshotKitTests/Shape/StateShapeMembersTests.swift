@testable import SnapshotKit
import Testing

/// A document, the members of its shape as in a body, and their result.
struct ShapeCase: Sendable, CustomTestStringConvertible {
    var json: String
    var shape: String
    /// The document as GET writes it; nil if it is no state.
    var document: String?
    var violations: [String] = []

    var testDescription: String { "\(json) \(shape)" }

    func read() throws(StateError) -> Snapshot { try Snapshot(json: json, shape: StateShape(text: shape)) }
}

extension StateShape {
    /// A shape from JSON text.
    init(text: String) throws(StateError) {
        let json: JSONText
        do throws(JSONError) { json = try JSONText(text) } catch { throw .json(error) }
        try self.init(json.slice)
    }
}

@Suite("Members of shapes")
struct StateShapeMembersTests {
    private static func main(_ items: String) -> String { #"{"sections":[{"id":"main","items":[\#(items)]}]}"# }

    static let kinds: [ShapeCase] = [
        .init(
            json: #"[{"id":1,"t":"ad"},{"id":2,"t":3},{"id":3,"t":null},{"id":4},{"id":5,"t":-40}]"#,
            shape: #"{"kindAt":"/t"}"#,
            document: main(
                #"{"id":1,"kind":"ad","content":{"id":1,"t":"ad"}},{"id":2,"kind":"3","content":{"id":2,"t":3}},"#
                    + #"{"id":3,"content":{"id":3,"t":null}},{"id":4,"content":{"id":4}},"#
                    + #"{"id":5,"kind":"-40","content":{"id":5,"t":-40}}"#)),
        .init(
            json: #"[{"id":1,"t":{"of":"\u0061d"}}]"#, shape: #"{"kindAt":"/t/of"}"#,
            document: main(#"{"id":1,"kind":"\u0061d","content":{"id":1,"t":{"of":"\u0061d"}}}"#)),
        // Elements without ids may be anything.
        .init(
            json: #"[{"t":"ad"},7,null,["x"]]"#, shape: #"{"idBy":"match","kindAt":"/t"}"#,
            document: main(
                #"{"id":"0.0","kind":"ad","content":{"t":"ad"}},{"id":"0.1","content":7},"#
                    + #"{"id":"0.2","content":null},{"id":"0.3","content":["x"]}"#)),
        // One place may have several roles.
        .init(
            json: #"["a",7]"#, shape: #"{"idAt":"","kindAt":""}"#,
            document: main(#"{"id":"a","kind":"a","content":"a"},{"id":7,"kind":"7","content":7}"#)),
        .init(
            json: #"[{"id":1,"t":1.5},{"id":2,"t":[]},{"id":3,"t":true},{"id":4,"t":{"a":[1]}},{"id":5,"t":1e3}]"#,
            shape: #"{"kindAt":"/t"}"#,
            violations: (0..<5).map { "wrong-type /\($0)/t" }),
    ]

    static let outlines: [ShapeCase] = [
        .init(
            json: #"[{"id":"a","kids":[{"id":"b","n":1,"kids":[{"id":"c"}]},{"id":"d"}],"n":0},{"id":"e","kids":[]}]"#,
            shape: #"{"childrenAt":"/kids"}"#,
            document: main(
                #"{"id":"a","content":{"id":"a","n":0},"items":["#
                    + #"{"id":"b","content":{"id":"b","n":1},"items":[{"id":"c","content":{"id":"c"}}]},"#
                    + #"{"id":"d","content":{"id":"d"}}]},{"id":"e","content":{"id":"e"}}"#)),
        .init(
            json: #"[{"d":{"id":"a","r":{"l":[{"d":{"id":"b","r":null}}],"x":1}}},{"d":{"id":"c","r":{"l":null}}}]"#,
            shape: #"{"idAt":"/d/id","childrenAt":"/d/r/l"}"#,
            document: main(
                #"{"id":"a","content":{"d":{"id":"a","r":{"x":1}}},"items":["#
                    + #"{"id":"b","content":{"d":{"id":"b","r":null}}}]},{"id":"c","content":{"d":{"id":"c","r":{}}}}"#
            )),
        .init(
            json: #"[["a",[["b"],["c",[]]]],["d",null]]"#, shape: #"{"idAt":"/0","childrenAt":"/1"}"#,
            document: main(
                #"{"id":"a","content":["a"],"items":[{"id":"b","content":["b"]},{"id":"c","content":["c"]}]},"#
                    + #"{"id":"d","content":["d"]}"#)),
        .init(
            json: #"[{"id":1,"open":false,"kids":[{"id":2,"open":null},{"id":3,"open":true}]}]"#,
            shape: #"{"childrenAt":"/kids","expandedAt":"/open"}"#,
            document: main(
                #"{"id":1,"expanded":false,"content":{"id":1,"open":false},"items":["#
                    + #"{"id":2,"content":{"id":2,"open":null}},{"id":3,"content":{"id":3,"open":true}}]}"#)),
        .init(
            json: #"{"g":[{"id":"s","rows":[{"id":1,"kids":[{"id":2}]}]}]}"#,
            shape: #"{"sectionsAt":"/g","itemsAt":"/rows","childrenAt":"/kids"}"#,
            document: #"{"sections":[{"id":"s","content":{"id":"s"},"items":[{"id":1,"content":{"id":1},"items":["#
                + #"{"id":2,"content":{"id":2}}]}]}]}"#),
        .init(
            json: #"[{"id":1,"kids":[{"id":2,"kids":[{"no":3}]}]},{"id":4,"kids":{}},{"id":5,"kids":""}]"#,
            shape: #"{"childrenAt":"/kids"}"#,
            violations: ["missing-id /0/kids/0/kids/0", "not-an-array /1/kids", "not-an-array /2/kids"]),
        .init(
            json: #"[{"id":1,"kids":[{"id":2,"open":0}]},{"id":3,"open":"no"},{"id":4,"open":{}}]"#,
            shape: #"{"childrenAt":"/kids","expandedAt":"/open"}"#,
            violations: ["wrong-type /0/kids/0/open", "wrong-type /1/open", "wrong-type /2/open"]),
        .init(
            json: #"[{"id":1,"kids":[{"id":2},{"id":"1"}]}]"#, shape: #"{"childrenAt":"/kids"}"#,
            violations: ["duplicate-id /0/id", "duplicate-id /0/kids/1/id"]),
    ]

    static let parts: [ShapeCase] = [
        .init(
            json: #"[{"type":"posts","id":1},{"type":"a/b","id":"c~d"},{"type":"\u0061","id":"é\""}]"#,
            shape: #"{"idAt":["/type","/id"],"kindAt":"/type"}"#,
            document: main(
                #"{"id":"posts/1","kind":"posts","content":{"type":"posts","id":1}},"#
                    + #"{"id":"a~1b/c~0d","kind":"a/b","content":{"type":"a/b","id":"c~d"}},"#
                    + #"{"id":"a/é\"","kind":"\u0061","content":{"type":"\u0061","id":"é\""}}"#)),
        .init(
            json: "[[1,2,3,4]]", shape: #"{"idAt":["/0","/1","/2","/3"]}"#,
            document: main(#"{"id":"1/2/3/4","content":[1,2,3,4]}"#)),
        .init(
            json: #"[{"a":1}]"#, shape: #"{"idAt":["/a","/a"]}"#, document: main(#"{"id":"1/1","content":{"a":1}}"#)),
        // A single part is written as it is.
        .init(
            json: #"[{"id":"a/b~"}]"#, shape: #"{"idAt":["/id"]}"#,
            document: main(#"{"id":"a/b~","content":{"id":"a/b~"}}"#)),
        .init(
            json: #"[{"a":1,"b":""},{"a":1},{"b":null},{"a":1.5,"b":"x"}]"#, shape: #"{"idAt":["/a","/b"]}"#,
            violations: ["invalid-id /0", "missing-id /1", "invalid-id /2", "missing-id /2", "invalid-id /3"]),
        .init(
            json: #"[{"a":1,"b":2},{"b":"2","a":"1"}]"#, shape: #"{"idAt":["/a","/b"]}"#,
            violations: ["duplicate-id /0", "duplicate-id /1"]),
    ]

    static let maps: [ShapeCase] = [
        .init(
            json: #"{"l":{"b":{"n":1},"a":7,"\u0063":"x"}}"#, shape: #"{"itemsAt":"/l","map":true}"#,
            document: main(#"{"id":"b","content":{"n":1}},{"id":"a","content":7},{"id":"\u0063","content":"x"}"#)),
        .init(json: "{}", shape: #"{"itemsAt":"","map":true}"#, document: main("")),
        .init(
            json: #"{"a":{"k":{"b":{"t":"x"},"c":{"k":{}}}}}"#,
            shape: #"{"itemsAt":"","map":true,"childrenAt":"/k","kindAt":"/t"}"#,
            document: main(
                #"{"id":"a","content":{},"items":[{"id":"b","kind":"x","content":{"t":"x"}},{"id":"c","content":{}}]}"#)
        ),
        .init(
            json: #"[{"id":"s","items":{"a":1}},{"id":"t","items":{"b":2}}]"#,
            shape: #"{"sectionsAt":"","sectionIdAt":"/id","map":true}"#,
            document: #"{"sections":[{"id":"s","content":{"id":"s"},"items":[{"id":"a","content":1}]},"#
                + #"{"id":"t","content":{"id":"t"},"items":[{"id":"b","content":2}]}]}"#),
        .init(json: #"{"l":7}"#, shape: #"{"itemsAt":"/l","map":true}"#, violations: ["not-an-object /l"]),
        .init(json: #"{"l":{}}"#, shape: #"{"itemsAt":"/l","map":false}"#, violations: ["not-an-array /l"]),
        .init(
            json: #"{"a/b":{"k":{"~":{"k":0},"":{"t":1.5}}},"\n":{}}"#,
            shape: #"{"itemsAt":"","map":true,"childrenAt":"/k","kindAt":"/t"}"#,
            violations: [
                "not-an-object /a~1b/k/~0/k", "invalid-id /a~1b/k/", "wrong-type /a~1b/k//t", "invalid-id /\n",
            ]),
        .init(
            json: #"[{"id":"s","items":{"a":1}},{"id":"t","items":{"a":2}}]"#,
            shape: #"{"sectionsAt":"","sectionIdAt":"/id","map":true}"#,
            violations: ["duplicate-id /0/items/a", "duplicate-id /1/items/a"]),
    ]

    static let lists: [ShapeCase] = [
        .init(json: "null", shape: #"{"idAt":"/id"}"#, document: main("")),
        .init(json: #"{"l":null}"#, shape: #"{"itemsAt":"/l","map":true}"#, document: main("")),
        .init(json: #"{"g":null}"#, shape: #"{"sectionsAt":"/g"}"#, document: #"{"sections":[]}"#),
        .init(json: "{}", shape: #"{"itemsAt":"/a/b"}"#, violations: ["not-found /a/b"]),
        .init(json: #"{"a":null}"#, shape: #"{"itemsAt":"/a/b","missing":"empty"}"#, document: main("")),
        .init(json: "[[]]", shape: #"{"itemsAt":"/0/3","missing":"empty"}"#, document: main("")),
        .init(json: #"{"a":1}"#, shape: #"{"itemsAt":"/a/b","missing":"empty"}"#, violations: ["not-found /a/b"]),
        .init(
            json: #"{"a":{"b":{}}}"#, shape: #"{"itemsAt":"/a/b","missing":"empty"}"#, violations: ["not-an-array /a/b"]
        ),
        .init(
            json: #"[{"id":"s"},{"id":"t","items":null}]"#, shape: #"{"sectionsAt":""}"#,
            document: #"{"sections":[{"id":"s","content":{"id":"s"},"items":[]},"#
                + #"{"id":"t","content":{"id":"t"},"items":[]}]}"#),
        .init(
            json: #"[{"id":"s"},{"id":"t"}]"#, shape: #"{"sectionsAt":""}"#,
            violations: ["missing-items /0", "missing-items /1"]),
        .init(
            json: #"[{"id":"s","i":{"l":[]}},{"id":"t","i":7}]"#, shape: #"{"sectionsAt":"","itemsAt":"/i/l"}"#,
            violations: ["missing-items /1"]),
        .init(
            json: #"[{"id":1,"t":[]},null,{"t":[]},{"id":""}]"#, shape: #"{"kindAt":"/t","invalid":"skip"}"#,
            violations: ["wrong-type /0/t"]),
        .init(
            json: #"[null,{"a":1},null,7]"#, shape: #"{"itemsAt":"","map":true}"#,
            document: main(#"{"id":"1","content":{"a":1}},{"id":"3","content":7}"#)),
        .init(
            json: #"{"a/":{"l":[null,1]},"b":null}"#, shape: #"{"sectionsAt":"","itemsAt":"/l","map":true}"#,
            document: #"{"sections":[{"id":"a/","content":{},"items":[{"id":"1","content":1}]},"#
                + #"{"id":"b","content":null,"items":[]}]}"#),
        .init(
            json: #"{"a/":{"l":{"x":1}},"b":{"l":{"y":1,"":2}}}"#,
            shape: #"{"sectionsAt":"","itemsAt":"/l","map":true}"#,
            violations: ["invalid-id /b/l/"]),
        .init(
            json: #"{"a/":{"l":{"x":1}},"b":{"l":{"x":1}}}"#, shape: #"{"sectionsAt":"","itemsAt":"/l","map":true}"#,
            violations: ["duplicate-id /a~1/l/x", "duplicate-id /b/l/x"]),
        .init(
            json: #"{"A":[{"id":1}],"B":null}"#, shape: #"{"sectionsAt":"","itemsAt":"","map":true,"idAt":"/id"}"#,
            document: #"{"sections":[{"id":"A","items":[{"id":1,"content":{"id":1}}]},{"id":"B","items":[]}]}"#),
        .init(
            json: #"[{"id":"s","o":false,"items":[]},{"id":"t","o":null,"items":[]}]"#,
            shape: #"{"sectionsAt":"","sectionExpandedAt":"/o"}"#,
            document: #"{"sections":[{"id":"s","expanded":false,"content":{"id":"s","o":false},"items":[]},"#
                + #"{"id":"t","content":{"id":"t","o":null},"items":[]}]}"#),
    ]

    @Test("what is left out is told with its place, whatever the state before")
    func skipped() throws {
        let shape = try StateShape(text: #"{"sectionsAt":"","childrenAt":"/k","invalid":"skip"}"#)
        let json =
            #"[{"id":"s","items":[{"id":"a"},{"k":[{"id":"b"}]},{"id":"c","k":[null,{"id":"b"}]}]},"#
            + #"{"items":[{"id":"a"},{}]},{"id":"t","items":[{"id":"d"}]}]"#
        var known: Snapshot?
        for _ in 0..<3 {
            let reading = try Snapshot.reading(json: Array(json.utf8), shape: shape, limits: StateLimits(), upon: known)
            known = reading.snapshot
            #expect(reading.warnings.map(\.pointer) == ["/0/items/1", "/0/items/2/k/0", "/1"])
            #expect(reading.warnings.allSatisfy { $0.code == "skipped" && $0.id == nil })
            #expect(ids(reading.snapshot) == ["a", "c", "b", "d"] && reading.snapshot.sectionCount == 2)
        }
    }

    @Test("each member says what of an element is what of an item", arguments: kinds + outlines + parts + maps + lists)
    func readings(row: ShapeCase) throws {
        let reading = Reading { () throws(StateError) in try row.read() }
        if let document = row.document {
            #expect(reading == .state(Tree.json(document).json))
        } else {
            #expect(reading == .violations(row.violations.sorted()))
        }
    }

    @Test("an id of parts has as many bytes as any")
    func longParts() throws {
        let json = { (count: Int) in #"[{"a":"\#(String(repeating: "/", count: count))","b":1}]"# }
        let shape = #"{"idAt":["/a","/b"]}"#
        #expect(try ShapeCase(json: json(1023), shape: shape).read().itemCount == 1)
        let reading = Reading { () throws(StateError) in try ShapeCase(json: json(1024), shape: shape).read() }
        #expect(reading == .violations(["invalid-id /0"]))
    }

    @Test("children are held to the limits of levels and items")
    func limits() throws {
        let nested = { (levels: Int) in
            (0..<levels).reversed().reduce("null") { #"[{"id":\#($1),"k":\#($0)}]"# }
        }
        let shape = try StateShape(text: #"{"childrenAt":"/k"}"#)
        #expect(try Snapshot(json: nested(8), shape: shape).itemCount == 8)
        let deep = Reading { () throws(StateError) in try Snapshot(json: nested(9), shape: shape) }
        #expect(deep == .limit(8, actual: 9, pointer: String(repeating: "/0/k", count: 8) + "/0"))
        var few = StateLimits()
        few.maxItems = 2
        let many = Reading { () throws(StateError) in try Snapshot(json: nested(3), shape: shape, limits: few) }
        #expect(many == .limit(2, actual: 3, pointer: "/0/k/0/k/0"))
        let map = Reading { () throws(StateError) in
            try Snapshot(
                json: #"{"a":1,"b":2,"c/":3}"#, shape: StateShape(text: #"{"itemsAt":"","map":true}"#), limits: few)
        }
        #expect(map == .limit(2, actual: 3, pointer: "/c~1"))
    }

    @Test("a content without its children is the same whatever they are")
    func contents() throws {
        let shape = try StateShape(text: #"{"childrenAt":"/k"}"#)
        let old = try Snapshot(json: #"[{"id":"a","k":[{"id":"b"}],"n":1}]"#, shape: shape)
        let new = try Snapshot(json: #"[{"n":1,"id":"a","k":[{"id":"c"}]}]"#, shape: shape)
        #expect(Counts(Changeset(from: old, to: new).counts) == Counts(deletions: 1, insertions: 1))
    }

    // MARK: Reading upon a known state

    static let known: [String] = [
        #"{"idAt":"/k","kindAt":"/t"}"#, #"{"idAt":["/t","/k"]}"#,
        #"{"idAt":"/k","childrenAt":"/c","expandedAt":"/e"}"#,
        #"{"idAt":"/k","kindAt":"/t","duplicates":"first"}"#,
    ]

    @Test("is the same as reading with every member", arguments: known)
    func knownStates(text: String) throws {
        let shape = try StateShape(text: text)
        var (taken, kinds) = (0, ["\"a\"", "\"b\"", "null"])
        for seed in 0..<30 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            // Numeric kinds are stored behind the document.
            if seed == 15 { kinds += ["7", "12"] }
            let element = { (id: Int, random: inout SplitMix64) -> String in
                let kind = kinds[random.below(kinds.count)]
                let children = random.below(3) == 0 ? #","c":[{"k":"\#(id)c","t":\#(kind)}],"e":false"# : ""
                return #"{"k":\#(id),"t":\#(text.contains("[") ? "\"t\"" : kind)\#(children)}"#
            }
            var rows = (0..<12).map { element($0, &random) }
            var known = try Snapshot(json: "[\(rows.joined(separator: ","))]", shape: shape)
            for step in 0..<5 {
                switch random.below(3) {
                case 0:
                    let at = random.below(rows.count)
                    rows[at] = element(at + 100 * (step + 1), &random)
                case 1: rows.insert(rows.remove(at: random.below(rows.count)), at: random.below(rows.count))
                default: rows.append(element(50 + step, &random))
                }
                if text.contains("first") { rows.append(rows[random.below(rows.count)]) }
                let json = "[\(rows.joined(separator: ","))]"
                let plain = try Snapshot.reading(json: Array(json.utf8), shape: shape, upon: nil)
                let upon = try Snapshot.reading(json: Array(json.utf8), shape: shape, upon: known)
                #expect(upon.snapshot.documentJSON() == plain.snapshot.documentJSON(), "seed \(seed)")
                #expect(upon.warnings == plain.warnings)
                taken += upon.shared?.runs.count ?? 0
                let change = Changeset(from: known, to: upon.snapshot, shared: upon.shared)
                let other = Changeset(from: known, to: plain.snapshot)
                #expect(change.json(.keyed) == other.json(.keyed), "seed \(seed)")
                known = upon.snapshot
            }
        }
        #expect(taken > 0 || !text.hasSuffix(#""kindAt":"/t"}"#))
    }

    // MARK: Duplicates

    private func first(_ json: String, _ shape: String = #"{"idAt":"/k","duplicates":"first"}"#) throws -> StateReading
    {
        try Snapshot.reading(json: Array(json.utf8), shape: StateShape(text: shape), upon: nil)
    }

    private func ids(_ snapshot: Snapshot) -> [String] {
        (0..<snapshot.itemCount).map { index in
            snapshot.columns.withView { String(decoding: $0.id(ofItem: index).text, as: UTF8.self) }
        }
    }

    @Test("the first of several elements with one id is kept, and the others are told")
    func duplicates() throws {
        let reading = try first(#"[{"k":1,"n":1},{"k":2},{"k":"1","n":2},{"k":2},{"k":3},{"k":1}]"#)
        #expect(ids(reading.snapshot) == ["1", "2", "3"])
        #expect(reading.warnings.map(\.pointer) == ["/2/k", "/3/k", "/5/k"])
        #expect(reading.warnings.map(\.id) == ["1", 2, 1])
        #expect(reading.warnings.map(\.code) == ["duplicate-id", "duplicate-id", "duplicate-id"])
        let none = try first(#"[{"k":1},{"k":2}]"#)
        #expect(none.warnings.isEmpty)
        // Contents that are known but for their ids are known as such whether or not something was left out.
        for rest in ["", #",{"k":6}"#] {
            let (old, new) = (#"[{"k":1,"t":1},{"k":2,"t":2}]"#, #"[{"k":6,"t":1},{"k":7,"t":2}\#(rest)]"#)
            #expect(Changeset(from: try first(old).snapshot, to: try first(new).snapshot).showsIdentityChurn)
        }
    }

    @Test("an element goes with what is below it, which was not there then")
    func duplicateTrees() throws {
        let reading = try first(
            #"[{"id":"a","c":[{"id":"b"}]},{"id":"b","c":[{"id":"c"},{"id":"d"}]},{"id":"c","c":[{"id":"a"},"#
                + #"{"id":"e"}]}]"#,
            #"{"childrenAt":"/c","duplicates":"first"}"#)
        #expect(ids(reading.snapshot) == ["a", "b", "c", "e"])
        #expect(reading.warnings.map(\.pointer) == ["/1/id", "/2/c/0/id"])
        let sections = try first(
            #"[{"id":"s","items":[{"id":"a"}]},{"id":"s","items":[{"id":"b"}]},{"id":"t","items":[{"id":"b"},"#
                + #"{"id":"a"}]}]"#,
            #"{"sectionsAt":"","duplicates":"first"}"#)
        #expect(sections.snapshot.sectionCount == 2)
        #expect(ids(sections.snapshot) == ["a", "b"])
        #expect(sections.warnings.map(\.pointer) == ["/1/id", "/2/items/1/id"])
        let map = try first(
            #"[{"id":"s","items":{"a/":1}},{"id":"t","items":{"a/":2}}]"#,
            #"{"sectionsAt":"","map":true,"duplicates":"first"}"#)
        #expect(map.warnings.map(\.pointer) == ["/1/items/a~1"])
    }

    /// An element of a list where ids occur again; without an id, or without a list of rows, it is faulty.
    private struct Row {
        var id: Int?
        var rows: [Row]?

        init(_ random: inout SplitMix64, level: Int = 0) {
            id = random.below(12) == 0 ? nil : random.below(9)
            let count = level > 2 ? 0 : random.below(3)
            rows = random.below(12) == 0 ? nil : (0..<count).map { _ in Row(&random, level: level + 1) }
        }

        var json: String {
            let list = rows.map { "[\($0.map(\.json).joined(separator: ","))]" } ?? "7"
            return "{\(id.map { "\"k\":\($0)," } ?? "")\"c\":\(list)}"
        }

        /// Adds the ids of what is kept; false if there is a fault in that.
        func isSound(_ ids: inout [Int]) -> Bool {
            if let id, ids.contains(id) { return true }
            guard let id, let rows else { return false }
            ids.append(id)
            return rows.map { $0.isSound(&ids) }.allSatisfy { $0 }
        }
    }

    @Test("what goes may be as it likes, with what is below it")
    func faultyDuplicates() throws {
        let shape = try StateShape(text: #"{"idAt":"/k","childrenAt":"/c","duplicates":"first"}"#)
        var (random, accepted, known) = (SplitMix64(seed: 7), 0, try Snapshot(json: "[]", shape: shape))
        for _ in 0..<Effort.runs(3_000) {
            let rows = (0..<random.below(5)).map { _ in Row(&random) }
            let json = "[\(rows.map(\.json).joined(separator: ","))]"
            var kept: [Int] = []
            let isSound = rows.map { $0.isSound(&kept) }.allSatisfy { $0 }
            let reading = try? Snapshot.reading(json: Array(json.utf8), shape: shape, upon: known)
            #expect(reading.map { ids($0.snapshot) } == (isSound ? kept.map { "\($0)" } : nil), "\(json)")
            if let reading, json.contains(":7") || json.contains("{\"c\"") { accepted += 1; known = reading.snapshot }
        }
        #expect(accepted > 10)
        let faults = { (json: String) in
            Reading { () throws(StateError) in try Snapshot(json: Array(json.utf8), shape: shape) }
        }
        #expect(
            faults(#"[{"k":1},{"k":2,"c":[{"k":1,"c":7},{"k":3,"c":8}]}]"#) == .violations(["not-an-array /1/c/1/c"]))
        #expect(faults(#"[{"k":1},{"k":2,"c":[{"k":1,"c":[{}]}]},{}]"#) == .violations(["missing-id /2"]))
        let sections = try first(
            #"[{"id":"s","items":[]},{"id":"s","items":[{"id":[]}]},{"id":"t","items":[{"id":"a"}]}]"#,
            #"{"sectionsAt":"","duplicates":"first"}"#)
        #expect(sections.snapshot.sectionCount == 2 && ids(sections.snapshot) == ["a"])
    }

    @Test("twenty are told, and all else that is wrong is refused as ever")
    func manyDuplicates() throws {
        let many = "[" + Array(repeating: #"{"k":1}"#, count: 1000).joined(separator: ",") + "]"
        let reading = try first(many)
        #expect((reading.snapshot.itemCount, reading.warnings.count) == (1, 20))
        #expect(throws: StateError.self) { try first(#"[{"k":1},{"k":1},{}]"#) }
    }

    // MARK: Members

    static let shapes: [String] = [
        #"{"itemsAt":"","idAt":"/id"}"#, #"{"kindAt":"/t"}"#, #"{"kindAt":"/t","map":true}"#, #"{"sectionsAt":"/g"}"#,
        #"{"itemsAt":"/a~1b/0","idAt":["/x","/y"],"kindAt":"/t"}"#,
        #"{"itemsAt":"/rows","sectionsAt":"/g","sectionIdAt":"/key","idAt":""}"#,
        #"{"itemsAt":"/l","childrenAt":"/c","expandedAt":"/e","map":true,"duplicates":"first"}"#,
        #"{"sectionsAt":"/g","itemsAt":"","map":true,"idAt":"/id","sectionExpandedAt":"/open"}"#,
        #"{"sectionsAt":"/g","map":true,"sectionIdAt":"/key"}"#, #"{"sectionsAt":"/g","map":true}"#,
        #"{"idAt":"/id","missing":"empty","invalid":"skip"}"#,
        #"{"itemsAt":"/l","idAt":"/id","rest":true}"#, #"{"itemsAt":"/l","idAt":"/id","rest":["/a","/b"]}"#,
    ]

    @Test("a shape is written as it is read", arguments: shapes)
    func written(text: String) throws {
        let shape = try StateShape(text: text)
        var writer = JSONWriter()
        shape.write(into: &writer)
        let written = String(decoding: writer.bytes(), as: UTF8.self)
        #expect(try StateShape(text: written) == shape, "\(written)")
        #expect(shape.footprint > 0)
    }

    @Test("what is not said is the default")
    func defaults() throws {
        #expect(try StateShape(text: #"{"kindAt":"/t"}"#).mapping?.items == .root)
        #expect(try StateShape(text: #"{"sectionsAt":"/g"}"#).mapping?.items == JSONPointer("/items"))
        #expect(try StateShape(text: #"{"idAt":"/k"}"#) == .pointers(idAt: JSONPointer("/k")))
        #expect(try StateShape(text: #"{"idAt":"/k","rest":false}"#) == .pointers(idAt: JSONPointer("/k")))
        #expect(try StateShape(text: #"{"itemsAt":"","sectionIdAt":"/x"}"#) == .pointers())
        #expect(.pointers(sectionsAt: .root) != StateShape.pointers())
        #expect(StateShape.pointers() != .native)
    }

    static let refused: [(String, String)] = [
        ("[]", "wrong-type "), ("{}", "wrong-type "), (#"{"map":true}"#, "wrong-type "),
        (#"{"rest":true,"duplicates":"first"}"#, "wrong-type "), (#"{"itemAt":"/a"}"#, "unknown-member /itemAt"),
        (#"{"itemsAt":1}"#, "wrong-type /itemsAt"), (#"{"itemsAt":"a"}"#, "wrong-type /itemsAt"),
        (#"{"itemsAt":["/a"]}"#, "wrong-type /itemsAt"), (#"{"idAt":[]}"#, "wrong-type /idAt"),
        (#"{"idAt":["/a","/b","/c","/d","/e"]}"#, "wrong-type /idAt"), (#"{"idAt":["/a",1]}"#, "wrong-type /idAt"),
        (#"{"idAt":"/a","missing":true}"#, "wrong-type /missing"), (#"{"missing":"empty"}"#, "wrong-type "),
        (#"{"idAt":"/a","invalid":"first"}"#, "wrong-type /invalid"), (#"{"invalid":"skip"}"#, "wrong-type "),
        (#"{"idAt":"/a","map":"true"}"#, "wrong-type /map"),
        (#"{"idAt":"/a","duplicates":"last"}"#, "wrong-type /duplicates"),
        (#"{"idAt":"/a","rest":"a"}"#, "wrong-type /rest"),
        (#"{"kindAt":"\#(String(repeating: "/a", count: 65))"}"#, "wrong-type /kindAt"),
    ]

    @Test("what is no shape is refused with its place", arguments: refused)
    func refusals(text: String, violation: String) {
        #expect(throws: StateError.self) { try StateShape(text: text) }
        do throws(StateError) { _ = try StateShape(text: text) } catch {
            #expect(Reading(error) == .violations([violation]))
        }
    }

    @Test("what is wrong with several members is told at once")
    func allRefusals() {
        let text = #"{"map":7,"idAt":["/a","b"],"itemAt":"","rest":"c","kindAt":"/k"}"#
        let reading = Reading { () throws(StateError) in
            _ = try StateShape(text: text)
            return .empty
        }
        #expect(
            reading
                == .violations(["unknown-member /itemAt", "wrong-type /idAt", "wrong-type /map", "wrong-type /rest"]))
    }
}
