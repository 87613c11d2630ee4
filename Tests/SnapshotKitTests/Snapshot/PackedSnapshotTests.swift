import Testing

@testable import SnapshotKit

@Suite("States at rest")
struct PackedSnapshotTests {
    private static let hash = KeyedHash(key: Array("a key of the tests".utf8))

    private func isAsBefore(_ snapshot: Snapshot) -> Bool {
        let fingerprints = Fingerprints(of: snapshot, by: Self.hash)
        let (opened, known) = PackedSnapshot(snapshot, fingerprints).opened()
        return opened.columns.hasSameRecords(as: snapshot.columns)
            && opened.documentJSON() == snapshot.documentJSON() && known.items == fingerprints.items
            && known.sections == fingerprints.sections && known.hash == fingerprints.hash
            && known.areOfSameState(as: fingerprints)
    }

    @Test("are opened as they were", arguments: [RandomStateTests.flat, RandomStateTests.outline])
    func randomStates(_ shape: StateGenerator.Shape) throws {
        for seed in 0..<80 as Range<UInt64> {
            var generator = StateGenerator(seed: seed, shape: shape)
            let model = generator.state()
            try #require(isAsBefore(try Snapshot(json: model.json)), "seed \(seed)")
        }
    }

    @Test(
        "whatever they hold",
        arguments: [
            "[]", #"{"sections":[]}"#,
            #"{"sections":[{"id":"a","items":[]},{"id":"b","content":[],"expanded":false,"items":[]}]}"#,
            #"[1,"2",{"id":"\u0033","content":{"a":"\u00e9"},"kind":"k\n"},{"content":0,"kind":"","id":-4}]"#,
            #"[{"id":"a","items":[{"id":"b","items":["c",{"id":"d","items":["e"]}]},"f"],"expanded":false},"g"]"#,
            #"[{"items":[{"items":["\u0063"],"id":"b"}],"content":null,"id":"a"}]"#,
            "[\"\(String(repeating: "é", count: 1000))\","
                + "{\"id\":\"x\",\"content\":\"\(String(repeating: "y", count: 70_000))\"}]",
        ])
    func examples(_ json: String) throws { #expect(isAsBefore(try Snapshot(json: json))) }

    @Test("from other shapes, and from edits")
    func otherSources() throws {
        let shape = StateShape.pointers(itemsAt: JSONPointer("/rows"), idAt: JSONPointer("/key"))
        let own = try Snapshot(
            json: #"{"rows":[{"name":"x","key":"b"},{"key":"\u0061"},{"key":7,"z":[1]}]}"#, shape: shape)
        #expect(isAsBefore(own))
        let edits =
            #"[{"op":"move","items":["b"],"at":"end"},{"op":"insert","items":[{"id":"n","content":1}],"before":7}]"#
        let edited = try own.applying(EditBatch(json: edits)).0
        #expect(isAsBefore(edited))
    }

    @Test("take a few bytes an item besides their text")
    func size() throws {
        let items = (0..<1000).map { #"{"id":"item-\#($0)","content":{"text":"\#($0)"}}"# }
        let json = Array("[\(items.joined(separator: ","))]".utf8)
        let snapshot = try Snapshot(json: json)
        let packed = PackedSnapshot(snapshot, Fingerprints(of: snapshot, by: Self.hash))
        #expect(packed.footprint - json.count < 15 * 1000)
        #expect(snapshot.footprint - json.count > 36 * 1000)
    }
}
