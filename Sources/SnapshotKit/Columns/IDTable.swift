// Open addressing with linear probing (Knuth vol. 3, §6.4) over 32-bit buckets: the low bits hold an index plus one,
// the rest part of the hash. So probing for an absent id almost never reads a record: with 10,000 items a bucket holds
// 18 bits of hash. At most two thirds full.

/// Finds an item or a section by its id.
package struct IDTable: Sendable {
    private let buckets: [UInt32]
    private let indexMask: UInt32
    /// The current indexes of the items; nil if the buckets hold them.
    private let remap: IndexRemap?

    static let empty = IDTable(buckets: [], indexMask: 0)

    var footprint: Int { buckets.capacity * 4 + (remap?.footprint ?? 0) }

    var isEmpty: Bool { buckets.isEmpty }

    private init(buckets: [UInt32], indexMask: UInt32, remap: IndexRemap? = nil) {
        (self.buckets, self.indexMask, self.remap) = (buckets, indexMask, remap)
    }

    /// A table of hashed records. Calls `onDuplicate` for each with the id, if any, of an earlier one. O(records).
    @inline(__always)
    package init<Record: IdentifiedRecord>(
        _ records: UnsafeBufferPointer<Record>, in text: TextView,
        onDuplicate: (_ first: Int, _ later: Int) -> Void = { _, _ in }
    ) {
        let count = records.count
        guard count > 0 else {
            self = .empty
            return
        }
        let capacity = 1 << (Int.bitWidth - (count + count / 2).leadingZeroBitCount)
        let indexMask = UInt32(truncatingIfNeeded: (1 << (Int.bitWidth - count.leadingZeroBitCount)) - 1)
        var table = [UInt32](filled: 0, count: capacity)
        table.withUnsafeMutableBufferPointer { buckets in
            for index in 0..<count {
                let mark = records[index].hash
                var bucket = Int(mark) & (capacity - 1)
                // The low bits of the hash choose the bucket; multiplied, other bits of it are stored there.
                let tag = Self.tag(mark) & ~indexMask
                while buckets[bucket] != 0 {
                    if buckets[bucket] & ~indexMask == tag {
                        let earlier = Int(buckets[bucket] & indexMask) - 1
                        if records[earlier].hasSameID(as: records[index], text, text) {
                            if records[index].idCount > 0 { onDuplicate(earlier, index) }
                            break
                        }
                    }
                    bucket = (bucket + 1) & (capacity - 1)
                }
                if buckets[bucket] == 0 { buckets[bucket] = tag | UInt32(truncatingIfNeeded: index + 1) }
            }
        }
        (buckets, self.indexMask, remap) = (table, indexMask, nil)
    }

    /// The table of a state made from the one with this table; nil if a new table is cheaper, or if two items have the
    /// same id. O(n log n), where n counts `kept`, `insertions` and the earlier remap.
    ///
    /// - Parameters:
    ///   - kept: items with the same ids in both states, in ascending order of the old one, and disjoint in either.
    ///   - insertions: items whose ids the old state does not have.
    func remapped(
        _ kept: [SharedRuns.Run], _ insertions: [IndexRemap.Insertion], to new: UnsafeBufferPointer<Node>,
        in text: TextView
    ) -> IDTable? {
        let most = max(64, new.count / 8)
        guard !buckets.isEmpty, !new.isEmpty, kept.count + insertions.count <= most else { return nil }
        let remap = IndexRemap(kept, insertions, behind: remap)
        guard remap.count <= most, remap.areUnique({ new[$0].hasSameID(as: new[$1], text, text) }) else { return nil }
        return IDTable(buckets: buckets, indexMask: indexMask, remap: remap)
    }

    @inline(__always)
    private static func tag(_ hash: UInt32) -> UInt32 { hash &* 0x9E37_79B1 }

    /// The index with this hash that `matches` accepts. Expected O(1), or O(log n) with a remap.
    @inline(__always)
    func first(_ hash: UInt32, where matches: (Int) -> Bool) -> Int? {
        guard !buckets.isEmpty else { return nil }
        let entered: Int? = buckets.withUnsafeBufferPointer { buckets in
            let tag = Self.tag(hash) & ~indexMask
            var bucket = Int(hash) & (buckets.count - 1)
            while buckets[bucket] != 0 {
                if buckets[bucket] & ~indexMask == tag {
                    let entered = Int(buckets[bucket] & indexMask) - 1
                    let index = remap.map { $0.kept.new(ofOld: entered) ?? -1 } ?? entered
                    if index >= 0, matches(index) { return index }
                }
                bucket = (bucket + 1) & (buckets.count - 1)
            }
            return nil
        }
        return entered ?? remap?.insertion(hash, where: matches)
    }
}

