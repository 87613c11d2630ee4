// A state refers to the text that it was read from. One that was made of another, by edits or by what leads back to the
// past, refers to the text of that one and to what is its own: nothing is copied, and no place changes. So a text is
// one or more stretches behind one another, in one space of 32-bit places; each ends with padding.
//
// Stretches are joined like the digits of a binary counter, each byte a few times at most, until they are a megabyte:
// to join longer ones would take as much memory again for as long as it lasts. What nobody refers to any more stays,
// until it is more than the rest; whoever makes the next state then leaves it out.

/// The text that the records of a state point into.
struct StateText: Sendable {
    /// The first stretch: a document, most often all there is.
    let bytes: [UInt8]
    /// What came behind; most often nothing.
    private var rest: LaterText?
    /// Bytes that no record of the newest state points to, as far as that is known.
    private(set) var dead = 0

    /// A document with its padding.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Bytes in all, padding included: where the next stretch starts.
    var count: Int { rest?.end ?? bytes.count }

    /// Memory held, in bytes.
    var footprint: Int { bytes.capacity + (rest?.footprint ?? 0) }

    /// Whether a state that follows should copy what it needs rather than refer to all of this.
    var isMostlyDead: Bool { dead > count / 2 + 4096 }

    /// The same with more behind it.
    ///
    /// - Parameters:
    ///   - bytes: ends with padding. They stand from `count` on.
    ///   - dead: bytes of all that the new state does not point to.
    func appending(_ bytes: UnsafeRawBufferPointer, dead: Int) -> StateText {
        var text = self
        text.dead = min(text.dead + dead, count + bytes.count)
        if bytes.count > 0 { text.rest = LaterText(rest, TextStretch(bytes, from: count)) }
        return text
    }

    /// Calls `body` with the text as memory, which is valid for that long.
    @inline(__always)
    func withView<Result, Failure: Error>(_ body: (TextView) throws(Failure) -> Result) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(TextView(UnsafeRawPointer(bytes.baseAddress!), count: bytes.count, rest))
        }
    }
}

/// All of a text behind the first stretch.
private final class LaterText: Sendable {
    /// In ascending order.
    private let stretches: [TextStretch]
    let end: Int

    /// Stretches that make more than this together are not joined.
    private static let mostJoined = 1 << 20

    init(_ others: LaterText?, _ next: TextStretch) {
        var stretches = (others?.stretches ?? []) + [next]
        while stretches.count > 1, stretches[stretches.count - 2].count <= 2 * stretches[stretches.count - 1].count,
            stretches[stretches.count - 2].count + stretches[stretches.count - 1].count <= Self.mostJoined
        {
            let last = stretches.removeLast()
            stretches.append(TextStretch(stretches.removeLast(), last))
        }
        (self.stretches, end) = (stretches, next.end)
    }

    var footprint: Int { stretches.reduce(0) { $0 + $1.count + 64 } }

    /// Where the text at a place stands in memory.
    @inline(never)
    func memory(at place: UInt32) -> UnsafeRawPointer {
        var (low, high) = (0, stretches.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if stretches[middle].start <= Int(place) { low = middle } else { high = middle - 1 }
        }
        return stretches[low].memory + (Int(place) - stretches[low].start)
    }
}

/// Some of a text, in memory of its own.
private final class TextStretch: Sendable {
    let start: Int
    let count: Int
    nonisolated(unsafe) let memory: UnsafeRawPointer  // Never written again.

    var end: Int { start + count }

    init(_ bytes: UnsafeRawBufferPointer, from start: Int) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        memory.copyMemory(from: bytes)
        (self.start, count, self.memory) = (start, bytes.count, UnsafeRawPointer(memory.baseAddress!))
    }

    /// Two that stand behind one another.
    init(_ one: TextStretch, _ other: TextStretch) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: one.count + other.count, alignment: 8)
        memory.copyMemory(from: one.memory, byteCount: one.count)
        (memory + one.count).copyMemory(from: other.memory, byteCount: other.count)
        (start, count, self.memory) = (one.start, one.count + other.count, UnsafeRawPointer(memory))
    }

    deinit { memory.deallocate() }
}

/// A text as memory, for as long as a closure runs.
struct TextView {
    /// The first stretch.
    let first: UnsafeRawPointer
    private let firstEnd: UInt32
    private unowned(unsafe) let rest: LaterText?

    fileprivate init(_ first: UnsafeRawPointer, count: Int, _ rest: LaterText?) {
        (self.first, firstEnd, self.rest) = (first, UInt32(truncatingIfNeeded: count), rest)
    }

    /// One stretch.
    init(_ first: UnsafeRawPointer) { (self.first, firstEnd, rest) = (first, .max, nil) }

    /// Where the text at a place stands.
    @inline(__always)
    func at(_ place: UInt32) -> UnsafeRawPointer {
        place < firstEnd ? first + Int(place) : rest.unsafelyUnwrapped.memory(at: place)
    }

    @inline(__always)
    func bytes(at place: UInt32, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: at(place), count: count)
    }
}
