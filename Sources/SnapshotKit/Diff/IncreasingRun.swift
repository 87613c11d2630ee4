// What need not move: a longest increasing subsequence of old positions, in new order.
//
// Rows that follow one another before and after are one stretch: a longest run has either all of it or none, since no
// other value lies between. The best run that ends with a stretch continues the best one among those that end earlier
// with smaller values, which a tree of prefix maxima over the values finds (Fenwick 1994): O(s log n) for s stretches.
// Of the longest runs, the one with the most *fixed* rows is wanted: those whose index is the same before and after. So
// runs are compared by their lengths, then by their fixed rows, then by their last stretches.
//
// Rejected: patience sorting (Fredman 1975) with a sliding-window maximum over each pile. It chooses the same run, and
// a full shuffle of 10,000 rows takes fewer instructions, but it is three times the code and needs a proof.

/// Finds longest increasing runs; keeps its memory from one to the next.
package struct IncreasingRun {
    /// Elements whose values and positions follow one another.
    private struct Stretch {
        var value: Int32
        var position: Int32
        var count: Int32
    }

    private var stretches: [Stretch] = []

    package init() {}

    /// Which elements of a list stay, given the index of each in the old list, -1 for new ones. O(n log n).
    static func longest(of oldOfNew: [Int32]) -> [Bool] {
        var stays = [Bool](repeating: false, count: oldOfNew.count)
        var run = IncreasingRun()
        for (index, old) in oldOfNew.enumerated() where old >= 0 { run.append(old, at: index) }
        run.find(fixedShift: 0) { for index in $0 { stays[index] = true } }
        return stays
    }

    mutating func removeAll() { stretches.removeAll(keepingCapacity: true) }

    /// Adds elements, given the old and the new position of the first; the others follow on.
    package mutating func append(_ value: Int32, at position: Int, count: Int = 1) {
        let stretch = Stretch(
            value: value, position: Int32(truncatingIfNeeded: position), count: Int32(truncatingIfNeeded: count))
        if let last = stretches.last, last.value + last.count == value, last.position + last.count == stretch.position {
            stretches[stretches.count - 1].count += stretch.count
        } else {
            stretches.append(stretch)
        }
    }

    /// Calls `keep` with the positions of the elements of the chosen run, stretch by stretch, last first. An element is
    /// fixed if its position minus its value is `fixedShift`.
    ///
    /// - Parameter goesOn: whether more elements follow, each above all others: every longest run holds them all.
    package func find(fixedShift: Int, goesOn: Bool = false, keep: (Range<Int>) -> Void) {
        let values = stretches.lazy.map(\.value)
        guard let first = values.min(), let last = values.max() else { return }
        let (room, span) = (stretches.count, Int(last - first) + 1)
        stretches.withUnsafeBufferPointer { stretches in
            withUnsafeTemporaryAllocation(of: Int.self, capacity: room) { weights in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: room + span + 1) { memory in
                    // For the best run that ends with each stretch: its elements in the upper half, its fixed ones in
                    // the lower; and the stretch before it there.
                    let weights = weights.baseAddress!
                    let (previous, tree) = (memory.baseAddress!, memory.baseAddress! + room)
                    tree.initialize(repeating: -1, count: span + 1)
                    // Of two equal ones, the later wins.
                    @inline(__always)
                    func best(_ one: Int32, _ other: Int32) -> Int32 {
                        if one < 0 || other < 0 { return max(one, other) }
                        let (left, right) = (weights[Int(one)], weights[Int(other)])
                        return left == right ? max(one, other) : left > right ? one : other
                    }
                    for index in 0..<room {
                        let stretch = stretches[index]
                        var (found, node) = (Int32(-1), Int(stretch.value - first))
                        while node > 0 {
                            found = best(found, tree[node])
                            node &= node - 1
                        }
                        let isFixed = Int(stretch.position) - Int(stretch.value) == fixedShift
                        let weight = Int(stretch.count) << 32 | (isFixed ? Int(stretch.count) : 0)
                        weights[index] = weight + (found < 0 ? 0 : weights[Int(found)])
                        previous[index] = found
                        node = Int(stretch.value - first) + 1
                        while node <= span {
                            tree[node] = best(tree[node], Int32(truncatingIfNeeded: index))
                            node += node & -node
                        }
                    }
                    // If elements follow, the later of two equal ones wins, as in the tree.
                    var last = 0
                    for index in 1..<room
                    where goesOn ? weights[index] >= weights[last] : weights[index] > weights[last] {
                        last = index
                    }
                    while last >= 0 {
                        let position = Int(stretches[last].position)
                        keep(position..<position + Int(stretches[last].count))
                        last = Int(previous[last])
                    }
                }
            }
        }
    }
}
