// Classes of elements that are alike: numbers found by hashes, so that no element is compared with another.

/// The values of a list as classes: equal ones have one number, the index of the first of them.
struct ElementClasses {
    private let hashes: [UInt64]
    private let buckets: [UInt32]
    /// The class of each element; -1 for one that is like nothing.
    let numbers: [Int32]
    /// The only element of each class; -1 if there are several.
    let only: [Int32]

    /// O(elements). A hash of zero is like nothing.
    init(_ hashes: [UInt64]) {
        let count = hashes.count
        var buckets = [UInt32](filled: 0, count: 1 << (Int.bitWidth - (2 * count | 15).leadingZeroBitCount))
        var (numbers, only) = ([Int32](filled: -1, count: count), [Int32](filled: -1, count: count))
        let mask = buckets.count - 1
        buckets.withUnsafeMutableBufferPointer { buckets in
            numbers.withUnsafeMutableBufferPointer { numbers in
                only.withUnsafeMutableBufferPointer { only in
                    hashes.withUnsafeBufferPointer { hashes in
                        for element in 0..<count where hashes[element] != 0 {
                            var bucket = Int(truncatingIfNeeded: hashes[element] >> 32) & mask
                            while buckets[bucket] != 0, hashes[Int(buckets[bucket]) - 1] != hashes[element] {
                                bucket = (bucket + 1) & mask
                            }
                            if buckets[bucket] == 0 {
                                buckets[bucket] = UInt32(truncatingIfNeeded: element + 1)
                                only[element] = Int32(truncatingIfNeeded: element)
                            } else {
                                only[Int(buckets[bucket]) - 1] = -1
                            }
                            numbers[element] = Int32(truncatingIfNeeded: buckets[bucket]) - 1
                        }
                    }
                }
            }
        }
        (self.hashes, self.buckets, self.numbers, self.only) = (hashes, buckets, numbers, only)
    }

    var count: Int { hashes.count }

    /// The class of a value of another list; -1 if no element is like it.
    @inline(__always)
    func number(of hash: UInt64) -> Int32 {
        if hash == 0 { return -1 }
        var bucket = Int(truncatingIfNeeded: hash >> 32) & (buckets.count - 1)
        while buckets[bucket] != 0, hashes[Int(buckets[bucket]) - 1] != hash {
            bucket = (bucket + 1) & (buckets.count - 1)
        }
        return Int32(truncatingIfNeeded: buckets[bucket]) - 1
    }
}

/// The sections that two lists have in common.
struct SharedHeaders {
    /// For each, in the list's order: the number of elements before it.
    var old: [Int] = []
    var new: [Int] = []
    /// For each of the new list, which one of the old list it is.
    var partners: [Int] = []

    /// Whether both lists begin with one and the same header, or none.
    fileprivate var beginAlike: Bool { partners.isEmpty || partners.count == 1 && old[0] == 0 && new[0] == 0 }
}

// Most elements stand in long runs of equal ones, and need not go through the rounds one by one. Once one of a run is
// there once in each list, it is a pair in the first step, and all that follow it in the run are pairs in the second:
// each stands next behind a pair, and no other pair can take it, since what is next behind that one is another element.
// So they are one position, a block. Counting loses nothing: what is there once in the old list, and not in a block,
// has no equal in any block of the new one either, as long as no old element is in two runs.

extension ElementClasses {
    /// The parts of runs that are pairs whatever else there is; the classes of all other elements are noted.
    ///
    /// - Parameter numbers: the classes of the new list's elements outside of the runs.
    func certain(_ runs: [SharedRuns.Run], _ headers: SharedHeaders, _ numbers: inout [Int32]) -> [SharedRuns.Run] {
        var isRepeated = [Bool](filled: false, count: count)
        for number in numbers where number >= 0 { isRepeated[Int(number)] = true }
        let areApart = runs.sorted { $0.old < $1.old }.areDisjoint
        var blocks: [SharedRuns.Run] = []
        for run in runs {
            var start = 0
            while start < run.count {
                let end = min(
                    run.count, headers.old.next(behind: run.old + start) - run.old,
                    headers.new.next(behind: run.new + start) - run.new)
                while start < end {
                    let (old, new) = (run.old + start, run.new + start)
                    let number = Int(self.numbers[old])
                    let isOnly = number >= 0 && only[number] >= 0 && !isRepeated[number]
                    if areApart, isOnly || old == 0 && new == 0 && headers.beginAlike {
                        blocks.append(SharedRuns.Run(old: old, new: new, count: end - start))
                        start = end
                    } else {
                        numbers[new] = self.numbers[old]
                        start += 1
                    }
                }
            }
        }
        return blocks
    }
}

extension [Int] {
    fileprivate func next(behind number: Int) -> Int {
        let index = indices.partitionPoint { self[$0] <= number }
        return index < count ? self[index] : .max
    }
}
