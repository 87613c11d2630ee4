extension Range<Int> {
    /// Binary search: the first index for which `isBefore` is false, as it is from there on. O(log count).
    @inline(__always)
    package func partitionPoint(_ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low &+ high) >> 1
            if isBefore(middle) { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}
