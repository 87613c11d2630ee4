import Testing

@testable import SnapshotKit

@Suite("What leads from one state to another")
struct SnapshotDeltaTests {
    private static let hash = KeyedHash(key: Array("a key of the tests".utf8))

    @Test(
        "leads to it byte by byte, over any history, and the same follows from there",
        arguments: [(nestsOnceIn: 0, collapses: false), (2, true), (4, true), (2, false)])
    func histories(nestsOnceIn: Int, collapses: Bool) throws {
        let shape = StateGenerator.Shape(
            items: 14, sections: 4, nestsOnceIn: nestsOnceIn, collapses: collapses, changes: 6)
        for seed in Effort.seeds(8) {
            var generator = StateGenerator(seed: seed, shape: shape)
            var models = [generator.state()]
            var states = [try Snapshot(json: models[0].json)]
            var (back, on): ([SnapshotDelta], [SnapshotDelta]) = ([], [])
            for _ in 0..<6 {
                models.append(generator.next(after: models.last!))
                states.append(try Snapshot(json: models.last!.json))
                let change = Changeset(from: states[states.count - 2], to: states.last!)
                back.insert(SnapshotDelta(backOver: change), at: 0)
                on.append(SnapshotDelta(over: change) ?? SnapshotDelta(whole: states.last!))
            }
            for (steps, state) in states.reversed().enumerated() {
                let (made, shared) = try #require(states.last!.applying(back.prefix(steps), isIndexed: seed % 2 == 0))
                #expect(made.documentJSON() == state.documentJSON(), "seed \(seed), \(steps) back")
                try requireSameChanges(from: made, state, to: states.last!, shared.reversed)
            }
            for (steps, state) in states.enumerated() {
                let made = try #require(states[0].applying(on.prefix(steps), isIndexed: true)).snapshot
                #expect(made.documentJSON() == state.documentJSON(), "seed \(seed), \(steps) on")
            }
        }
    }

    private func requireSameChanges(
        from made: Snapshot, _ state: Snapshot, to head: Snapshot, _ shared: SharedRuns
    ) throws {
        let (change, expected) = (Changeset(from: made, to: head, shared: shared), Changeset(from: state, to: head))
        #expect(change.counts == expected.counts)
        for dialect in Dialect.allCases {
            #expect(change.json(dialect, content: .patch) == expected.json(dialect, content: .patch), "\(dialect)")
        }
        let carried = Fingerprints(
            of: head, from: Fingerprints(of: made, by: Self.hash), reusing: change.shared)
        #expect(carried.areOfSameState(as: Fingerprints(of: head, by: Self.hash)))
    }