// MARK: - New indexes
//
// A state made from another one has almost the same ids, but at other indexes once an item was inserted, removed or
// moved. It shares the other state's table, together with the current indexes of its items and the few added since.
// The table is made anew once the remap exceeds an eighth of the items: amortised O(1) a change.
//
// Rejected: updating the indexes bucket by bucket, for one item inserted at the start as costly as a new table.

/// The current indexes of a table's items, and the items added since.
final class IndexRemap: Sendable {
    /// An item that the table does not have.
    struct Insertion {
        var hash: UInt32
        var item: Int
    }

    /// From the table's indexes, `old`, to those in the newest state, `new`; in ascending order of `old`.
    fileprivate let kept: [SharedRuns.Run]
    /// In ascending order of hashes.
    private let insertions: [Insertion]

    /// For `IDTable.remapped`; `earlier` is the remap of the old state, nil if the table was made for it.
    init(_ kept: [SharedRuns.Run], _ insertions: [Insertion], behind earlier: IndexRemap?) {
        var (all, moved) = (insertions, kept)
        if let earlier {
            moved = []
            moved.reserveCapacity(earlier.kept.count + kept.count)
            var next = 0
            for run in earlier.kept { run.append(movedOver: kept, from: &next, to: &moved) }
            for insertion in earlier.insertions {
                if let item = kept.new(ofOld: insertion.item) {
                    all.append(Insertion(hash: insertion.hash, item: item))
                }
            }
        }
        self.kept = moved
        self.insertions = all.sorted { $0.hash < $1.hash }
    }

    var count: Int { kept.count + insertions.count }

    var footprint: Int {
        kept.capacity * MemoryLayout<SharedRuns.Run>.stride + insertions.capacity * MemoryLayout<Insertion>.stride + 64
    }

    /// The added item with this hash that `matches` accepts. O(log count).
    @inline(__always)
    func insertion(_ hash: UInt32, where matches: (Int) -> Bool) -> Int? {
        var index = insertions.indices.partitionPoint { insertions[$0].hash < hash }
        while index < insertions.count, insertions[index].hash == hash {
            if matches(insertions[index].item) { return insertions[index].item }
            index += 1
        }
        return nil
    }

    /// Whether no two added items have the same id; `areSame` compares two with equal hashes.
    fileprivate func areUnique(_ areSame: (Int, Int) -> Bool) -> Bool {
        for index in insertions.indices {
            var other = index + 1
            while other < insertions.count, insertions[other].hash == insertions[index].hash {
                if areSame(insertions[index].item, insertions[other].item) { return false }
                other += 1
            }
        }
        return true
    }
}

extension [SharedRuns.Run] {
    /// Whether runs in ascending order of the old state are disjoint there.
    var areDisjoint: Bool { zip(self, dropFirst()).allSatisfy { $0.old + $0.count <= $1.old } }

    /// The first run that ends after an item of the old state. O(log runs); in ascending order of that state.
    func firstIndex(endingBehind old: Int) -> Int { indices.partitionPoint { self[$0].old + self[$0].count <= old } }

    /// The index in the new state of an item of the old one. O(log runs); in ascending order of that state.
    fileprivate func new(ofOld old: Int) -> Int? {
        let index = firstIndex(endingBehind: old)
        guard index < count, self[index].old <= old else { return nil }
        return self[index].new + old - self[index].old
    }
}

extension SharedRuns.Run {
    /// Composes this run with runs from its new state to a third one: appends what they share, as runs from its old
    /// state to the third. A run that follows is probably found at `next`.
    fileprivate func append(movedOver runs: [SharedRuns.Run], from next: inout Int, to parts: inout [SharedRuns.Run]) {
        if next >= runs.count || runs[next].old > new || runs[next].old + runs[next].count <= new {
            next = runs.firstIndex(endingBehind: new)
        }
        while next < runs.count, runs[next].old < new + count {
            let start = max(new, runs[next].old)
            let end = min(new + count, runs[next].old + runs[next].count)
            parts.append(
                joining: SharedRuns.Run(
                    old: old + start - new, new: runs[next].new + start - runs[next].old, count: end - start))
            if end < runs[next].old + runs[next].count { break }
            next += 1
        }
    }
}
