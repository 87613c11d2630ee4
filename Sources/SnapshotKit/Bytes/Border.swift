extension Range<Int> {
    /// The first index that is not before a border, where those before it stand before all others; the end if all are.
    /// O(log count).
    @inline(__always)
    package func border(_ isBefore: (Int) -> Bool) -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low &+ high) >> 1
            if isBefore(middle) { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}
