/// Remembers a stretch of two buffers that was found equal, at a fixed distance between them.
///
/// Rows that line up have contents that line up, with the same bytes in between: a stretch is compared once, in large pieces,
/// instead of row by row.
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
    private var reach = 256

    /// Two buffers of `oldCount` and `newCount` bytes.
    init(_ old: UnsafeRawPointer, count oldCount: Int, _ new: UnsafeRawPointer, count newCount: Int) {
        (self.old, self.oldCount, self.new, self.newCount) = (old, oldCount, new, newCount)
    }

    /// Whether `count` bytes from `oldStart` are those from `newStart`.
    @inline(__always)
    mutating func isEqual(_ oldStart: Int, _ newStart: Int, _ count: Int) -> Bool {
        if newStart &- oldStart == shift, oldStart >= known.lowerBound, oldStart + count <= known.upperBound { return true }
        return extend(oldStart, newStart, count)
    }

    @inline(never)
    private mutating func extend(_ oldStart: Int, _ newStart: Int, _ count: Int) -> Bool {
        let joins = newStart - oldStart == shift && known.contains(oldStart)
        shift = newStart - oldStart
        if !joins { known = oldStart..<oldStart }
        let room = min(oldCount - known.upperBound, newCount - shift - known.upperBound)
        let ahead = min(oldStart + count - known.upperBound + reach, room)
        if compareAhead(ahead) {
            reach = min(reach * 2, 8192)
            return true
        }
        reach = 256
        guard compareBytes(old + oldStart, new + newStart, count) == 0 else {
            known = oldStart..<oldStart
            return false
        }
        known = min(known.lowerBound, oldStart)..<oldStart + count
        if !joins { known = oldStart..<oldStart + count }
        return true
    }

    private mutating func compareAhead(_ count: Int) -> Bool {
        guard compareBytes(old + known.upperBound, new + known.upperBound + shift, count) == 0 else { return false }
        known = known.lowerBound..<known.upperBound + count
        return true
    }
}
