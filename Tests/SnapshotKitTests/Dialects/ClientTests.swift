import DiffClient
import SnapshotKit
import Testing

@Suite("Changesets on a client's list")
struct ClientTests {
    private static let shapes = [
        StateGenerator.Shape(), StateGenerator.Shape(items: 14, sections: 3, nestsOnceIn: 2, changes: 5),
        StateGenerator.Shape(items: 10, sections: 8, nestsOnceIn: 4, changes: 8),
    ]

    @Test("every dialect leads a client's list to the new state", arguments: shapes.indices)
    func dialects(shape: Int) throws {
        for seed in Effort.seeds(40) {
            var generator = StateGenerator(seed: seed, shape: Self.shapes[shape])
            let model = generator.state()
            let old = try Snapshot(json: model.json)
            let new = try Snapshot(json: (seed % 4 == 0 ? generator.state() : generator.next(after: model)).json)
            let list = RowList(old)
            let changeset = Changeset(from: old, to: new)
            let target = RowList(new)
            #expect(try RowList(state: old.rowsJSON()) == list)
            for content in ContentStyle.allCases {
                var list = list
                if changeset.changesList {
                    var change = JSONWriter()
                    changeset.writeList(content: content, into: &change)
                    list = try list.applying(list: change.bytes())
                }
                #expect(try list.applying(keyed: changeset.json(.keyed, content: content)) == target)
                #expect(try list.applying(indexed: changeset.json(.indexed, content: content)) == target)
                let arrangement = try list.arrangement(changeset.json(.diffable, content: content))
                #expect(arrangement.list == target)
                #expect(Set(arrangement.reload + arrangement.reconfigure) == list.idsDrawnAnew(in: target))
                for staging in Staging.allCases {
                    let changes = changeset.json(.staged, staging: staging, content: content)
                    #expect(try list.applying(staged: changes) == target, "\(String(decoding: changes, as: UTF8.self))")
                }
            }
        }
    }
}

extension RowList {
    /// Rows of both lists that differ.
    fileprivate func idsDrawnAnew(in other: RowList) -> Set<ElementID> {
        let mine = Dictionary(uniqueKeysWithValues: sections.flatMap(\.rows).map { ($0.id, $0) })
        return Set(other.sections.flatMap(\.rows).filter { mine[$0.id] != nil && mine[$0.id] != $0 }.map(\.id))
    }
}
