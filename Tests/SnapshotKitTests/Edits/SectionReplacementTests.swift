import Testing

@testable import SnapshotKit

@Suite("Replacing a section")
struct SectionReplacementTests {
    private func read(
        _ json: String, _ id: String = "B", shape: StateShape = .native, scopesIDs: Bool = false,
        keeping known: Snapshot? = nil
    ) throws(StateError) -> SectionReading {
        var document = StateDocument(Array(json.utf8))
        return try document.section(
            id, shape, scopesIDs: scopesIDs, limits: .none, upon: known, keepsExpanded: known != nil)
    }

    private func json(_ snapshot: Snapshot) -> String { String(decoding: snapshot.documentJSON(), as: UTF8.self) }

    private func violations(of reading: SectionReading, in state: Snapshot) -> [Violation] {
        do throws(StateError) { _ = try state.replacing(reading) } catch {
            if case .invalid(let violations) = error { return violations }
        }
        return []
    }

    /// The state after replacements one after the other equals what a naive model makes of them, and the next state's
    /// changes are those of the same states read from JSON.
    @Test("does what the plainest way of doing it does", arguments: Effort.seeds(180))
    func agree(seed: UInt64) throws {
        let shape = StateGenerator.Shape(nestsOnceIn: seed % 2 == 0 ? 3 : 0, collapses: seed % 3 == 0)
        var generator = StateGenerator(seed: seed, shape: shape)
        var random = SplitMix64(seed: seed)
        var model = generator.state()
        var state = try Snapshot(json: model.json)
        for turn in 0..<40 {
            let next = generator.next(after: model)
            let ids = (next.sections + model.sections).map(\.id) + [Text("new")]
            let id = ids[random.below(ids.count)]
            let given = next.sections.first { $0.id == id } ?? Model.Section(id: id)
            let expected = model.replacing(given)
            let reading = try read(given.body, id.description)
            // Rows that the next state took from another section are there twice now.
            guard Set(expected.itemIDs).count == expected.itemIDs.count else {
                let twice = Set(given.items.flatMap(\.ids)).intersection(model.replacing(Model.Section(id: id)).itemIDs)
                let told = violations(of: reading, in: state)
                #expect(told.count == twice.count && told.allSatisfy { $0.code == "duplicate-id" })
                continue
            }
            let (replaced, shared) = try state.replacing(reading)
            let plain = try Snapshot(json: expected.json)
            #expect(json(replaced) == json(plain), "seed \(seed), turn \(turn)")
            for dialect in [Dialect.keyed, .indexed, .jsonPatch] {
                let change = Changeset(from: state, to: replaced, shared: shared)
                let naive = Changeset(from: try Snapshot(json: model.json), to: plain)
                #expect(change.json(dialect) == naive.json(dialect), "seed \(seed), turn \(turn)")
            }
            let back = SnapshotDelta(backOver: Changeset(from: state, to: replaced, shared: shared))
            #expect(try #require(replaced.applying([back])).snapshot.documentJSON() == state.documentJSON())
            (model, state) = (expected, replaced)
        }
    }

