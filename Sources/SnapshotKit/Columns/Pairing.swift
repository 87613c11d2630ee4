// Which record of the old list has the same id as which of the new one?
//
// Consecutive versions of a list line up almost everywhere, so both are walked in step; where they part, a window of a
// few records on either side finds where they meet again. Ids are unique on either side, so any two records with the
// same id are a pair: the walk can only save look-ups, never mislead. The rest is looked up in the new list's table,
// which exists since its check for duplicates. O(n + m) expected; nothing is hashed here.

/// Partners by index; -1 for none.
package struct Pairing: Sendable {
    package private(set) var oldOfNew: [Int32]
    package private(set) var newOfOld: [Int32]

    /// `count` records on either side, paired in order.
    init(inOrder count: Int) {
        oldOfNew = [Int32](filled: -1, count: count)
        oldOfNew.withUnsafeMutableBufferPointer { partners in
            for index in 0..<count { partners[index] = Int32(truncatingIfNeeded: index) }
        }
        newOfOld = oldOfNew
    }

    /// The records of runs that are disjoint in either list; no others have a partner.
    init(_ runs: [SharedRuns.Run], _ oldCount: Int, _ newCount: Int) {
        oldOfNew = [Int32](filled: -1, count: newCount)
        newOfOld = [Int32](filled: -1, count: oldCount)
        oldOfNew.withUnsafeMutableBufferPointer { oldOfNew in
            newOfOld.withUnsafeMutableBufferPointer { newOfOld in
                for run in runs {
                    let (old, new) = (Int32(truncatingIfNeeded: run.old), Int32(truncatingIfNeeded: run.new))
                    let (partners, others) = (oldOfNew.baseAddress! + run.new, newOfOld.baseAddress! + run.old)
                    for index in 0..<run.count { partners[index] = old &+ Int32(truncatingIfNeeded: index) }
                    for index in 0..<run.count { others[index] = new &+ Int32(truncatingIfNeeded: index) }
                }
            }
        }
    }

    /// The records of two lists that have the same ids.
    init<Record: IdentifiedRecord>(
        _ old: UnsafeBufferPointer<Record>, in oldText: TextView,
        _ new: UnsafeBufferPointer<Record>, in newText: TextView, table: IDTable
    ) {
        oldOfNew = [Int32](filled: -1, count: new.count)
        newOfOld = [Int32](filled: -1, count: old.count)
        oldOfNew.withUnsafeMutableBufferPointer { oldOfNew in
            newOfOld.withUnsafeMutableBufferPointer { newOfOld in
                var walk = PairingWalk(
                    old: old, oldText: oldText, new: new, newText: newText, oldOfNew: oldOfNew, newOfOld: newOfOld)
                walk.trimEnd()
                walk.walk()
                walk.lookUp(in: table)
            }
        }
    }

    private init(newOfOld: [Int32], oldOfNew: [Int32]) { (self.newOfOld, self.oldOfNew) = (newOfOld, oldOfNew) }

    var reversed: Pairing { Pairing(newOfOld: oldOfNew, oldOfNew: newOfOld) }
}

/// Two lists while they are paired.
private struct PairingWalk<Record: IdentifiedRecord> {
    let old: UnsafeBufferPointer<Record>
    let oldText: TextView
    let new: UnsafeBufferPointer<Record>
    let newText: TextView
    let oldOfNew: UnsafeMutableBufferPointer<Int32>
    let newOfOld: UnsafeMutableBufferPointer<Int32>
    var paired = 0
    /// Records that both lists end with.
    var tail = 0

    private var oldEnd: Int { old.count - tail }
    private var newEnd: Int { new.count - tail }

    @inline(__always)
    private func same(_ one: Int, _ other: Int) -> Bool { old[one].hasSameID(as: new[other], oldText, newText) }

    @inline(__always)
    private mutating func pair(_ one: Int, _ other: Int) {
        oldOfNew[other] = Int32(truncatingIfNeeded: one)
        newOfOld[one] = Int32(truncatingIfNeeded: other)
        paired += 1
    }

    mutating func trimEnd() {
        while oldEnd > 0, newEnd > 0, same(oldEnd - 1, newEnd - 1) {
            tail += 1
            pair(oldEnd, newEnd)
        }
    }

    /// Pairs what lines up before that; after 64 misses in a row, the rest is left to the table.
    mutating func walk() {
        var (one, other, misses) = (0, 0, 0)
        while one < oldEnd, other < newEnd, misses < 64 {
            if same(one, other) {
                pair(one, other)
                (one, other, misses) = (one + 1, other + 1, 0)
            } else {
                let (skipOld, skipNew) = skip(one, other)
                (one, other, misses) = (one + skipOld, other + skipNew, misses + 1)
            }
        }
    }

    /// How far to skip on one side to meet the other; one record on both sides if no pair is within four records.
    private func skip(_ one: Int, _ other: Int) -> (Int, Int) {
        let hash = (old[one].hash, new[other].hash)
        for distance in 1...4 {
            let (next, nextOther) = (one + distance, other + distance)
            if next < oldEnd, old[next].hash == hash.1, same(next, other) { return (distance, 0) }
            if nextOther < newEnd, new[nextOther].hash == hash.0, same(one, nextOther) { return (0, distance) }
        }
        return (1, 1)
    }

    mutating func lookUp(in table: IDTable) {
        guard paired < min(old.count, new.count) else { return }
        for one in 0..<oldEnd where newOfOld[one] < 0 {
            if let found = table.first(old[one].hash, where: { same(one, $0) }) { pair(one, found) }
        }
    }
}
