import SnapshotKit
import Testing

@Suite("What of a document is not its list")
struct RestTests {
    private func content(_ document: String, _ rest: StateShape.Rest, itemsAt: String = "/data/items") throws -> String?
    {
        var mapping = StateShape.FieldMapping()
        mapping.itemsAt = JSONPointer(itemsAt)
        mapping.rest = rest
        let state = try Snapshot(json: document, shape: StateShape(mapping))
        // It is the same as if it had been written as a state.
        let again = try Snapshot(json: state.documentJSON())
        #expect(again.documentJSON() == state.documentJSON())
        return state.content.map { String(decoding: $0, as: UTF8.self) }
    }

    private static let document =
        #"{"total": 2, "data":{ "page":1 ,"items":[{"id":"a"},"#
        + #"{"id":"b"}] , "next":"c\u00e9"}, "made":{"at":17,"by":[1]}}"#

    @Test("All of it, as it was written")
    func all() throws {
        #expect(
            try content(Self.document, .all)
                == #"{"total": 2, "data":{ "page":1 , "next":"c\u00e9"}, "made":{"at":17,"by":[1]}}"#)
        #expect(try content(#"{"items":[{"id":"a"}]}"#, .all, itemsAt: "/items") == "{}")
        #expect(try content(#"{"items":[{"id":"a"}],"n":1}"#, .all, itemsAt: "/items") == #"{"n":1}"#)
        #expect(try content(#"{"n":1, "items" : [{"id":"a"}] }"#, .all, itemsAt: "/items") == #"{"n":1 }"#)
        #expect(try content(#"[7,[{"id":"a"}],8]"#, .all, itemsAt: "/1") == "[7,8]")
        #expect(try content(#"[{"id":"a"}]"#, .all, itemsAt: "") == nil)
        #expect(try content(Self.document, .none) == nil)
    }

    @Test(
        "These members only",
        arguments: [
            (["/total"], #"{"total":2}"#), (["/data/next", "/total"], #"{"total":2,"data":{"next":"c\u00e9"}}"#),
            (["/data"], #"{"data":{ "page":1 , "next":"c\u00e9"}}"#), (["/data/items"], "{}"),
            (["/data/items/0"], "{}"), (["/made/by/0"], "{}"),
            (["/made", "/made/at"], #"{"made":{"at":17,"by":[1]}}"#),
            (["/made/by", "/made/at"], #"{"made":{"at":17,"by":[1]}}"#), (["/none", "/total/x", "/data/none"], "{}"),
        ])
    func members(pointers: [String], expected: String) throws {
        #expect(try content(Self.document, .members(pointers.map { JSONPointer($0)! })) == expected)
    }

    @Test("An array has no members")
    func array() throws {
        #expect(try content(#"[7,[{"id":"a"}]]"#, .members([JSONPointer("/0")!]), itemsAt: "/1") == nil)
    }
}
