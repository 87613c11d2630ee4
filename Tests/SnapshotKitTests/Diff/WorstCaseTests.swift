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
        let operations = try TreeParser.tree(
            Changeset(from: old, to: try Snapshot(json: json(ids, 2))).json(.sequential))
        #expect(try operations.elements().count == 1)
    }
}

@Suite("Contents that line up")
struct AlignedContentTests {
    /// Rows whose contents are as long as those of the other state, longer, or shorter, some of them changed.
    @Test("changed rows are found between unchanged ones, and no others", arguments: 0..<12)
    func changes(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let pad = String(repeating: "x", count: random.below(300))
        let row = { (id: Int, version: Int) in #"{"id":"row\#(id)","content":{"v":\#(version),"text":"\#(pad)\#(id)"}}"#
        }
        let versions = (0..<600).map { _ in random.once(in: 1 + seed * 5) ? 2 : 1 }
        let shift = random.below(40)
        let space = String(repeating: " ", count: random.below(3))
        let old = "[" + (0..<600).map { row($0, 1) }.joined(separator: ",") + "]"
        let new = "[" + space + (shift..<600).map { row($0, versions[$0]) }.joined(separator: ",") + "]"
        let changeset = Changeset(from: try Snapshot(json: old), to: try Snapshot(json: new))
        let changed = versions[shift...].count { $0 == 2 }
        #expect(Counts(changeset.counts) == Counts(deletions: shift, updates: changed))
    }

    @Test("each single byte that changes is found")
    func singleBytes() throws {
        let ids = Array(0..<40)
        let json = { (changed: Int) in
            "[" + ids.map { #"{"id":\#($0),"content":"\#($0 == changed ? "y" : "x")"}"# }.joined(separator: ",") + "]"
        }
        let old = try Snapshot(json: json(-1))
        for id in ids {
            let changeset = Changeset(from: old, to: try Snapshot(json: json(id)))
            let expected = #"[{"op":"update","items":[{"id":\#(id),"content":"y"}],"as":"reconfigure"}]"#
            #expect(String(decoding: changeset.json(.keyed), as: UTF8.self) == expected)
        }
    }
}
