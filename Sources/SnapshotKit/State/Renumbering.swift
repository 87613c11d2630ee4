// A state made from another one has almost the same ids, but at other indexes once an item was inserted, removed or
// moved. Its table is then that of the other state, shared, together with the current indexes of its items and the few
// that were added since. When this grows too long a new table is made, which costs about as much as all renumberings so
// far.
//
// Rejected: updating the indexes slot by slot, which costs as much as a new table for one item inserted at the start.

/// The current indexes of a table's items, and the items added since.
final class Renumbering: Sendable {
    /// An item that the table does not have.
    struct Arrival {
        var hash: UInt32
        var item: Int
    }

    /// From the table's indexes, `old`, to those in the newest state, `new`; in ascending order of `old`.
    private let kept: [ReusedRun]
    /// In ascending order of hashes.
    private let arrivals: [Arrival]

    /// - Parameters:
    ///   - kept: items that both states have, in ascending order of the old one, and disjoint.
    ///   - arrivals: items of the new state whose ids the old one does not have.
    ///   - earlier: the renumbering of the old state; nil if the table was made for it.
    init(_ kept: [ReusedRun], _ arrivals: [Arrival], behind earlier: Renumbering?) {
        var (all, joined) = (arrivals, [ReusedRun]())
        for run in kept { joined.append(joining: run) }
        if let earlier {
            self.kept = earlier.kept.reduce(into: []) { $1.append(movedOver: joined, to: &$0) }
            for arrival in earlier.arrivals {
                if let item = joined.new(ofOld: arrival.item) { all.append(Arrival(hash: arrival.hash, item: item)) }
            }
        } else {
            self.kept = joined
        }
        self.arrivals = all.sorted { $0.hash < $1.hash }
    }

    /// The number of runs and arrivals.
    var count: Int { kept.count + arrivals.count }

    /// Memory held, in bytes.
    var footprint: Int {
        kept.capacity * MemoryLayout<ReusedRun>.stride + arrivals.capacity * MemoryLayout<Arrival>.stride + 64
    }

    /// The current index of an item of the table; nil if it is gone. O(log count).
    func index(ofEntered item: Int) -> Int? { kept.new(ofOld: item) }

    /// The added item with this hash that `matches` accepts. O(log count).
    @inline(__always)
    func arrival(_ hash: UInt32, where matches: (Int) -> Bool) -> Int? {
        var index = arrivals.indices.border { arrivals[$0].hash < hash }
        while index < arrivals.count, arrivals[index].hash == hash {
            if matches(arrivals[index].item) { return arrivals[index].item }
            index += 1
        }
        return nil
    }

    /// Whether no two added items have the same id; `areSame` compares two with equal hashes.
    func areUnique(_ areSame: (Int, Int) -> Bool) -> Bool {
        for index in arrivals.indices {
            var other = index + 1
            while other < arrivals.count, arrivals[other].hash == arrivals[index].hash {
                if areSame(arrivals[index].item, arrivals[other].item) { return false }
                other += 1
            }
        }
        return true
    }
}

extension [ReusedRun] {
    /// Whether runs in ascending order of the old state are disjoint there.
    var areDisjoint: Bool { zip(self, dropFirst()).allSatisfy { $0.old + $0.count <= $1.old } }

    /// The first run that ends behind an item of the old state. O(log runs); in ascending order of that state.
    fileprivate func firstIndex(endingBehind old: Int) -> Int {
        indices.border { self[$0].old + self[$0].count <= old }
    }

    /// The index in the new state of an item of the old one. O(log runs); in ascending order of that state.
    fileprivate func new(ofOld old: Int) -> Int? {
        let index = firstIndex(endingBehind: old)
        guard index < count, self[index].old <= old else { return nil }
        return self[index].new + old - self[index].old
    }
}

extension ReusedRun {
    /// Composes this run with runs from its new state to a third one: appends what they share, as runs from its old
    /// state to the third.
    fileprivate func append(movedOver runs: [ReusedRun], to parts: inout [ReusedRun]) {
        var index = runs.firstIndex(endingBehind: new)
        while index < runs.count, runs[index].old < new + count {
            let start = max(new, runs[index].old)
            let end = min(new + count, runs[index].old + runs[index].count)
            parts.append(
                joining: ReusedRun(
                    old: old + start - new, new: runs[index].new + start - runs[index].old, count: end - start))
            index += 1
        }
    }
}
