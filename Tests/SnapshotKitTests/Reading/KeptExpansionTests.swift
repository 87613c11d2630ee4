import Testing

@testable import SnapshotKit

/// States that take a missing `expanded` from the previous state.
struct KeptExpansionTests {
    private func read(
        _ text: String, _ shape: StateShape = .native, upon known: Snapshot?, keeps: Bool = true
    ) throws -> StateReading {
        try Snapshot.reading(json: Array(text.utf8), shape: shape, upon: known, keepsExpanded: keeps)
    }

    private func document(_ snapshot: Snapshot) -> String { String(decoding: snapshot.documentJSON(), as: UTF8.self) }

    private static let known = #"""
        {"sections":[{"id":"s","expanded":false,"items":[{"id":"a","expanded":false,"items":["b"]},"c"]},
        {"id":"t","items":[{"id":"d","expanded":false},{"id":"\u0065","expanded":false}]}]}
        """#

    static let rows: [(text: String, expected: String)] = [
        // Not mentioned, wherever it is now, and however its id is written.
        (
            #"{"sections":[{"id":"t","items":["a","d","e"]},{"id":"\u0073","items":[{"id":"b"}]}]}"#,
            #"{"sections":[{"id":"t","items":[{"id":"a","expanded":false},{"id":"d","expanded":false},"#
                + #"{"id":"e","expanded":false}]},{"id":"\u0073","expanded":false,"items":[{"id":"b"}]}]}"#
        ),
        // Mentioning it counts, also before the id and the children.
        (
            #"{"sections":[{"expanded":true,"id":"s","items":[{"items":[{"id":"d"}],"expanded":true,"id":"a"}]}]}"#,
            #"{"sections":[{"id":"s","items":[{"id":"a","items":[{"id":"d","expanded":false}]}]}]}"#
        ),
        (
            #"{"sections":[{"id":"t","expanded":false,"items":[{"id":"c","expanded":false}]}]}"#,
            #"{"sections":[{"id":"t","expanded":false,"items":[{"id":"c","expanded":false}]}]}"#
        ),
        // New items are expanded; so is a section with another name.
        (
            #"["x",{"id":"a","items":["y"]}]"#,
            #"{"sections":[{"id":"main","items":[{"id":"x"},{"id":"a","expanded":false,"items":[{"id":"y"}]}]}]}"#
        ),
    ]

    @Test(arguments: rows.indices)
    func `what is not said is as in the known state`(_ index: Int) throws {
        let row = Self.rows[index]
        let known = try Snapshot(json: Self.known)
        let reading = try read(row.text, upon: known)
        #expect(document(reading.snapshot) == row.expected)
        // The same again changes nothing, though its text is taken over; and without keeping it is read as it is.
        let again = try read(row.text, upon: reading.snapshot)
        #expect(document(again.snapshot) == row.expected)
        let plain = try read(row.text, upon: reading.snapshot, keeps: false)
        #expect(document(plain.snapshot) == document(try Snapshot(json: row.text)) && plain.shared == nil)
    }

    @Test func `in a shape, none and null say nothing`() throws {
        let shape = try StateShape([(.idAt, "/k"), (.expandedAt, "/e"), (.childrenAt, "/c")])
        let known = try read(#"[{"k":1,"e":false,"c":[{"k":2,"e":false}]},{"k":3,"e":false}]"#, shape, upon: nil)
        for (text, expected) in [
            (#"[{"k":1,"c":[{"k":2,"e":null}]},{"k":3,"e":true}]"#, [true, true, false]),
            (#"[{"k":1,"e":true,"c":[{"k":2,"e":true}]},{"k":3}]"#, [false, false, true]),
            (#"[{"k":1,"e":null,"c":null},{"k":4},{"k":3,"e":false}]"#, [true, false, true]),
        ] {
            let state = try read(text, shape, upon: known.snapshot).snapshot
            #expect(state.columns.nodes.map { $0.flags.contains(.isCollapsed) } == expected, "\(text)")
        }
    }

    @Test func `the first of several elements with one id keeps what it was`() throws {
        let shape = try StateShape([(.idAt, "/k"), (.duplicates, "first"), (.expandedAt, "/e")])
        let known = try read(#"[{"k":1,"e":false}]"#, shape, upon: nil).snapshot
        let state = try read(#"[{"k":1},{"k":1,"e":true},{"k":2}]"#, shape, upon: known)
        #expect(state.snapshot.columns.nodes.map { $0.flags.contains(.isCollapsed) } == [true, false])
        #expect(state.warnings.map(\.pointer) == ["/1/k"])
    }

    @Test func `upon a state of which all is expanded all is taken over that can be`() throws {
        let known = try Snapshot(json: #"["a","b","c"]"#)
        #expect(try read(#"["a","b","c"]"#, upon: known).shared != nil)
        let collapsed = try read(#"[{"id":"a","expanded":false},"b","c"]"#, upon: known).snapshot
        #expect(try read(#"[{"id":"a","expanded":false},"b","c"]"#, upon: collapsed).shared != nil)
    }

    @Test func `any state upon any other is as if all had been said`() throws {
        for seed in 0..<80 as Range<UInt64> {
            var generator = StateGenerator(seed: seed, shape: RandomStateTests.outline)
            var random = SplitMix64(seed: seed ^ 99)
            var model = generator.state()
            var known = Snapshot.empty
            var flags: [Text: Bool] = [:]
            for _ in 0..<6 {
                var said = Said(model, &random)
                let expected = try Snapshot(json: said.settled(by: &flags).json)
                let reading = try read(said.text, upon: known)
                #expect(document(reading.snapshot) == document(expected), "seed \(seed): \(said.text)")
                let change = Changeset(from: known, to: reading.snapshot, shared: reading.shared)
                let plain = Changeset(from: known, to: expected)
                #expect(change.counts == plain.counts && change.items.oldOfNew == plain.items.oldOfNew)
                let hash = KeyedHash(key: [1, 2, 3])
                let carried = Fingerprints(
                    of: reading.snapshot, from: Fingerprints(of: known, by: hash), reusing: change.shared)
                #expect(carried.digest(salt: "") == Fingerprints(of: expected, by: hash).digest(salt: ""))
                known = reading.snapshot
                model = generator.next(after: model)
            }
        }
    }
}

/// A model as a text that omits some of what is expanded.
private struct Said {
    private var model: Model
    private(set) var text: String
    private var silent: Set<Text> = []

    init(_ model: Model, _ random: inout SplitMix64) {
        self.model = model
        for id in model.sectionIDs + model.itemIDs where !random.once(in: 3) { silent.insert(id) }
        text = ""
        let content = model.content.map { #""content":\#($0.json),"# } ?? ""
        let sections = model.sections.map { section in
            member(section.id, section.content, section.expanded) + #","items":[\#(list(section.items))]}"#
        }
        text = #"{\#(content)"sections":[\#(sections.joined(separator: ","))]}"#
    }

    private func list(_ items: [Model.Item]) -> String {
        items.map { item in
            let kind = item.kind.map { #","kind":\#(Tree.string($0).json)"# } ?? ""
            let children = item.items.isEmpty ? "" : #","items":[\#(list(item.items))]"#
            return member(item.id, item.content, item.expanded) + kind + children + "}"
        }.joined(separator: ",")
    }

    /// How an item or a section begins.
    private func member(_ id: Text, _ content: Tree?, _ expanded: Bool) -> String {
        #"{"id":\#(Tree.string(id).json)"# + (content.map { #","content":\#($0.json)"# } ?? "")
            + (silent.contains(id) ? "" : #","expanded":\#(expanded)"#)
    }

    /// The model with nothing omitted.
    ///
    /// - Parameter flags: what is expanded in the previous state, and then in this one.
    mutating func settled(by flags: inout [Text: Bool]) -> Model {
        let before = flags
        flags = [:]
        for index in model.sections.indices {
            let id = model.sections[index].id
            if silent.contains(id) { model.sections[index].expanded = before[id] ?? true }
            flags[id] = model.sections[index].expanded
        }
        for id in model.itemIDs {
            let isSilent = silent.contains(id)
            model.change(id) { item in
                if isSilent { item.expanded = before[id] ?? true }
                flags[id] = item.expanded
            }
        }
        return model
    }
}
