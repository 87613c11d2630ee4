import Testing

@testable import DiffClient

@Suite("Contents as values")
struct ItemDecoderTests {
    private struct Fire: Decodable, Equatable {
        var acres: Int
    }

    private func list(_ items: String) throws -> RowList {
        try RowList(state: Array(#"{"sections":[{"id":"main","items":\#(items)}]}"#.utf8))
    }

    @Test("each is decoded once, and again when it changes")
    func once() throws {
        var decoder = ItemDecoder<Fire>()
        _ = decoder.sections(of: try list(#"[{"id":1,"content":{"acres":1}},{"id":2,"content":{"acres":2}}]"#))
        #expect(decoder.count == 2)
        let moved = try list(#"[{"id":2,"content":{"acres":2},"level":0},{"id":1,"content":{"acres":9}}]"#)
        let sections = decoder.sections(of: moved)
        #expect(decoder.count == 3)
        #expect(sections.map { $0.rows.map(\.item.acres) } == [[2, 9]])
        #expect(sections[0].rows.map(\.id) == [2, 1])
    }

    @Test("one that is no such value is left out, and told; it does not end the list")
    func failures() throws {
        var decoder = ItemDecoder<Fire>()
        let sections = decoder.sections(
            of: try list(#"[{"id":"a"},{"id":"b","content":{"acres":2}},{"id":"c","content":[]}]"#))
        #expect(sections[0].rows.map(\.id) == ["b"])
        #expect(Set(decoder.failures.keys) == ["a", "c"])
        _ = decoder.sections(of: try list(#"[{"id":"a"}]"#))
        #expect(Set(decoder.failures.keys) == ["a"])
        #expect(decoder.count == 3)
    }

    @Test("rows without content are nil where the value is optional")
    func optional() throws {
        var decoder = ItemDecoder<Fire?>()
        #expect(decoder.sections(of: try list(#"[{"id":"a"}]"#))[0].rows.map(\.item) == [nil])
    }
}
