import Testing

@testable import SnapshotKit

/// `s[a b(c-(d) e)] t-[f] u[g]`.
private let json = """
    {"sections":[{"id":"s","content":{"title":1},"items":["a",{"id":"b","kind":"k","content":[ 1 ],"items":[
    {"id":"c","expanded":false,"items":["d"]},"\\u0065"]}]},{"id":"t","expanded":false,"items":["f"]},{"id":7,
    "items":[8]}]}
    """

struct LookupCase {
    let id: String
    let expected: String
}

@Suite("Look-ups")
struct LookupTests {
    private static let items = [
        LookupCase(
            id: "a",
            expected:
                #""id":"a","section":"s","parent":null,"level":0,"indexPath":[0,0],"visible":true,"expanded":true"#),
        LookupCase(
            id: "b",
            expected:
                #""id":"b","section":"s","parent":null,"level":0,"indexPath":[0,1],"visible":true,"#
                + #""expanded":true,"kind":"k"|,"content":[ 1 ]"#
        ),
        LookupCase(
            id: "c",
            expected:
                #""id":"c","section":"s","parent":"b","level":1,"indexPath":[0,2],"visible":true,"expanded":false"#),
        LookupCase(
            id: "d",
            expected: #""id":"d","section":"s","parent":"c","level":2,"indexPath":null,"visible":false,"expanded":true"#
        ),
        LookupCase(
            id: "e",
            expected:
                #""id":"\u0065","section":"s","parent":"b","level":1,"indexPath":[0,3],"visible":true,"#
                + #""expanded":true"#),
        LookupCase(
            id: "f",
            expected:
                #""id":"f","section":"t","parent":null,"level":0,"indexPath":null,"visible":false,"expanded":true"#),
        LookupCase(
            id: "8",
            expected: #""id":8,"section":7,"parent":null,"level":0,"indexPath":[2,0],"visible":true,"expanded":true"#),
    ]

    @Test("An id leads to all that there is to say of an item", arguments: items)
    func itemsByID(_ row: LookupCase) throws {
        let snapshot = try Snapshot(json: json)
        let pasts = try pasts(snapshot)
        let item = try #require(snapshot.item(withID: row.id))
        #expect(written { item.writeLookup(into: &$0) } == row.expected.filter { $0 != "|" })
        #expect(item.path.flatMap(snapshot.item(at:))?.id == (item.isVisible ? item.id : nil))
        for state in pasts {
            let past = try #require(state.item(withID: row.id))
            #expect(written { past.writeLookup(into: &$0) } == row.expected.filter { $0 != "|" })
            #expect(
                written { past.writeLookup(into: &$0, showsContent: false) }
                    == String(row.expected.prefix { $0 != "|" }))
            #expect(past.path == item.path && past.kind == item.kind && past.content == item.content)
            #expect(past.path.flatMap(state.item(at:))?.id == past.path.map { _ in past.id })
        }
    }

    /// The state as restored from a delta back to it, with and without tables of its ids.
    private func pasts(_ snapshot: Snapshot) throws -> [Snapshot] {
        let next = try Snapshot(json: #"["other"]"#)
        let back = SnapshotDelta(backOver: Changeset(from: snapshot, to: next))
        return try [false, true].map { try #require(next.applying([back], isIndexed: $0)).snapshot }
    }

    @Test("An id leads to all that there is to say of a section")
    func sectionsByID() throws {
        let snapshot = try Snapshot(json: json)
        let pasts = try pasts(snapshot)
        let rows = [
            ("s", #""id":"s","index":0,"expanded":true,"rows":4"#, #","content":{"title":1}"#),
            ("t", #""id":"t","index":1,"expanded":false,"rows":0"#, ""),
            ("7", #""id":7,"index":2,"expanded":true,"rows":1"#, ""),
        ]
        for (id, expected, content) in rows {
            let section = try #require(snapshot.section(withID: id))
            #expect(written { section.writeLookup(into: &$0) } == expected + content)
            #expect(snapshot.sections[section.index].id == section.id)
            for state in pasts {
                let past = try #require(state.section(withID: id))
                #expect(written { past.writeLookup(into: &$0) } == expected + content)
                #expect(written { past.writeLookup(into: &$0, showsContent: false) } == expected)
                #expect(state.sections[past.index].rows.map(\.id) == section.rows.map(\.id))
            }
        }
    }

    @Test("What is not there is not found")
    func nothing() throws {
        let snapshot = try Snapshot(json: json)
        let pasts = try pasts(snapshot)
        for id in ["", "x", "s", "é", String(repeating: "x", count: 70_000)] {
            #expect(snapshot.item(withID: id) == nil)
            #expect(pasts.allSatisfy { $0.item(withID: id) == nil })
        }
        for id in ["", "a", "S"] {
            #expect(snapshot.section(withID: id) == nil)
            #expect(pasts.allSatisfy { $0.section(withID: id) == nil })
        }
        for path in [(-1, 0), (0, -1), (0, 4), (1, 0), (2, 1), (3, 0), (Int.max, 0), (0, Int.max)] {
            #expect(snapshot.item(at: ItemPath(section: path.0, row: path.1)) == nil)
            #expect(pasts.allSatisfy { $0.item(at: ItemPath(section: path.0, row: path.1)) == nil })
        }
        #expect(Snapshot.empty.item(withID: "a") == nil)
        #expect(Snapshot.empty.item(at: ItemPath(section: 0, row: 0)) == nil)
        #expect(Snapshot.empty.section(withID: "main") == nil)
        let hidden = try Snapshot(json: #"{"sections":[{"id":"s","expanded":false,"items":["a"]}]}"#)
        #expect(hidden.item(at: ItemPath(section: 0, row: 0)) == nil)
        #expect(hidden.item(withID: "a")?.path == nil)
    }

    @Test("A state can be walked")
    func walk() throws {
        let snapshot = try Snapshot(json: json)
        let section = try #require(snapshot.sections.first)
        #expect(section.rows.map(\.id) == ["a", "b", "c", "e"])
        #expect(section.items.map(\.id) == ["a", "b"])
        #expect(section.items[1].children.map(\.id) == ["c", "e"])
        #expect(section.items[1].kind == "k")
        #expect(section.items[1].content == Array("[ 1 ]".utf8))
        #expect(section.content == Array(#"{"title":1}"#.utf8))
        #expect(section.items[1].children[0].children[0].parent?.parent?.id == "b")
        #expect(snapshot.sections.map(\.id) == ["s", "t", 7])
    }

    @Test("Ids are compared by their bytes")
    func ids() throws {
        #expect(ElementID(1) == ElementID("1"))
        #expect(ElementID("\u{E9}") != ElementID("e\u{301}"))
        #expect(Set([ElementID("\u{E9}"), ElementID("e\u{301}"), 7, "7"]).count == 3)
        let big = try Snapshot(json: "[123456789012345678901234567890]")
        #expect(big.item(withID: "123456789012345678901234567890")?.id.isInteger == false)
        let edges: [(String, Bool)] = [
            ("9007199254740991", true), ("-9007199254740991", true), ("9007199254740992", false),
            ("-9007199254740992", false), ("-0", true), ("10000000000000000", false),
        ]
        for (digits, isInteger) in edges {
            #expect(try Snapshot(json: "[\(digits)]").sections[0].items[0].id.isInteger == isInteger, "\(digits)")
            let shown = isInteger ? digits : "\"\(digits)\""
            #expect(written { $0.append(id: ElementID(Int(digits)!)) } == (digits == "-0" ? "0" : shown))
        }
    }

    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes(), as: UTF8.self)
    }
}
