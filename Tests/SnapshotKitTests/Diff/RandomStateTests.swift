import SnapshotKit
import Testing

@Suite("Seeded random states")
struct RandomStateTests {
    static let flat = StateGenerator.Shape()
    static let outline = StateGenerator.Shape(items: 14, sections: 3, nestsOnceIn: 2, changes: 5)
    static let open = StateGenerator.Shape(items: 16, sections: 3, nestsOnceIn: 2, collapses: false, changes: 2)
    static let long = StateGenerator.Shape(items: 60, sections: 2, changes: 12)
    static let crowded = StateGenerator.Shape(items: 10, sections: 8, nestsOnceIn: 4, changes: 8)

    /// A history of some states: each pair of neighbours, and two states that have little to do with each other.
    private func check(_ shape: StateGenerator.Shape, seeds: Range<UInt64>, style: ContentStyle = .full) throws {
        var log = FailureLog()
        for seed in seeds where !log.isFull {
            var generator = StateGenerator(seed: seed, shape: shape)
            var old = try State(generator.state())
            for step in 0..<5 {
                let new = try State(step == 4 ? generator.state() : generator.next(after: old.model))
                try new.requireFaithful()
                log.add(PairCheck.failures(from: old, to: new, style: style).map { "seed \(seed) \($0)" })
                old = new
            }
        }
        #expect(log.count == 0, "\(log.summary)")
    }

    @Test("flat sections, with moves across and sections that come and go")
    func flatSections() throws { try check(Self.flat, seeds: Effort.seeds(40)) }

    @Test("outlines with hidden rows")
    func outlines() throws { try check(Self.outline, seeds: Effort.seeds(60)) }

    @Test("outlines that show all they hold")
    func openOutlines() throws { try check(Self.open, seeds: Effort.seeds(60)) }

    @Test("long lists with many changes")
    func longLists() throws { try check(Self.long, seeds: Effort.seeds(6)) }

    @Test("many sections with few items")
    func manySections() throws { try check(Self.crowded, seeds: Effort.seeds(30)) }

    @Test("merge patches lead to the same contents")
    func mergePatches() throws {
        try check(Self.outline, seeds: 1_000..<1_000 + UInt64(Effort.runs(40)), style: .patch)
        try check(Self.outline, seeds: 2_000..<2_000 + UInt64(Effort.runs(40)), style: .delta)
    }

    @Test("the same states give the same bytes, however they are held", arguments: Dialect.allCases)
    func determinism(dialect: Dialect) throws {
        for seed in Effort.seeds(20) {
            var generator = StateGenerator(seed: seed, shape: Self.outline)
            let (old, new) = (generator.state(), generator.state())
            let first = Changeset(from: try Snapshot(json: old.json), to: try Snapshot(json: new.json))
            var spare = Array(new.json.utf8)
            spare.reserveCapacity(spare.count + 100)
            let second = Changeset(from: try Snapshot(json: Array(old.json.utf8)), to: try Snapshot(json: spare))
            for staging in Staging.allCases {
                #expect(first.json(dialect, staging: staging) == second.json(dialect, staging: staging))
                #expect(first.json(dialect, staging: staging) == first.json(dialect, staging: staging))
            }
        }
    }

    @Test("a state compared with itself says that nothing changed")
    func nothingChanged() throws {
        for seed in Effort.seeds(20) {
            var generator = StateGenerator(seed: seed, shape: Self.outline)
            let state = try State(generator.state())
            let changeset = Changeset(from: state.snapshot, to: state.snapshot)
            #expect(Counts(changeset.counts) == Counts())
            for dialect in [Dialect.keyed, .staged, .sequential, .jsonPatch] {
                #expect(String(decoding: changeset.json(dialect), as: UTF8.self) == "[]", "\(dialect)")
            }
            for dialect in [Dialect.indexed, .counts] {
                #expect(String(decoding: changeset.json(dialect), as: UTF8.self) == "{}", "\(dialect)")
            }
            #expect(PairCheck.failures(from: state, to: state).isEmpty)
        }
    }
}
