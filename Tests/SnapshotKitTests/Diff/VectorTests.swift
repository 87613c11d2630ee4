import SnapshotKit
import Testing

// The vectors V1 to V7 of the specification, written out.

@Suite("Vectors")
struct VectorTests {
    private func tree(_ old: Model, _ new: Model, _ dialect: Dialect, staging: Staging = .safe) throws -> Tree {
        let changeset = Changeset(from: try State(old).snapshot, to: try State(new).snapshot)
        return try TreeParser.tree(changeset.json(dialect, staging: staging))
    }

    private func expectSound(_ old: Model, _ new: Model) throws {
        let failures = PairCheck.failures(from: try State(old), to: try State(new))
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
    }

    private func counts(_ old: Model, _ new: Model) throws -> OperationCounts {
        Changeset(from: try State(old).snapshot, to: try State(new).snapshot).counts
    }

    @Test("V1: sections change places and all their rows go")
    func emptiedSections() throws {
        let (old, new) = (Model.sectioned("1:ab 2:cd"), Model.sectioned("2:e 1:"))
        try expectSound(old, new)
        let stages = try tree(old, new, .staged).elements()
        #expect(stages.count == 3)
        #expect(stages[0] == .json(#"{"name":"deletes","items":{"deleted":[[0,0],[0,1],[1,0],[1,1]]},"counts":[0,0]}"#))
        let moves = ["[0,1]", "[1,0]"].map { pair -> Tree in
            let (from, to) = pair == "[0,1]" ? (0, 1) : (1, 0)
            return .json(#"{"name":"sections","sections":{"moved":[{"from":\#(from),"to":\#(to)}]},"counts":[0,0]}"#)
        }
        #expect(moves.contains(stages[1]))
        #expect(
            stages[2]
                == .json(#"{"name":"items","items":{"inserted":[{"at":[0,0],"item":{"id":"e"}}]},"counts":[1,0]}"#))
    }

    static let v2Old = Model.sectioned("A:abc B:de C:fg")
    static var v2New: Model {
        var model = Model.sectioned("D:bx C:gdf A:cay")
        model.sections[1].content = .json(#"{"title":"changed"}"#)
        model.change("f") { $0.content = .token("1") }
        model.change("c") { $0.content = .token("2") }
        return model
    }

    @Test("V2 staged: a section goes, one comes, rows move into both sorts")
    func mixedStages() throws {
        try expectSound(Self.v2Old, Self.v2New)
        let stages = try tree(Self.v2Old, Self.v2New, .staged).elements()
        try #require(stages.count == 5)
        let first = try stages[0].members("name", "items", "counts").take("items").members("updated").list("updated")
        #expect(
            try first.map { try IndexPath($0.members("at", "item", "as").take("at")) } == [
                IndexPath(0, 2), IndexPath(2, 0),
            ])
        #expect(
            stages[1]
                == .json(#"{"name":"deletes","sections":{"deleted":[1]},"items":{"deleted":[[0,1]]},"counts":[2,2]}"#))
        let inserted = #"[{"at":0,"section":{"id":"D","items":[{"id":"b"},{"id":"x"}]}}]"#
        let moved = ["[{\"from\":0,\"to\":2}]", "[{\"from\":1,\"to\":1}]"].map { moved in
            Tree.json(#"{"name":"sections","sections":{"inserted":\#(inserted),"moved":\#(moved)},"counts":[2,2,2]}"#)
        }
        #expect(moved.contains(stages[2]), "\(stages[2])")
        let header = #"{"at":1,"section":{"id":"C","content":{"title":"changed"}},"as":"reconfigure"}"#
        #expect(stages[4] == .json(#"{"name":"headers","sections":{"updated":[\#(header)]},"counts":[2,3,3]}"#))
    }

    @Test("V2 keyed: the new section comes with x only, b and d move, e is removed with its section")
    func mixedKeys() throws {
        let operations = try tree(Self.v2Old, Self.v2New, .keyed)
        let applied = try KeyedApplier.apply(operations, to: Self.v2Old.rows).operations
        #expect(applied.items.moved.count == 4)
        #expect(applied.items.moved.isSuperset(of: ["b", "d"]))
        #expect(applied.items.inserted == ["x", "y"])
        #expect(applied.items.deleted == ["e"])
        let first = try operations.elements().first { try $0.isInsertion(of: "D") }
        let came = try #require(first).members("op", "section", "before").take("section").members("id", "items")
        #expect(try came.list("items") == [.json(#"{"id":"x"}"#)])
        #expect(!(try operations.elements().contains { $0 == .json(#"{"op":"remove","items":["e"]}"#) }))
    }

    @Test("V3: one row from the end to the start is one move")
    func oneMove() throws {
        let (old, new) = (Model.flat("abcd"), Model.flat("dabc"))
        try expectSound(old, new)
        #expect(try tree(old, new, .indexed) == .json(#"{"items":{"moved":[{"from":[0,3],"to":[0,0]}]}}"#))
        #expect(try tree(old, new, .keyed) == .json(#"[{"op":"move","item":"d","in":"main","before":"a"}]"#))
        #expect(try tree(old, new, .sequential) == .json(#"[{"op":"move","from":3,"to":0}]"#))
        #expect(
            try tree(old, new, .jsonPatch)
                == .json(#"[{"op":"move","from":"/sections/0/items/3","path":"/sections/0/items/0"}]"#))
    }

    @Test("V4: a row that moved and changed is one move and one update")
    func movedAndChanged() throws {
        let old = Model.flat("ab")
        var new = Model.flat("ba")
        new.change("b") { $0.content = .token("1") }
        try expectSound(old, new)
        let counts = try counts(old, new)
        #expect((counts.deletions, counts.insertions, counts.moves, counts.updates) == (0, 0, 1, 1))
    }

    @Test("V5: a section's content alone is one section update")
    func header() throws {
        var (old, new) = (Model.sectioned("s:a"), Model.sectioned("s:a"))
        old.sections[0].content = .json(#"{"title":1}"#)
        new.sections[0].content = .json(#"{"title":2}"#)
        try expectSound(old, new)
        let section = #"{"id":"s","content":{"title":2}}"#
        #expect(try tree(old, new, .keyed) == .json(#"[{"op":"update","section":\#(section),"as":"reconfigure"}]"#))
        #expect(
            try tree(old, new, .indexed)
                == .json(#"{"sections":{"updated":[{"from":0,"at":0,"section":\#(section),"as":"reconfigure"}]}}"#))
        for staging in Staging.allCases {
            let stage =
                #"{"name":"headers","sections":{"updated":[{"at":0,"section":\#(section),"as":"reconfigure"}]},"#
                + #""counts":[1]}"#
            #expect(try tree(old, new, .staged, staging: staging) == .json("[\(stage)]"))
        }
        #expect(
            try tree(old, new, .sequential)
                == .json(#"[{"op":"update","at":0,"rows":[{"section":\#(section)}],"as":"reconfigure"}]"#))
    }

    @Test("V6: collapsing a section deletes its rows, expanding brings them back with their content")
    func collapsed() throws {
        var open = Model.sectioned("s:ab")
        open.change("a") { $0.content = .token("7") }
        var closed = open
        closed.sections[0].expanded = false
        try expectSound(open, closed)
        try expectSound(closed, open)
        #expect(
            try tree(open, closed, .indexed)
                == .json(
                    #"{"sections":{"updated":[{"from":0,"at":0,"section":{"id":"s","expanded":false},"#
                        + #""as":"reconfigure"}]},"items":{"deleted":[[0,0],[0,1]]}}"#))
        let opening = try tree(closed, open, .indexed).members("sections", "items")
        #expect(
            try opening.take("items")
                == .json(
                    #"{"inserted":[{"at":[0,0],"item":{"id":"a","content":7}},{"at":[0,1],"item":{"id":"b"}}]}"#))
    }

    @Test("V7: the ends of a thousand items swapped are two moves")
    func swappedEnds() throws {
        let ids = (0..<1_000).map { Text("item-\($0)") }
        let swapped = [ids[999]] + ids[1..<999] + [ids[0]]
        let models = [ids, swapped].map { Model(sections: [.init(id: "main", items: $0.map { .init(id: $0) })]) }
        try expectSound(models[0], models[1])
        let counts = try counts(models[0], models[1])
        #expect((counts.moves, counts.total) == (2, 2))
    }

    @Test("a move whose from equals its to is kept when it is real")
    func moveOntoItself() throws {
        let (old, new) = (Model.flat("abcde"), Model.flat("decab"))
        try expectSound(old, new)
        #expect(try counts(old, new).moves == 3)
    }
}

extension Tree {
    fileprivate func isInsertion(of section: Text) throws -> Bool {
        guard case .object(let members) = self, members["op"] == .string("insert") else { return false }
        return try members["section"]?.identity() == section
    }
}
