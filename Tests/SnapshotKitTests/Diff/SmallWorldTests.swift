import SnapshotKit
import Testing

// Exhaustive small models. All dialects are checked on every pair up to renaming: ids are renamed so that the old state
// reads a, b, c. The counts alone are checked on every pair as it is.

@Suite("Exhaustive small models")
struct SmallWorldTests {
    private func check(_ olds: [State], _ news: [State], dialect: Dialect) {
        var (log, pairs) = (FailureLog(), 0)
        for old in olds {
            for new in news where !log.isFull {
                pairs += 1
                if Effort.takes(pairs) { log.add(PairCheck.failures(from: old, to: new, dialects: [dialect])) }
            }
        }
        #expect(log.count == 0, "\(log.summary)")
    }

    @Test(
        "all pairs of ordered subsets of five ids lead to the target by the fewest operations",
        arguments: Dialect.allCases)
    func ordersOfFive(dialect: Dialect) throws {
        let models = Small.orderedSubsets(of: ["a", "b", "c", "d", "e"]).map { ids in
            Model(sections: [.init(id: "main", items: ids.map { Model.Item(id: $0) })])
        }
        let olds = models.filter { isPrefix($0.itemIDs) }
        #expect((models.count, olds.count) == (326, 6))
        check(try olds.map { try State($0) }, try models.map { try State($0) }, dialect: dialect)
    }

    private func isPrefix(_ ids: [Text]) -> Bool { ids == Array(["a", "b", "c", "d", "e"].prefix(ids.count)) }

    @Test("the counts of all 106,276 pairs of ordered subsets of five ids are the fewest")
    func countsOfFive() throws {
        let orders = Small.orderedSubsets(of: ["a", "b", "c", "d", "e"])
        let snapshots = try orders.map { try Snapshot(json: Tree.array($0.map { .string($0) }).json) }
        let numbers = orders.map { $0.map { Int($0.bytes[0]) - 97 } }
        var wrong: [String] = []
        var fewest: [[Int]: Counts] = [:]
        for (old, oldIDs) in zip(snapshots, numbers) {
            var places = [Int?](repeating: nil, count: 5)
            for (place, id) in oldIDs.enumerated() { places[id] = place }
            for (new, newIDs) in zip(snapshots, numbers) {
                let common = newIDs.map { places[$0] ?? -1 }
                let key = [oldIDs.count] + common
                let expected = fewest[key] ?? Self.fewest(oldIDs.count, common)
                fewest[key] = expected
                let counts = Counts(Changeset(from: old, to: new).counts)
                if counts != expected { wrong.append("\(oldIDs) \(newIDs): \(counts), not \(expected)") }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count) pairs, such as \(wrong.prefix(3))")
    }

    /// For new rows given by their old place, or -1.
    private static func fewest(_ oldCount: Int, _ rows: [Int]) -> Counts {
        let common = rows.enumerated().filter { $0.element >= 0 }.map { (old: $0.element, new: $0.offset) }
        var counts = Counts()
        counts.deletions = oldCount - common.count
        counts.insertions = rows.count - common.count
        counts.moves = common.count - Keeping.best(of: common).count
        return counts
    }

    @Test("all pairs of states of two sections and three items, up to renaming", arguments: Dialect.allCases)
    func twoSections(dialect: Dialect) throws {
        let states = try Small.states(sections: ["A", "B"], items: ["a", "b", "c"]).map { try State($0) }
        let olds = states.filter { Small.isCanonical($0.model) }
        #expect((states.count, olds.count) == (131, 15))
        check(olds, states, dialect: dialect)
    }

    @Test("a sample of all pairs of states of three sections and four items", arguments: Dialect.allCases)
    func threeSections(dialect: Dialect) throws {
        let models = Small.states(sections: ["A", "B", "C"], items: ["a", "b", "c", "d"])
        let olds = try models.filter(Small.isCanonical).map { try State($0) }
        #expect((models.count, olds.count) == (5872, 56))
        var random = SplitMix64(seed: 34)
        var log = FailureLog()
        for _ in 0..<Effort.runs(700) where !log.isFull {
            let (old, new) = (olds[random.below(olds.count)], try State(models[random.below(models.count)]))
            log.add(PairCheck.failures(from: old, to: new, dialects: [dialect]))
        }
        #expect(log.count == 0, "\(log.summary)")
    }
}
