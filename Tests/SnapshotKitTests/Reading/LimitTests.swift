import SnapshotKit
import Testing

@Suite("Limits of a state")
struct LimitTests {
    private func read(_ json: String, _ change: (inout StateLimits) -> Void = { _ in }) -> Reading {
        var limits = StateLimits()
        change(&limits)
        return Reading { () throws(StateError) in try Snapshot(json: Array(json.utf8), limits: limits) }
    }

    private func isState(_ reading: Reading) -> Bool { if case .state = reading { true } else { false } }

    private func items(_ count: Int, from first: Int = 0) -> String {
        (first..<first + count).map { "\($0)" }.joined(separator: ",")
    }

    @Test("sections, at the limit and one past it")
    func sections() {
        let json = { (count: Int) in
            #"{"sections":[\#((0..<count).map { #"{"id":\#($0),"items":[]}"# }.joined(separator: ","))]}"#
        }
        #expect(isState(read(json(3)) { $0.maxSections = 3 }))
        #expect(read(json(4)) { $0.maxSections = 3 } == .limit(3, actual: 4, pointer: "/sections/3"))
        #expect(isState(read(json(10_000))))
        #expect(read(json(10_001)) == .limit(10_000, actual: 10_001, pointer: "/sections/10000"))
    }

    @Test("items, children and hidden ones included")
    func itemCounts() {
        #expect(isState(read("[\(items(5))]") { $0.maxItems = 5 }))
        #expect(read("[\(items(6))]") { $0.maxItems = 5 } == .limit(5, actual: 6, pointer: "/5"))
        let nested = #"[0,{"id":"p","expanded":false,"items":[1,2]},3]"#
        #expect(isState(read(nested) { $0.maxItems = 5 }))
        #expect(read(nested) { $0.maxItems = 4 } == .limit(4, actual: 5, pointer: "/2"))
        #expect(read(nested) { $0.maxItems = 3 } == .limit(3, actual: 4, pointer: "/1/items/1"))
        let sectioned = #"{"sections":[{"id":"s","items":[1]},{"id":"t","items":[2,3]}]}"#
        #expect(read(sectioned) { $0.maxItems = 2 } == .limit(2, actual: 3, pointer: "/sections/1/items/1"))
    }

    @Test("a hundred thousand items, and one more")
    func defaultItems() throws {
        let state = try Snapshot(json: "[\(items(100_000))]")
        #expect(state.itemCount == 100_000)
        #expect(read("[\(items(100_001))]") == .limit(100_000, actual: 100_001, pointer: "/100000"))
    }

    @Test("nesting, at the limit and one past it")
    func nesting() {
        let json = { (levels: Int) in
            let open = (0..<levels - 1).map { #"{"id":\#($0),"items":["# }.joined()
            return "[" + open + "\"leaf\"" + String(repeating: "]}", count: levels - 1) + "]"
        }
        #expect(isState(read(json(8))))
        let pointer = "/0" + String(repeating: "/items/0", count: 8)
        #expect(read(json(9)) == .limit(8, actual: 9, pointer: pointer))
        #expect(isState(read(json(1)) { $0.maxNesting = 1 }))
        #expect(read(json(2)) { $0.maxNesting = 1 } == .limit(1, actual: 2, pointer: "/0/items/0"))
    }

    @Test("depth counts what stands around a value, the state included")
    func depth() {
        let json = { (depth: Int) in
            let value = String(repeating: "[", count: depth - 2) + String(repeating: "]", count: depth - 2)
            return #"[{"id":"a","content":\#(value)}]"#
        }
        #expect(isState(read(json(64))))
        #expect(read(json(65)) == .notJSON(.tooDeep))
        #expect(isState(read(json(5)) { $0.maxDepth = 5 }))
        #expect(read(json(6)) { $0.maxDepth = 5 } == .notJSON(.tooDeep))
    }

    @Test("an id of 2,048 bytes, and one more")
    func idBytes() {
        for (letter, count) in [("a", 2_048), ("é", 1_024), ("😀", 512)] {
            let id = String(repeating: letter, count: count)
            #expect(isState(read("[\"\(id)\"]")))
            #expect(read("[\"\(id)b\"]") == .violations(["invalid-id /0"]))
        }
        let escaped = String(repeating: #"\u0061"#, count: 2_048)
        #expect(isState(read("[\"\(escaped)\"]")))
        #expect(read("[\"\(escaped)b\"]") == .violations(["invalid-id /0"]))
        let digits = String(repeating: "7", count: 2_048)
        #expect(isState(read("[\(digits)]")))
        #expect(read("[\(digits)7]") == .violations(["invalid-id /0"]))
        #expect(read("[\"\(String(repeating: "x", count: 65_536))\"]") == .violations(["invalid-id /0"]))
    }

    @Test("a document that is no JSON is called so before a limit is")
    func jsonFirst() {
        #expect(read("[\(items(6)),]") { $0.maxItems = 5 } == .notJSON(.unexpectedByte))
    }

    @Test("long ids, written with escapes and without, are the same and come back")
    func longIDs() throws {
        let plain = "[\"" + String(repeating: "a", count: 2_048) + "\"]"
        let escaped = "[\"" + String(repeating: #"\u0061"#, count: 2_048) + "\"]"
        let (one, other) = (try Snapshot(json: plain), try Snapshot(json: escaped))
        #expect(Changeset(from: one, to: other).counts.total == 0)
        #expect(String(decoding: other.documentJSON(), as: UTF8.self).contains(escaped.dropFirst().dropLast()))
    }
}
