// Where is an element right now, while a list is turned into another one step by step?
//
// The list holds elements that are in place for good (those that stay, and those placed so far, from the first final
// index on) and leavers, which stay where they always were until they are taken away. An element is placed directly
// behind its final predecessor, so a leaver is behind everything placed after the last staying element before it.
// Hence both counts that make up an index are sums: placed elements are counted by final index, leavers by old index in
// a Fenwick tree (Fenwick 1994). O(log n) per question.

/// Current indexes of one list under splices.
struct SpliceTracker {
    /// An element that is there from the start and never moves.
    struct Stay {
        /// Final index.
        var final: Int
        /// Old index: leavers with a smaller one are before it.
        var old: Int
    }

    private let stays: [Stay]
    private var leavers: FenwickTree
    /// All final indexes below this are in place.
    private(set) var placed = 0
    /// How many of `stays` are below `placed`.
    private var staysPlaced = 0

    /// - Parameters:
    ///   - stays: ascending in both numbers.
    ///   - leavers: old indexes, below `oldCount`.
    init(stays: [Stay], leavers: some Sequence<Int>, oldCount: Int) {
        self.stays = stays
        self.leavers = FenwickTree(count: oldCount, ones: leavers)
    }

    /// Puts the element of the next final index in place, by an operation or because it stays; returns its index.
    mutating func place() -> Int {
        let index = self.index(ofFinal: placed)
        if staysPlaced < stays.count, stays[staysPlaced].final == placed { staysPlaced += 1 }
        placed += 1
        return index
    }

    /// Passes the element of the next final index, which stays. O(1).
    mutating func pass() {
        staysPlaced += 1
        placed += 1
    }

    /// Takes a leaver away; returns the index it had.
    mutating func leave(_ old: Int) -> Int {
        let index = index(ofLeaver: old)
        leavers.remove(old)
        return index
    }

    /// The index of an element that is in place, or of the next one to be placed.
    func index(ofFinal final: Int) -> Int {
        let rank = firstStay { $0.final > final }
        let before = final <= placed ? final : placed + rank - 1 - staysPlaced
        return before + (rank == 0 ? 0 : leavers.count(below: stays[rank - 1].old))
    }

    /// The index of a leaver.
    func index(ofLeaver old: Int) -> Int {
        let rank = firstStay { $0.old > old }
        let isPassed = rank < stays.count && stays[rank].final <= placed
        let before = isPassed ? stays[rank].final : placed + max(0, rank - staysPlaced)
        return before + leavers.count(below: old)
    }

    /// The number of leavers that are still there.
    var leaversLeft: Int { leavers.count }

    private func firstStay(where isBehind: (Stay) -> Bool) -> Int { stays.indices.border { !isBehind(stays[$0]) } }
}

/// Prefix sums over zeros and ones.
struct FenwickTree {
    private var sums: [Int32]
    private(set) var count = 0

    init(count size: Int, ones: some Sequence<Int>) {
        sums = [Int32](repeating: 0, count: size + 1)
        for place in ones {
            sums[place + 1] += 1
            count += 1
        }
        for place in 1..<max(size + 1, 1) {
            let parent = place + place & -place
            if parent <= size { sums[parent] += sums[place] }
        }
    }

    mutating func remove(_ place: Int) {
        count -= 1
        var at = place + 1
        while at < sums.count {
            sums[at] -= 1
            at += at & -at
        }
    }

    func count(below place: Int) -> Int {
        var sum = 0
        var at = min(place, sums.count - 1)
        while at > 0 {
            sum += Int(sums[at])
            at -= at & -at
        }
        return sum
    }
}
