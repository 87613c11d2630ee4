import Testing

@testable import SnapshotKit

@Suite("Longest increasing runs")
struct IncreasingRunTests {
    /// The places that are kept in a list of old positions.
    private func kept(_ values: [Int], shift: Int, goesOn: Bool, byStretches: Bool) -> Set<Int> {
        var run = IncreasingRun()
        var place = 0
        while place < values.count {
            var count = 1
            while place + count < values.count, values[place + count] == values[place] + count { count += 1 }
            run.append(Int32(values[place]), at: place, count: count)
            place += count
        }
        var kept: Set<Int> = []
        run.find(fixedShift: shift, goesOn: goesOn, searchesStretches: byStretches) { kept.formUnion($0) }
        return kept
    }

    @Test("are the same by elements and by stretches")
    func sameChoice() {
        for seed in Effort.seeds(400) {
            var random = SplitMix64(seed: seed)
            // Stretches of some length in any order, some with gaps, where rows are gone.
            var values: [Int] = []
            var next = 0
            let stretches = (0..<1 + random.below(9)).map { _ in
                let count = 1 + random.below(5)
                next += random.below(2)
                defer { next += count }
                return Array(next..<next + count)
            }
            values = stretches.map { (random.below(1000), $0) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
            if seed % 3 == 0 { values = stretches.flatMap { $0 } }
            for _ in 0..<random.below(3) { values.swapAt(random.below(values.count), random.below(values.count)) }
            let (shift, goesOn) = (random.below(3) - 1, seed % 2 == 0)
            let elements = kept(values, shift: shift, goesOn: goesOn, byStretches: false)
            #expect(elements == kept(values, shift: shift, goesOn: goesOn, byStretches: true), "\(values) \(shift)")
        }
    }

    @Test("leave what follows out and choose as with it")
    func tail() {
        for seed in Effort.seeds(300) {
            var random = SplitMix64(seed: seed)
            let values = (0..<1 + random.below(8)).map { ($0, random.below(1000)) }.sorted { $0.1 < $1.1 }.map(\.0)
            let whole = values + Array(values.count..<values.count + 3)
            let expected = kept(whole, shift: 0, goesOn: false, byStretches: false).filter { $0 < values.count }
            for byStretches in [false, true] {
                let found = kept(values, shift: 0, goesOn: true, byStretches: byStretches)
                #expect(found == expected, "\(values)")
            }
        }
    }
}
