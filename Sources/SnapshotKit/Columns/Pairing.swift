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
        _ new: UnsafeBufferPointer<Record>, in newText: TextView, table: @autoclosure () -> IDTable
    ) {
        oldOfNew = [Int32](filled: -1, count: new.count)
        newOfOld = [Int32](filled: -1, count: old.count)
        var walk = PairingWalk(old: old, oldText: oldText, new: new, newText: newText)
        oldOfNew.withUnsafeMutableBufferPointer { oldOfNew in
            newOfOld.withUnsafeMutableBufferPointer { newOfOld in
                walk.trimEnds(oldOfNew, newOfOld)
                walk.walk(oldOfNew, newOfOld)
                walk.lookUp(oldOfNew, newOfOld, in: table())
            }
        }
    }

    private init(newOfOld: [Int32], oldOfNew: [Int32]) { (self.newOfOld, self.oldOfNew) = (newOfOld, oldOfNew) }

    /// The same pairs, from the new list to the old one.
    var reversed: Pairing { Pairing(newOfOld: oldOfNew, oldOfNew: newOfOld) }
}

/// Two lists, each with a range still to be paired.
private struct PairingWalk<Record: IdentifiedRecord> {
    typealias Partners = UnsafeMutableBufferPointer<Int32>

    let old: UnsafeBufferPointer<Record>
    let oldText: TextView
    let new: UnsafeBufferPointer<Record>
    let newText: TextView
    var oldRest = 0..<0
    var newRest = 0..<0
    /// Records in `oldRest`, and in `newRest`, that have no partner yet.
    var oldLeft = 0
    var newLeft = 0

    @inline(__always)
    private func same(_ one: Int, _ other: Int) -> Bool { old[one].hasSameID(as: new[other], oldText, newText) }

    @inline(__always)
    private func pair(_ one: Int, _ other: Int, _ oldOfNew: Partners, _ newOfOld: Partners) {
        oldOfNew[other] = Int32(truncatingIfNeeded: one)
        newOfOld[one] = Int32(truncatingIfNeeded: other)
    }

    /// Pairs what both lists begin and end with.
    mutating func trimEnds(_ oldOfNew: Partners, _ newOfOld: Partners) {
        var start = 0
        let shorter = min(old.count, new.count)
        while start < shorter, same(start, start) {
            pair(start, start, oldOfNew, newOfOld)
            start += 1
        }
        var (oldEnd, newEnd) = (old.count, new.count)
        while oldEnd > start, newEnd > start, same(oldEnd - 1, newEnd - 1) {
            oldEnd -= 1
            newEnd -= 1
            pair(oldEnd, newEnd, oldOfNew, newOfOld)
        }
        oldRest = start..<oldEnd
        newRest = start..<newEnd
        oldLeft = oldRest.count
        newLeft = newRest.count
    }

    /// Pairs what lines up between the ends; after 64 misses in a row, the rest is left to the table.
    mutating func walk(_ oldOfNew: Partners, _ newOfOld: Partners) {
        var (one, other) = (oldRest.lowerBound, newRest.lowerBound)
        var misses = 0
        while one < oldRest.upperBound, other < newRest.upperBound, misses < 64 {
            if same(one, other) {
                pair(one, other, oldOfNew, newOfOld)
                oldLeft -= 1
                newLeft -= 1
                one += 1
                other += 1
                misses = 0
                continue
            }
            misses += 1
            let (skipOld, skipNew) = skip(one, other)
            one += skipOld
            other += skipNew
        }
    }

    /// How far to skip on one side to meet the other; one record on both sides if no pair is within four records.
    private func skip(_ one: Int, _ other: Int) -> (Int, Int) {
        let hash = (old[one].hash, new[other].hash)
        for distance in 1...4 {
            if one + distance < oldRest.upperBound, old[one + distance].hash == hash.1, same(one + distance, other) {
                return (distance, 0)
            }
            if other + distance < newRest.upperBound, new[other + distance].hash == hash.0, same(one, other + distance)
            {
                return (0, distance)
            }
        }
        return (1, 1)
    }

    /// Looks up what the walk left.
    func lookUp(_ oldOfNew: Partners, _ newOfOld: Partners, in table: IDTable) {
        guard oldLeft > 0, newLeft > 0 else { return }
        for one in oldRest where newOfOld[one] < 0 {
            let found = table.first(old[one].hash) { same(one, $0) }
            if let found { pair(one, found, oldOfNew, newOfOld) }
        }
    }
}
