// What need not move: the longest increasing subsequence of old positions, in new order.
//
// Patience sorting (Fredman 1975) puts each element on the first pile whose top is not below it; the number of its pile
// is the length of the longest run that ends with it. O(k log k); a list that hardly changes opens a new pile nearly
// every time, in O(1). Of the longest runs, the one with the most *fixed* elements is wanted: those whose index is the
// same before and after. Within a pile, from the top down, elements come earlier and earlier and their values grow; so
// the elements of the previous pile that may precede one of them (earlier, and smaller) are a stretch of that pile, and
// both ends of the stretch only move downwards. The best predecessor is then a sliding-window maximum, O(k) in all
// (docs/diff.md has the proof).
//
// Rejected: a tree of prefix maxima over single values, which finds the same run at three times the cost; piles as
// arrays, which take one more pass of sorting.
//
// If few rows moved, those between them still follow one another: a longest run has either all of such a stretch or
// none of it, since no other value lies between. Then stretches are searched, by their lengths, with a tree of prefix
// maxima (Fenwick 1994) over their values: O(s log s) for s stretches, and the same run is chosen.

/// Finds longest increasing runs; keeps its memory from one to the next.
package struct IncreasingRun {
    /// Elements whose values and places follow one another.
    private struct Stretch {
        var value: Int32
        var place: Int32
        var count: Int32
    }

    private struct Element {
        var value: Int32
        var place: Int32
    }

    private var stretches: [Stretch] = []
    private var count = 0
    private var memory: [Int32] = []

    package init() {}

    /// Which elements of a list stay, given the index of each in the old list, -1 for new ones: a longest run, with as
    /// many as possible at their old index. O(n log n).
    static func longest(of oldOfNew: [Int32]) -> [Bool] {
        var stays = [Bool](repeating: false, count: oldOfNew.count)
        var run = IncreasingRun()
        for (index, old) in oldOfNew.enumerated() where old >= 0 { run.append(old, at: index) }
        run.find(fixedShift: 0) { for index in $0 { stays[index] = true } }
        return stays
    }

    /// Forgets all elements.
    mutating func removeAll() {
        stretches.removeAll(keepingCapacity: true)
        count = 0
    }

    /// Adds elements, given the old and the new position of the first; the others follow on.
    package mutating func append(_ value: Int32, at place: Int, count: Int = 1) {
        let stretch = Stretch(
            value: value, place: Int32(truncatingIfNeeded: place), count: Int32(truncatingIfNeeded: count))
        self.count += count
        if let last = stretches.last, last.value + last.count == value, last.place + last.count == stretch.place {
            stretches[stretches.count - 1].count += stretch.count
        } else {
            stretches.append(stretch)
        }
    }

    /// Calls `keep` with the places of the elements of the chosen run, stretch by stretch, last first. An element is
    /// fixed if its place minus its value is `fixedShift`.
    ///
    /// - Parameters:
    ///   - goesOn: whether more elements follow, each above all others, so that every longest run holds them all.
    ///   - searchesStretches: whether to search stretches or single elements; affects only speed.
    package mutating func find(
        fixedShift: Int, goesOn: Bool = false, searchesStretches: Bool? = nil, keep: (Range<Int>) -> Void
    ) {
        guard !stretches.isEmpty else { return }
        if searchesStretches ?? (stretches.count * 8 < count) {
            findStretches(fixedShift, goesOn, keep)
        } else {
            findElements(fixedShift, goesOn, keep)
        }
    }

    private mutating func findElements(_ fixedShift: Int, _ goesOn: Bool, _ keep: (Range<Int>) -> Void) {
        let room = count
        if memory.count < room * 6 { memory = [Int32](repeating: 0, count: room * 6) }
        var elements: [Element] = []
        elements.reserveCapacity(room)
        for stretch in stretches {
            for index in 0..<stretch.count {
                elements.append(Element(value: stretch.value + index, place: stretch.place + index))
            }
        }
        elements.withUnsafeBufferPointer { elements in
            memory.withUnsafeMutableBufferPointer { memory in
                var piles = Piles(
                    elements: elements, fixedShift: fixedShift, goesOn: goesOn, memory: memory.baseAddress!)
                piles.deal()
                var last = Int(piles.last)
                while last >= 0 {
                    let place = Int(elements[last].place)
                    keep(place..<place + 1)
                    last = Int(piles.previous[last])
                }
            }
        }
    }

    private func findStretches(_ fixedShift: Int, _ goesOn: Bool, _ keep: (Range<Int>) -> Void) {
        let room = stretches.count
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 4 * room + 1) { memory in
            let start = memory.baseAddress!
            // The place of each stretch in the order of values, from one.
            let rank = start
            // For the best run that ends with each stretch: its elements in the upper half, its fixed ones in the
            // lower; and the stretch before it there.
            let (weights, previous) = (start + room, start + 2 * room)
            let tree = start + 3 * room
            // Numbers sort much faster than stretches. They lie where the tree will be.
            var keys = UnsafeMutableBufferPointer(start: tree, count: room)
            for (index, stretch) in stretches.enumerated() { keys[index] = Int(stretch.value) << 32 | index }
            keys.sort()
            for (index, key) in keys.enumerated() { rank[key & 0xFFFF_FFFF] = index + 1 }
            for node in 0...room { tree[node] = -1 }
            // Of two equal ones, the later wins.
            func best(_ one: Int, _ other: Int) -> Int {
                if one < 0 || other < 0 { return max(one, other) }
                return weights[one] == weights[other] ? max(one, other) : weights[one] > weights[other] ? one : other
            }
            for (index, stretch) in stretches.enumerated() {
                var (found, node) = (-1, rank[index] - 1)
                while node > 0 {
                    found = best(found, tree[node])
                    node &= node - 1
                }
                let isFixed = Int(stretch.place) - Int(stretch.value) == fixedShift
                let weight = Int(stretch.count) << 32 | (isFixed ? Int(stretch.count) : 0)
                weights[index] = weight + (found < 0 ? 0 : weights[found])
                previous[index] = found
                node = rank[index]
                while node <= room {
                    tree[node] = best(tree[node], index)
                    node += node & -node
                }
            }
            // If elements follow, the later of two equal ones wins, as in the tree.
            var last = 0
            for index in 1..<room where goesOn ? weights[index] >= weights[last] : weights[index] > weights[last] {
                last = index
            }
            while last >= 0 {
                let place = Int(stretches[last].place)
                keep(place..<place + Int(stretches[last].count))
                last = previous[last]
            }
        }
    }

    /// The piles of one list. All arrays except the tops are indexed by element; -1 is none.
    private struct Piles {
        typealias Numbers = UnsafeMutablePointer<Int32>

        let elements: UnsafeBufferPointer<Element>
        let fixedShift: Int
        let goesOn: Bool
        /// Value and index of the top of each pile.
        let topValues: Numbers
        let tops: Numbers
        /// The element that lies under this one in its pile.
        let beneath: Numbers
        /// The element before this one in the best run that ends here.
        let previous: Numbers
        /// Fixed elements in that run.
        let scores: Numbers
        /// Candidates in the previous pile, best first: scores never rise from one to the next.
        let window: Numbers
        private var count = 0
        /// The last element of the best run.
        private(set) var last: Int32 = -1

        init(elements: UnsafeBufferPointer<Element>, fixedShift: Int, goesOn: Bool, memory: Numbers) {
            (self.elements, self.fixedShift, self.goesOn) = (elements, fixedShift, goesOn)
            let room = elements.count
            (topValues, tops) = (memory, memory + room)
            (beneath, previous) = (memory + room * 2, memory + room * 3)
            (scores, window) = (memory + room * 4, memory + room * 5)
        }

        mutating func deal() {
            var hasFixed = false
            var pile = -1
            for index in elements.indices {
                let value = elements[index].value
                pile = self.pile(for: value, behind: pile)
                hasFixed = hasFixed || isFixed(index)
                if pile == count {
                    count += 1
                    beneath[index] = -1
                    last = Int32(truncatingIfNeeded: index)
                } else {
                    beneath[index] = tops[pile]
                }
                previous[index] = pile == 0 ? -1 : tops[pile - 1]
                topValues[pile] = value
                tops[pile] = Int32(truncatingIfNeeded: index)
            }
            // The elements that follow go on from the latest one.
            if hasFixed { preferFixed() } else if goesOn { last = tops[count - 1] }
        }

        @inline(__always)
        private func isFixed(_ index: Int) -> Bool {
            Int(elements[index].place) - Int(elements[index].value) == fixedShift
        }

        /// The first pile whose top is not below `value`; the number of piles if there is none. Rows after one that
        /// moved often go on the next piles, one by one.
        @inline(__always)
        private func pile(for value: Int32, behind last: Int) -> Int {
            if count == 0 || topValues[count - 1] < value { return count }
            let next = last + 1
            if last >= 0, next < count, topValues[last] < value, topValues[next] >= value { return next }
            // No branch for a processor to mispredict: the piles before `low` are below.
            var (low, left) = (0, count)
            while left > 1 {
                let half = left >> 1
                low &+= topValues[low &+ half &- 1] < value ? half : 0
                left &-= half
            }
            return low
        }

        /// Rewrites `previous` so that runs hold the most fixed elements, and `last` likewise.
        private mutating func preferFixed() {
            for pile in 0..<count { score(pile) }
            last = tops[count - 1]
            var other = beneath[Int(last)]
            while other >= 0 {
                // If an element follows, the later of two equal ones wins, as in `score`.
                let (one, best) = (scores[Int(other)], scores[Int(last)])
                if goesOn ? one > best : one >= best { last = other }
                other = beneath[Int(other)]
            }
        }

        /// Scores the elements of a pile from the top down, and chooses their predecessors.
        private func score(_ pile: Int) {
            var element = Int(tops[pile])
            guard pile > 0 else {
                while element >= 0 {
                    scores[element] = isFixed(element) ? 1 : 0
                    element = Int(beneath[element])
                }
                return
            }
            var next = Int(tops[pile - 1])
            var (head, end) = (0, 0)
            while element >= 0 {
                // Smaller ones enter and displace those with lower scores: of two equal ones, the later wins.
                while next >= 0, elements[next].value < elements[element].value {
                    while end > head, scores[Int(window[end - 1])] < scores[next] { end -= 1 }
                    window[end] = Int32(truncatingIfNeeded: next)
                    end += 1
                    next = Int(beneath[next])
                }
                // Those later than the element leave.
                while window[head] > element { head += 1 }
                let best = Int(window[head])
                previous[element] = Int32(truncatingIfNeeded: best)
                scores[element] = scores[best] + (isFixed(element) ? 1 : 0)
                element = Int(beneath[element])
            }
        }
    }
}
