import SnapshotKit
import Testing

@Suite("Long lists")
struct WorstCaseTests {
    private func state(_ ids: [Int], content: (Int) -> Tree? = { _ in nil }) throws -> State {
        let items = ids.map { Model.Item(id: Text("item-\($0)"), content: content($0)) }
        return try State(Model(sections: [.init(id: "main", items: items)]))
    }

    @Test("shuffles, reversals, rotations and swaps of a thousand rows", arguments: 0..<6)
    func orders(number: Int) throws {
        let ids = Array(0..<1_000)
        var random = SplitMix64(seed: UInt64(number))
        let order =
            switch number {
            case 0: Array(ids.reversed())
            case 1: Array(ids[400...] + ids[..<400])
            case 2: stride(from: 0, to: 1_000, by: 2).flatMap { [ids[$0 + 1], ids[$0]] }
            case 3: stride(from: 0, to: 1_000, by: 2).map { $0 } + stride(from: 1, to: 1_000, by: 2).map { $0 }
            default: ids.shuffled(using: &random)
            }
        let (old, new) = (try state(ids), try state(order))
        let failures = PairCheck.failures(from: old, to: new, dialects: [.indexed, .staged, .diffable])
        #expect(failures.isEmpty, "\(failures.map { $0.prefix(400) })")
    }

    @Test("disjoint lists, and one of two rows exchanged", arguments: [2_000, 7])
    func exchanges(step: Int) throws {
        let old = try state(Array(0..<1_000))
        let new = try state((0..<1_000).map { $0 % step == step - 1 || step > 1_000 ? $0 + 5_000 : $0 })
        let failures = PairCheck.failures(from: old, to: new, dialects: [.indexed, .staged, .diffable])
        #expect(failures.isEmpty, "\(failures.map { $0.prefix(400) })")
    }

    @Test("ten thousand rows, reversed, and each of them changed")
    func tenThousand() throws {
        let json = { (ids: [Int], content: Int) in
            "[" + ids.map { #"{"id":\#($0),"content":\#(content)}"# }.joined(separator: ",") + "]"
        }
        let ids = Array(0..<10_000)
        let old = try Snapshot(json: json(ids, 1))
        let reversed = Counts(Changeset(from: old, to: try Snapshot(json: json(ids.reversed(), 1))).counts)
        #expect(reversed == Counts(moves: 9_999))
        let changed = Counts(Changeset(from: old, to: try Snapshot(json: json(ids, 2))).counts)
        #expect(changed == Counts(updates: 10_000))
        let operations = try TreeParser.tree(Changeset(from: old, to: try Snapshot(json: json(ids, 2))).json(.sequential))
        #expect(try operations.elements().count == 1)
    }
}