    @Test("An id of several parts and one that was written as such are the same, and are kept apart")
    func partsOfIDs() throws {
        var mapping = StateShape.FieldMapping()
        mapping.element.idAt = [JSONPointer("/type")!, JSONPointer("/no")!]
        let shape = StateShape(mapping)
        let written = try Snapshot(json: #"[{"id":"post/1","content":{"type":"post","no":1}},"post/2"]"#)
        let parts = try Snapshot(json: #"[{"type":"post","no":1},{"type":"post","no":2}]"#, shape: shape)
        for (old, new) in [(written, parts), (parts, written)] {
            let change = Changeset(from: old, to: new)
            #expect(change.counts.total == 1)
            let on = SnapshotDelta(over: change) ?? SnapshotDelta(whole: new)
            let made = try #require(old.applying([on], isIndexed: true)).snapshot
            #expect(made.documentJSON() == new.documentJSON())
            let back = try #require(new.applying([SnapshotDelta(backOver: change)])).snapshot
            #expect(back.documentJSON() == old.documentJSON())
            let gone = try made.applying(EditBatch(json: #"[{"op":"delete","items":["post/1"]}]"#)).snapshot
            let undone = SnapshotDelta(backOver: Changeset(from: made, to: gone))
            #expect(try #require(gone.applying([undone])).snapshot.documentJSON() == new.documentJSON())
        }
    }

    @Test("fits the same state read from a record, where ids of several parts are stored otherwise")
    func partsOfIDsInRecords() throws {
        var mapping = StateShape.FieldMapping()
        mapping.element.idAt = [JSONPointer("/type")!, JSONPointer("/no")!]
        mapping.element.expandedAt = JSONPointer("/open")!
        let shape = StateShape(mapping)
        let states = try [
            #"[{"type":"post","no":1},{"type":"é","no":2,"open":true}]"#,
            #"[{"type":"post","no":1,"open":false},{"type":"é","no":2,"open":false}]"#,
            #"[{"type":"\u00e9","no":2,"open":true},{"type":"a\"b","no":1,"open":false}]"#,
            #"[{"type":"a\"b","no":1},{"type":"post","no":1}]"#,
        ].map { try Snapshot(json: $0, shape: shape) }
        for (old, new) in zip(states, states.dropFirst()) {
            let change = Changeset(from: old, to: new)
            let (oldRead, newRead) = (try Snapshot(json: old.documentJSON()), try Snapshot(json: new.documentJSON()))
            for base in [new, newRead] {
                let back = try #require(base.applying([SnapshotDelta(backOver: change)])).snapshot
                #expect(back.documentJSON() == old.documentJSON())
            }
            for base in [old, oldRead] {
                let on = SnapshotDelta(over: change) ?? SnapshotDelta(whole: new)
                #expect(try #require(base.applying([on])).snapshot.documentJSON() == new.documentJSON())
            }
        }
    }

    @Test(
        "leads from a state to itself, which may have no items",
        arguments: [#"{"sections":[],"content":1}"#, #"{"sections":[{"id":"s","items":[]}]}"#, "[1]"])
    func toItself(json: String) throws {
        let state = try Snapshot(json: json)
        let delta = SnapshotDelta(backOver: Changeset(from: state, to: state))
        #expect(state.applying([delta])?.snapshot.documentJSON() == state.documentJSON())
    }

    @Test("is as large as what changed", arguments: [100, Effort.runs(30_000)])
    func size(count: Int) throws {
        var rows = (0..<count).map {
            #"{"id":"row-\#($0)","content":{"title":"a title","text":"\#(Self.text)","n":\#($0)}}"#
        }
        let old = try Snapshot(json: "[\(rows.joined(separator: ","))]")
        for row in [7, 50, 93] { rows[row] = rows[row].replacing("\"n\":", with: "\"n\":1") }
        rows.insert(rows.remove(at: 80), at: 10)
        let new = try Snapshot(json: "[\(rows.joined(separator: ","))]")
        let change = Changeset(from: old, to: new)
        #expect(SnapshotDelta(backOver: change).bytes.count < 100)
        #expect(try #require(SnapshotDelta(over: change)).bytes.count < 100)
        let (past, shared) = try #require(new.applying([SnapshotDelta(backOver: change)]))
        #expect(past.documentJSON() == old.documentJSON())
        #expect(shared.runs.reduce(0) { $0 + $1.count } == count - 3)
    }

    @Test("takes the memory of one state over any number of changes to a long content")
    func memory() throws {
        let text = String(repeating: "words ", count: 2000)
        let json = { (n: Int) in
            #"{"content":{"n":\#(n),"text":"\#(text)"},"sections":[{"id":"s","content":["\#(text)",\#(n)],"items":["#
                + #"{"id":"a","content":{"first":\#(n / 2),"text":"\#(text)","last":\#((n + 1) / 2)}},"#
                + #"{"id":7,"content":\#(n)}]}]}"#
        }
        let states = try (0...60).map { try Snapshot(json: json($0 + 7)) }
        let back = zip(states, states.dropFirst()).map { SnapshotDelta(backOver: Changeset(from: $0, to: $1)) }
        #expect(back.allSatisfy { $0.bytes.count < 200 })
        for steps in [1, 2, 30, 60] {
            let made = try #require(states[60].applying(back.reversed().prefix(steps))).snapshot
            #expect(made.documentJSON() == states[60 - steps].documentJSON(), "\(steps) back")
            #expect(made.footprint < 3 * states[60].footprint, "\(steps) back")
        }
    }

    private static let text = String(repeating: "words ", count: 12)

    @Test("keeps ids, contents and kinds as they were written")
    func verbatim() throws {
        let forms = [
            #"[{"id":"\u0061b","content":{"x": 1.0,"y":"\u00e9"},"kind":"\u006b"},{"id":7},"c"]"#,
            #"[{"id":"ab","content":{"y":"é","x": 1.0},"kind":"k"},{"id":"7","content":[ 1 ]},"#
                + #"{"id":"c","expanded":false}]"#,
            #"{"sections":[{"id":"\u0073","content":[ 1 ],"items":["c",{"id":7,"kind":"z","items":["ab"]}]},"#
                + #"{"id":9,"items":[]}]}"#,
            #"{"sections":[{"id":"s","items":[]},{"id":"9","expanded":false,"content":{ },"items":["c"]}]}"#,
            #"[]"#,
        ]
        for one in forms {
            for other in forms {
                let (old, new) = (try Snapshot(json: one), try Snapshot(json: other))
                let change = Changeset(from: old, to: new)
                let past = try #require(new.applying([SnapshotDelta(backOver: change)])).snapshot
                #expect(past.documentJSON() == old.documentJSON(), "\(one) \(other)")
            }
        }
    }

    @Test("leads to sections that have lost or gained a content, whose digests are theirs")
    func contentsOfSections() throws {
        let forms = [
            #"{"sections":[{"id":"s","content":{"a":1},"items":["c"]},{"id":"t","items":[]}]}"#,
            #"{"sections":[{"id":"s","items":["c"]},{"id":"t","content":2,"items":[]}]}"#,
        ]
        for (one, other) in [(forms[0], forms[1]), (forms[1], forms[0])] {
            let (old, new) = (try Snapshot(json: one), try Snapshot(json: other))
            let back = SnapshotDelta(backOver: Changeset(from: old, to: new))
            let (past, shared) = try #require(new.applying([back], isIndexed: true))
            let carried = Fingerprints(of: past, from: Fingerprints(of: new, by: Self.hash), reusing: shared)
            #expect(carried.areOfSameState(as: Fingerprints(of: old, by: Self.hash)))
        }
    }

    @Test("one after the other makes no text that needs compaction")
    func textOfFollowers() throws {
        let rows = (0..<50).map { #"{"id":\#($0),"content":"\#(Self.text)"}"# }
        var (state, leader) = (try Snapshot(json: "[\(rows.joined(separator: ","))]"), Snapshot.empty)
        leader = state
        for step in 0..<400 {
            let edit = #"[{"op":"update","items":[{"id":\#(step % 50),"content":"\#(step) \#(Self.text)"}]}]"#
            let next = try leader.applying(EditBatch(json: edit)).snapshot
            let delta = try #require(SnapshotDelta(over: Changeset(from: leader, to: next)))
            state = try #require(state.applying([delta], isIndexed: true)).snapshot
            leader = next
        }
        #expect(state.documentJSON() == leader.documentJSON())
        #expect(state.columns.text.footprint < 3 * rows.count * 100 + 32_768)
    }

    @Test("which refers to nothing makes the same of any state")
    func whole() throws {
        let state = try Snapshot(json: #"[{"id":"a","content":[1],"items":[{"id":1,"kind":"k"}]},"b"]"#)
        let whole = SnapshotDelta(whole: state)
        #expect(whole.isWhole)
        for other in [Snapshot.empty, state, try Snapshot(json: #"["x"]"#)] {
            #expect(other.applying([whole])?.snapshot.documentJSON() == state.documentJSON())
        }
        let change = Changeset(from: state, to: try Snapshot(json: #"["b"]"#))
        #expect(!SnapshotDelta(backOver: change).isWhole)
    }

    @Test("which was torn or is of another state fits none, and traps nobody")
    func damaged() throws {
        let old = try Snapshot(json: #"[{"id":"a","content":[1],"kind":"k"},"b","c",{"id":"d","content":"x"}]"#)
        let new = try Snapshot(json: #"["c",{"id":"a","content":[2],"kind":"l"},{"id":"e","content":3}]"#)
        let delta = SnapshotDelta(backOver: Changeset(from: old, to: new))
        for count in 1..<delta.bytes.count {
            #expect(new.applying([SnapshotDelta(bytes: Array(delta.bytes.prefix(count)))]) == nil, "\(count) bytes")
        }
        #expect(new.applying([SnapshotDelta(bytes: delta.bytes + [0])]) == nil)
        #expect(Snapshot.empty.applying([delta]) == nil)
    }

    @Test("A state after many edits refers to text of which at most half is garbage")
    func textOfEdits() throws {
        let rows = (0..<200).map { #"{"id":\#($0),"content":"\#(Self.text)"}"# }
        var state = try Snapshot(json: "[\(rows.joined(separator: ","))]")
        let size = state.columns.text.count
        var generator = SplitMix64(seed: 1)
        for step in 0..<400 {
            let row = generator.below(200)
            let edit = #"[{"op":"update","items":[{"id":\#(row),"content":"\#(step) \#(Self.text)"}]}]"#
            let before = state
            state = try state.applying(EditBatch(json: edit)).snapshot
            #expect(state.columns.text.count < 3 * size + 16_384)
            #expect(state.item(withID: "\(row)")?.content == Array("\"\(step) \(Self.text)\"".utf8))
            #expect(before.item(withID: "\(row)")?.content != state.item(withID: "\(row)")?.content)
        }
        let again = try Snapshot(json: state.documentJSON())
        #expect(Changeset(from: state, to: again).isEmpty)
    }
}
