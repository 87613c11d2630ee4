/// Remembers a stretch of two buffers that was found equal, at a fixed distance between them.
///
/// Rows that line up have contents that line up, with the same bytes in between: a stretch is compared once, in large
/// pieces, instead of row by row.
struct EqualRun {
    private let old: UnsafeRawPointer
    private let new: UnsafeRawPointer
    private let oldCount: Int
    private let newCount: Int
    /// Offset in the new buffer less offset in the old one.
    private var shift = Int.min
    /// What is known to be equal, as offsets in the old buffer.
    private var known = 0..<0
    /// How far to look beyond a row that is asked for.
    private var reach = shortReach

    private static let shortReach = 256
    private static let longReach = 8192
    /// Bytes between a row and the next that may be compared unasked.
    private static let gap = 64

    /// Two buffers of `oldCount` and `newCount` bytes.
    init(_ old: UnsafeRawPointer, count oldCount: Int, _ new: UnsafeRawPointer, count newCount: Int) {
        (self.old, self.oldCount, self.new, self.newCount) = (old, oldCount, new, newCount)
    }

    /// Whether `count` bytes from `oldStart` are those from `newStart`.
    @inline(__always)
    mutating func isEqual(_ oldStart: Int, _ newStart: Int, _ count: Int) -> Bool {
        if newStart &- oldStart == shift, oldStart >= known.lowerBound {
            if oldStart &+ count <= known.upperBound { return true }
            if oldStart <= known.upperBound &+ Self.gap, lookAhead(to: oldStart &+ count) { return true }
        }
        // Another distance, or a difference within reach: this row alone, in line, since spaced lists come here with
        // each row.
        shift = newStart &- oldStart
        reach = Self.shortReach
        let isEqual = compareBytes(old + oldStart, new + newStart, count) == 0
        known = oldStart..<(isEqual ? oldStart &+ count : oldStart)
        return isEqual
    }

    /// Tries to extend what is known to `target` and as far beyond as has paid so far.
    @inline(never)
    private mutating func lookAhead(to target: Int) -> Bool {
        let end = min(target + reach, oldCount, newCount - shift)
        let from = known.upperBound
        guard end >= target, compareBytes(old + from, new + from + shift, end - from) == 0 else { return false }
        known = known.lowerBound..<end
        reach = min(reach * 2, Self.longReach)
        return true
    }
}