    @Test("copies only what has changed, however often")
    func text() throws {
        let row = { (id: Int, n: Int) in
            #"{"id":\#(id),"content":{"n":\#(n),"t":"\#(String(repeating: "x", count: 80))"}}"#
        }
        let rows = (0..<1_000).map { row($0, 0) }
        var state = try Snapshot(
            json: #"{"sections":[{"id":"A","items":["a"]},{"id":"B","items":[\#(rows.joined(separator: ","))]}]}"#)
        let before = state.columns.text.count
        for turn in 1...200 {
            var next = rows
            next[7] = row(7, turn)
            let (replaced, shared) = try state.replacing(read("[\(next.joined(separator: ","))]"))
            #expect(shared.hasSameStructure && shared.runs.reduce(0) { $0 + $1.count } == 1_000)
            state = replaced
        }
        #expect(state.columns.text.count < before + before / 2)
    }

    @Test("by outlines makes, moves and removes sections")
    func outlines() throws {
        let state = try Snapshot(json: #"{"sections":[{"id":"A","items":["a"]},{"id":"B","items":["b"]}]}"#)
        let content = JSONText(accepted: Array("1".utf8))
        let outlines = [SectionOutline(id: "C", content: content), SectionOutline(id: "B", content: content)]
        let arranged = try state.replacing(nil, among: outlines).snapshot
        #expect(
            json(arranged)
                == #"{"sections":[{"id":"C","content":1,"items":[]},{"id":"B","items":[{"id":"b"}]}]}"#)
        // An id in a section that goes is free; the file's content stands where the document has none.
        let replaced = try state.replacing(read(#"["a"]"#), among: outlines).snapshot
        #expect(
            json(replaced)
                == #"{"sections":[{"id":"C","content":1,"items":[]},{"id":"B","content":1,"items":[{"id":"a"}]}]}"#
        )
        let own = try replaced.replacing(read(#"{"content":2}"#), among: outlines).snapshot
        #expect(json(own).contains(#"{"id":"B","content":2,"items":[{"id":"a"}]}"#))
    }

    @Test(
        "tells what is no section with its place",
        arguments: [
            ("7", "", "wrong-type"), (#"{"state":[]}"#, "/state", "unknown-member"),
            (#"{"items":[],"edits":[]}"#, "/edits", "unknown-member"),
        ])
    func wrongShapes(_ body: String, _ pointer: String, _ code: String) {
        do throws(StateError) {
            _ = try read(body)
            Issue.record("\(body) was read")
        } catch {
            guard case .wrongShape(let violations) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(violations.map(\.pointer) == [pointer] && violations.map(\.code) == [code])
        }
    }

    @Test("scopes ids, also of a native body, and keeps what is collapsed")
    func scopes() throws {
        let state = try Snapshot(
            json:
                #"{"sections":[{"id":"A","items":["a"]},{"id":"B~/","items":[{"id":"B~0~1/a","expanded":false}]}]}"#
        )
        let reading = try read(#"[{"id":"a","items":["b/"]},7]"#, "B~/", scopesIDs: true, keeping: state)
        #expect(
            json(try state.replacing(reading).snapshot)
                == ##"{"sections":[{"id":"A","items":[{"id":"a"}]},{"id":"B~/","items":["##
                + ##"{"id":"B~0~1/a","expanded":false,"items":[{"id":"B~0~1/b~1"}]},{"id":"B~0~1/7"}]}]}"##)
    }

    @Test("counts the whole list against its limits")
    func limits() throws {
        let state = try Snapshot(json: #"{"sections":[{"id":"A","items":["a","b"]}]}"#)
        var limits = StateLimits()
        (limits.maxItems, limits.maxSections) = (3, 1)
        #expect(throws: StateError.limitExceeded(what: "sections", limit: 1, actual: 2, pointer: "")) {
            try state.replacing(read("[]"), limits: limits)
        }
        limits.maxSections = 2
        #expect(throws: StateError.limitExceeded(what: "items", limit: 3, actual: 4, pointer: "")) {
            try state.replacing(read(#"["c","d"]"#), limits: limits)
        }
    }

    @Test("no bytes trap")
    func anyBytes() throws {
        var random = SplitMix64(seed: 9)
        let state = try Snapshot(
            json: #"{"sections":[{"id":"A","items":["a"]},{"id":"B","items":["b",{"id":1,"content":2}]}]}"#)
        let bodies = [
            #"{"items":["b",{"id":1,"content":2,"items":["c"]}],"content":{"a":1},"expanded":false}"#,
            #"["a",1,"\u0062"]"#,
        ]
        for turn in 0..<4_000 {
            var bytes = Array(bodies[turn % 2].utf8)
            for _ in 0...random.below(3) {
                bytes[random.below(bytes.count)] = Array(#"{}[],:"\ 01aé"#.utf8)[random.below(14)]
            }
            var document = StateDocument(bytes)
            let reading = try? document.section(
                "B", .native, scopesIDs: turn % 4 > 1, limits: StateLimits())
            if let reading { _ = try? state.replacing(reading) }
        }
    }
}

extension Model {
    /// The model with a section as it is, in place of the one with its id or at the end.
    fileprivate func replacing(_ section: Section) -> Model {
        var model = self
        guard let index = sections.firstIndex(where: { $0.id == section.id }) else {
            model.sections.append(section)
            return model
        }
        // What a body leaves out stays.
        model.sections[index].items = section.items
        model.sections[index].expanded = section.expanded
        if let content = section.content { model.sections[index].content = content }
        return model
    }
}

extension Model.Section {
    /// The body that says all of the section but its id.
    fileprivate var body: String {
        var members: [Text: Tree] = ["items": .array(items.map(\.tree)), "expanded": .token("\(expanded)")]
        members["content"] = content
        return Tree.object(members).json
    }
}
