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

    @Test("a data source is shown the rows that are such values, and draws again only those it had")
    func decode() throws {
        var decoder = ItemDecoder<Fire>()
        var followed = FollowedList()
        func shown(_ members: String) throws -> ListUpdate {
            let outcome = try followed.take(Array(#"{"dialect":"diffable",\#(members)}"#.utf8))
            var change = ListUpdate.Change.reset(reason: "initial")
            if case .arranged(let arrangement) = outcome { change = .diffable(arrangement) }
            return decoder.decode(ListUpdate(list: followed.list, revision: "1", change: change, followed: followed))
        }
        let (good, bad) = (#""content":{"acres":1}"#, #""content":"none""#)
        let first = try shown(
            #""to":"1","reset":"initial","state":{"sections":[{"id":"main","items":["#
                + #"{"id":"a",\#(good)},{"id":"b",\#(bad)},{"id":"c",\#(good)},{"id":"d",\#(good)}]}]}"#)
        #expect(first.list.sections[0].rows.map(\.id) == ["a", "c", "d"])
        #expect(decoder["a"]?.item == Fire(acres: 1))
        #expect(decoder["b"] == nil && decoder["nobody"] == nil)
        let second = try shown(
            #""from":"1","to":"2","changes":{"sections":[{"id":"main","items":["a","b","c","d"]}],"#
                + #""items":[{"id":"b",\#(good)},{"id":"c",\#(bad)},{"id":"d","content":{"acres":4}}],"#
                + #""reload":["c"],"reconfigure":["b","d"]}"#)
        #expect(second.list.sections[0].rows.map(\.id) == ["a", "b", "d"])
        guard case .diffable(let arrangement) = second.change else {
            Issue.record("another change")
            return
        }
        #expect(arrangement.list == second.list)
        #expect(arrangement.reconfigure == ["d"])
        #expect(decoder["d"]?.item == Fire(acres: 4))
    }

    @Test("rows without content are nil where the value is optional")
    func optional() throws {
        var decoder = ItemDecoder<Fire?>()
        #expect(decoder.sections(of: try list(#"[{"id":"a"}]"#))[0].rows.map(\.item) == [nil])
    }
}
