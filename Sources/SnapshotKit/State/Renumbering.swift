// A state that was made of another has almost the same ids, each at another index once an item came, went or moved. Its
// table is then that of the other one, shared, together with where the items that were entered stand now and a few that
// came since. Once there is much to be told a table is made anew, which costs as much as telling it so long did.
//
// Rejected: entering what moved by its new index, slot by slot, which costs as much as a new table for one item that
// came at the start of a list.

/// Where the items of a table stand now, and which came since.
final class Renumbering: Sendable {
    /// An item that the table does not have.
    struct Arrival {
        var hash: UInt32
        var item: Int
    }

    /// Items of the table, `old`, in the newest state, `new`: in ascending order of the table.
    private let kept: [ReusedRun]
    /// In ascending order of hashes.
    private let arrivals: [Arrival]

    /// - Parameters:
    ///   - kept: items that two states have, in ascending order of the old one; none overlaps another.
    ///   - arrivals: items of the new state whose ids the old one does not have.
    ///   - earlier: where the items of the table stood in the old state; nil where it was made for that.
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

    /// What there is to be told.
    var count: Int { kept.count + arrivals.count }

    /// Memory held, in bytes.
    var footprint: Int {
        kept.capacity * MemoryLayout<ReusedRun>.stride + arrivals.capacity * MemoryLayout<Arrival>.stride + 64
    }

    /// Where an item of the table stands; nil for one that is gone. O(log count).
    func index(ofEntered item: Int) -> Int? { kept.new(ofOld: item) }

    /// The one among the items that came which has this hash and is meant. O(log count).
    @inline(__always)
    func arrival(_ hash: UInt32, where matches: (Int) -> Bool) -> Int? {
        var index = arrivals.indices.border { arrivals[$0].hash < hash }
        while index < arrivals.count, arrivals[index].hash == hash {
            if matches(arrivals[index].item) { return arrivals[index].item }
            index += 1
        }
        return nil
    }

    /// Whether no two of those that came are the same, as `areSame` says of two with one hash.
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
    /// Whether runs in ascending order of the old state have each item of that once.
    var areDisjoint: Bool { zip(self, dropFirst()).allSatisfy { $0.old + $0.count <= $1.old } }

    /// The first run that ends behind an item of the old state, in ascending order of which they are. O(log runs).
    fileprivate func firstIndex(endingBehind old: Int) -> Int {
        indices.border { self[$0].old + self[$0].count <= old }
    }

    /// The index in the new state of an item of the old one, in ascending order of which they are. O(log runs).
    fileprivate func new(ofOld old: Int) -> Int? {
        let index = firstIndex(endingBehind: old)
        guard index < count, self[index].old <= old else { return nil }
        return self[index].new + old - self[index].old
    }
}

extension ReusedRun {
    /// Appends the parts of this run that are in runs from its new state to a third one, as runs from its old one to
    /// that.
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
