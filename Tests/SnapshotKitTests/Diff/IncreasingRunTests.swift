import Testing

@testable import SnapshotKit

@Suite("Longest increasing runs")
struct IncreasingRunTests {
    /// The places that are kept in a list of old positions.
    private func kept(_ values: [Int], shift: Int, goesOn: Bool) -> Set<Int> {
        var run = IncreasingRun()
        var position = 0
        while position < values.count {
            var count = 1
            while position + count < values.count, values[position + count] == values[position] + count { count += 1 }
            run.append(Int32(values[position]), at: position, count: count)
            position += count
        }
        var kept: Set<Int> = []
        run.find(fixedShift: shift, goesOn: goesOn) { kept.formUnion($0) }
        return kept
    }

    /// The same, element by element: O(n²).
    private func expected(_ values: [Int], shift: Int, goesOn: Bool) -> Set<Int> {
        var best: [(length: Int, fixed: Int, previous: Int)] = []
        for (position, value) in values.enumerated() {
            let last = (0..<position).filter { values[$0] < value }
                .max { (best[$0].length, best[$0].fixed, $0) < (best[$1].length, best[$1].fixed, $1) }
            let (length, fixed) = last.map { (best[$0].length, best[$0].fixed) } ?? (0, 0)
            best.append((length + 1, fixed + (position - value == shift ? 1 : 0), last ?? -1))
        }
        var position =
            best.indices.max {
                let (one, other) = (best[$0], best[$1])
                return (one.length, one.fixed, goesOn ? $0 : -$0) < (other.length, other.fixed, goesOn ? $1 : -$1)
            } ?? -1
        var kept: Set<Int> = []
        while position >= 0 {
            kept.insert(position)
            position = best[position].previous
        }
        return kept
    }

    @Test("are the same element by element")
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
            let elements = expected(values, shift: shift, goesOn: goesOn)
            #expect(elements == kept(values, shift: shift, goesOn: goesOn), "\(values) \(shift)")
        }
    }

    @Test("leave what follows out and choose as with it")
    func tail() {
        for seed in Effort.seeds(300) {
            var random = SplitMix64(seed: seed)
            let values = (0..<1 + random.below(8)).map { ($0, random.below(1000)) }.sorted { $0.1 < $1.1 }.map(\.0)
            let whole = values + Array(values.count..<values.count + 3)
            let all = expected(whole, shift: 0, goesOn: false).filter { $0 < values.count }
            #expect(kept(values, shift: 0, goesOn: true) == all, "\(values)")
        }
    }
}
