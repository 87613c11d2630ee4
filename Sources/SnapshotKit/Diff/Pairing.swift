// Which record of the old list has the same id as which of the new one?
//
// Consecutive versions of a list line up almost everywhere, so both are walked in step; where they part, a window of a
// few records on either side finds where they meet again. Ids are unique on either side, so any two records with the
// same id are a pair: the walk can only save look-ups, never mislead. The rest is looked up in the table that the new
// list has had since it was checked for duplicates. O(n + m) expected; nothing is hashed here.

/// Partners by index; -1 for none.
package struct Pairing {
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

    /// - Parameter runs: records that are known to be pairs.
    init<Record: IdentifiedRecord>(
        _ old: UnsafeBufferPointer<Record>, in oldText: TextView,
        _ new: UnsafeBufferPointer<Record>, in newText: TextView, table: @autoclosure () -> IDTable,
        reused runs: [ReusedRun] = []
    ) {
        oldOfNew = [Int32](filled: -1, count: new.count)
        newOfOld = [Int32](filled: -1, count: old.count)
        var walk = PairingWalk(old: old, oldText: oldText, new: new, newText: newText)
        oldOfNew.withUnsafeMutableBufferPointer { oldOfNew in
            newOfOld.withUnsafeMutableBufferPointer { newOfOld in
                for run in runs {
                    for index in 0..<run.count {
                        oldOfNew[run.new + index] = Int32(truncatingIfNeeded: run.old + index)
                        newOfOld[run.old + index] = Int32(truncatingIfNeeded: run.new + index)
                    }
                }
                walk.trimEnds(oldOfNew, newOfOld, known: (runs.start, runs.end(old.count, new.count)))
                // If most are known, there is little to look up, and nothing to gain from a walk past them.
                if runs.reduce(0, { $0 + $1.count }) * 2 < new.count { walk.walk(oldOfNew, newOfOld) }
                walk.lookUp(oldOfNew, newOfOld, in: table())
            }
        }
    }
}

/// Two lists, each with a range that is still to be paired.
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

    /// Whether two are a pair, which may be known already.
    @inline(__always)
    private func arePair(_ one: Int, _ other: Int, _ oldOfNew: Partners) -> Bool {
        oldOfNew[other] < 0 ? same(one, other) : Int(oldOfNew[other]) == one
    }

    @inline(__always)
    private func pair(_ one: Int, _ other: Int, _ oldOfNew: Partners, _ newOfOld: Partners) {
        oldOfNew[other] = Int32(truncatingIfNeeded: one)
        newOfOld[one] = Int32(truncatingIfNeeded: other)
    }

    /// Pairs what both lists begin and end with, of which the numbers `known` are paired already.
    mutating func trimEnds(_ oldOfNew: Partners, _ newOfOld: Partners, known: (start: Int, end: Int)) {
        var start = known.start
        let shorter = min(old.count, new.count)
        while start < shorter, arePair(start, start, oldOfNew) {
            pair(start, start, oldOfNew, newOfOld)
            start += 1
        }
        let end = min(known.end, shorter - start)
        var (oldEnd, newEnd) = (old.count - end, new.count - end)
        while oldEnd > start, newEnd > start, arePair(oldEnd - 1, newEnd - 1, oldOfNew) {
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
            if arePair(one, other, oldOfNew) {
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

    /// How far to skip on one side to meet the other; one record on both if no pair is within four records.
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
