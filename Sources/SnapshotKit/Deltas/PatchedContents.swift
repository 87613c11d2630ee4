// A delta says of a content that has changed how much of its start and its end are the old one's. Over many deltas the
// same long content may change a little each time. So what such a content is made of is only noted, and the bytes are
// written once, for the contents that are left at the end. Copying them for each delta took 2 GB for a list of 12 MB of
// which 60 revisions were undone.

/// Contents that are put together from older ones.
///
/// Records refer to them by addresses from the upper end of the space of texts: the first is at `UInt32.max`.
struct PatchedContents {
    private struct Patch {
        /// Where the older content stands, or its address here.
        let old: UInt32
        let oldCount: UInt32
        /// How many of its first and last bytes are taken.
        let start: UInt32
        let end: UInt32
        /// What is new between them.
        let middle: UInt32
        let middleCount: UInt32

        /// The range of the new bytes in the content.
        var news: Range<Int> { Int(start)..<Int(start) + Int(middleCount) }
    }

    /// A stretch of a content: of the one at `place`, so many bytes from its byte `first` on.
    private struct Stretch {
        let place: UInt32
        let first: Int
        let count: Int
    }

    private var patches: [Patch] = []

    /// The lowest address that is in use.
    var lowest: Int { Int(UInt32.max) + 1 - patches.count }

    /// Notes a content, and returns where it stands from now on.
    ///
    /// - Parameters:
    ///   - old: the older content; may be one of these.
    ///   - start: how many of its first bytes are taken.
    ///   - middle: where the new bytes stand.
    ///   - end: how many of its last bytes are taken.
    mutating func append(_ old: Range<Int>, start: Int, _ middle: Range<Int>, end: Int) -> Range<Int> {
        let patch = Patch(
            old: UInt32(truncatingIfNeeded: old.lowerBound), oldCount: UInt32(truncatingIfNeeded: old.count),
            start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
            middle: UInt32(truncatingIfNeeded: middle.lowerBound),
            middleCount: UInt32(truncatingIfNeeded: middle.count))
        patches.append(patch)
        return lowest..<lowest + start + middle.count + end
    }

    /// Whether this is the address of one of these.
    func contains(_ place: UInt32) -> Bool { Int(place) >= lowest }

    /// Hands out the bytes of a content in order. O(bytes + d²) after d changes, at worst.
    ///
    /// - Parameter emit: takes a place in the texts, and a number of bytes from there.
    @inline(__always)
    func write(_ place: UInt32, count: Int, _ emit: (UInt32, Int) -> Void) {
        let patch = patches[Int(UInt32.max - place)]
        guard contains(patch.old) else {
            // Most have changed once, and need no list.
            emit(patch.old, Int(patch.start))
            emit(patch.middle, Int(patch.middleCount))
            return emit(patch.old + patch.oldCount - patch.end, Int(patch.end))
        }
        writeStretches(place, count: count, emit)
    }

    private func writeStretches(_ place: UInt32, count: Int, _ emit: (UInt32, Int) -> Void) {
        var stretches = [Stretch(place: place, first: 0, count: count)]
        while let stretch = stretches.popLast() {
            guard contains(stretch.place) else {
                emit(stretch.place + UInt32(truncatingIfNeeded: stretch.first), stretch.count)
                continue
            }
            let patch = patches[Int(UInt32.max - stretch.place)]
            let wanted = stretch.first..<stretch.first + stretch.count
            let news = wanted.clamped(to: patch.news)
            // Last in, first out.
            if wanted.upperBound > patch.news.upperBound {
                let first = max(wanted.lowerBound, patch.news.upperBound)
                let shift = Int(patch.oldCount) - Int(patch.end) - patch.news.upperBound
                stretches.append(
                    Stretch(place: patch.old, first: first + shift, count: wanted.upperBound - first))
            }
            if !news.isEmpty {
                stretches.append(
                    Stretch(place: patch.middle, first: news.lowerBound - Int(patch.start), count: news.count))
            }
            if wanted.lowerBound < Int(patch.start) {
                let end = min(wanted.upperBound, Int(patch.start))
                stretches.append(
                    Stretch(place: patch.old, first: wanted.lowerBound, count: end - wanted.lowerBound))
            }
        }
    }
}
