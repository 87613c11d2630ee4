// What need not move: the longest subsequence of old positions, in new order, that increases.
//
// Patience sorting (Fredman 1975) gives each element its rank, the length of the longest run that ends with it, in O(k log k); lists
// that hardly change append to the last pile nearly always, in O(1). Of the longest runs the one with the most *fixed* elements is wanted,
// those whose index is the same before and after. Elements of one rank, in order, have falling values; so the elements of the
// rank below that may come before one of them (earlier, and smaller) are a stretch of that pile, and both ends of the stretch only
// move forward along the pile. The best predecessor is then a sliding-window maximum, O(k) in all (docs/diff.md has the proof).
//
// Rejected: a Fenwick tree over values, which finds the same at three times the cost.

/// Finds longest increasing runs; keeps its memory from one to the next.
struct IncreasingRun {
    /// Last element of the best run of each length so far: its value, and its index.
    private var tops: [(value: Int32, index: Int32)] = []
    private var ranks: [Int32] = []
    private var previous: [Int32] = []

    /// Calls `keep` with the index of each element of the chosen run, last first.
    mutating func find(
        in values: UnsafeBufferPointer<Int32>, isFixed: (Int) -> Bool, keep: (Int) -> Void
    ) {
        guard !values.isEmpty else { return }
        var last = rank(values)
        if hasFixed(values.count, isFixed) { last = preferFixed(values, isFixed) }
        while last >= 0 {
            keep(last)
            last = Int(previous[last])
        }
    }

    private func hasFixed(_ count: Int, _ isFixed: (Int) -> Bool) -> Bool {
        for index in 0..<count where isFixed(index) { return true }
        return false
    }

    /// Ranks every element; returns the first of the highest rank.
    private mutating func rank(_ values: UnsafeBufferPointer<Int32>) -> Int {
        tops.removeAll(keepingCapacity: true)
        ranks.removeAll(keepingCapacity: true)
        previous.removeAll(keepingCapacity: true)
        ranks.reserveCapacity(values.count)
        previous.reserveCapacity(values.count)
        var first = 0
        for index in values.indices {
            let value = values[index]
            let rank = place(value)
            let top = (value: value, index: Int32(truncatingIfNeeded: index))
            if rank == tops.count {
                tops.append(top)
                first = index
            } else {
                tops[rank] = top
            }
            ranks.append(Int32(truncatingIfNeeded: rank))
            previous.append(rank == 0 ? -1 : tops[rank - 1].index)
        }
        return first
    }

    /// The first pile whose top is not below `value`; the number of piles if there is none.
    @inline(__always)
    private func place(_ value: Int32) -> Int {
        guard let last = tops.last else { return 0 }
        if last.value < value { return tops.count }
        return tops.withUnsafeBufferPointer { tops in
            var low = 0
            var count = tops.count - 1
            // Without a branch to mispredict: half of the rest is skipped or not.
            while count > 0 {
                let half = count >> 1
                let isBelow = tops[low + half].value < value
                low = isBelow ? low + half + 1 : low
                count = isBelow ? count - half - 1 : half
            }
            return low
        }
    }

    /// Rewrites `previous` so that runs hold the most fixed elements; returns the best last element.
    private mutating func preferFixed(_ values: UnsafeBufferPointer<Int32>, _ isFixed: (Int) -> Bool) -> Int {
        let piles = Piles(ranks: ranks, count: tops.count)
        var score = [Int32](repeating: 0, count: values.count)
        var window: [Int32] = []
        for pile in 0..<piles.count {
            let below = pile == 0 ? 0..<0 : piles[pile - 1]
            var next = below.lowerBound
            var head = 0
            window.removeAll(keepingCapacity: true)
            for place in piles[pile] {
                let element = Int(piles.elements[place])
                score[element] = isFixed(element) ? 1 : 0
                guard pile > 0 else { continue }
                // Elements of the pile below that come earlier enter; of two, a later one of at least the same score rules.
                while next < below.upperBound, piles.elements[next] < piles.elements[place] {
                    let candidate = piles.elements[next]
                    while window.count > head, score[Int(window[window.count - 1])] <= score[Int(candidate)] {
                        window.removeLast()
                    }
                    window.append(candidate)
                    next += 1
                }
                // Those that are too large leave: values fall along both piles.
                while values[Int(window[head])] > values[element] { head += 1 }
                score[element] += score[Int(window[head])]
                previous[element] = window[head]
            }
        }
        var best = Int(piles.elements[piles[piles.count - 1].lowerBound])
        for place in piles[piles.count - 1] where score[Int(piles.elements[place])] > score[best] {
            best = Int(piles.elements[place])
        }
        return best
    }
}

/// Elements grouped by rank, in order within each.
private struct Piles {
    private var starts: [Int]
    private(set) var elements: [Int32]

    init(ranks: [Int32], count: Int) {
        starts = [Int](repeating: 0, count: count + 1)
        for rank in ranks { starts[Int(rank) + 1] += 1 }
        for pile in 0..<count { starts[pile + 1] += starts[pile] }
        elements = [Int32](repeating: 0, count: ranks.count)
        var next = starts
        for (index, rank) in ranks.enumerated() {
            elements[next[Int(rank)]] = Int32(truncatingIfNeeded: index)
            next[Int(rank)] += 1
        }
    }

    var count: Int { starts.count - 1 }

    subscript(pile: Int) -> Range<Int> { starts[pile]..<starts[pile + 1] }
}
