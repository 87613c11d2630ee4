import SnapshotKit
import Testing

@Suite("Swift's CollectionDifference")
struct CollectionDifferenceTests {
    private static let shapes = [
        StateGenerator.Shape(), StateGenerator.Shape(items: 40, sections: 2, changes: 12),
        StateGenerator.Shape(items: 14, sections: 3, nestsOnceIn: 2, changes: 5),
    ]

    @Test("leads from the old ids to the new ones and back", arguments: shapes.indices)
    func leads(shape: Int) throws {
        for seed in Effort.seeds(40) {
            var generator = StateGenerator(seed: seed, shape: Self.shapes[shape])
            let model = generator.state()
            let old = try Snapshot(json: model.json)
            let new = try Snapshot(json: (seed % 4 == 0 ? generator.state() : generator.next(after: model)).json)
            let changeset = Changeset(from: old, to: new)

            try check(changeset.collectionDifference(), ids(old), ids(new))
            try check(changeset.sectionDifference(), old.sections.map(\.id), new.sections.map(\.id))
            for section in new.sections {
                let before = old.section(withID: section.id.text)
                let difference = changeset.rowDifference(inSection: section.id)
                #expect((difference == nil) == (before == nil))
                if let difference, let before { try check(difference, before.rows.map(\.id), section.rows.map(\.id)) }
            }
        }
    }

    private func ids(_ snapshot: Snapshot) -> [ElementID] { snapshot.sections.flatMap { $0.rows.map(\.id) } }

    private func check(_ difference: CollectionDifference<ElementID>, _ old: [ElementID], _ new: [ElementID]) throws {
        #expect(old.applying(difference) == new)
        #expect(new.applying(difference.inverse()) == old)
        // No fewer elements can change: those that stay are a longest common subsequence, and ids are unique.
        let shortest = new.difference(from: old)
        #expect(difference.count == shortest.count)
        for case .remove(_, let id, let partner) in difference { #expect((partner == nil) == !new.contains(id)) }
    }

    @Test("names the other half of a move")
    func moves() throws {
        let old = try Snapshot(json: #"["a","b","c","d"]"#)
        let new = try Snapshot(json: #"["d","a","b","x"]"#)
        let difference = Changeset(from: old, to: new).collectionDifference()
        #expect(
            difference.removals == [
                .remove(offset: 2, element: "c", associatedWith: nil),
                .remove(offset: 3, element: "d", associatedWith: 0),
            ])
        #expect(
            difference.insertions == [
                .insert(offset: 0, element: "d", associatedWith: 3),
                .insert(offset: 3, element: "x", associatedWith: nil),
            ])
        #expect(Changeset(from: old, to: new).rowDifference(inSection: "other") == nil)
    }
}
