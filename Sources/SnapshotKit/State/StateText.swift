// A state refers to the text that it was read from. One made from another, by edits or by a delta, refers to the text
// of that state and to text of its own: nothing is copied, and no offset changes. So a text is one or more consecutive
// stretches, in one space of 32-bit offsets; each ends with padding.
//
// Stretches are joined like the digits of a binary counter, so each byte is copied a few times at most, until they
// reach a megabyte: joining longer ones would temporarily double their memory. Text that nothing refers to any more
// stays until it exceeds the rest; the next state then leaves it out.

/// The text that the records of a state point into.
struct StateText: Sendable {
    /// The first stretch: a document, most often all there is.
    let bytes: [UInt8]
    /// What was appended; usually nothing.
    private var rest: LaterText?
    /// Bytes known to be referred to by no record of the newest state.
    private(set) var dead = 0

    /// A document with its padding.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Bytes in all, padding included: where the next stretch starts.
    var count: Int { rest?.end ?? bytes.count }

    /// Memory held, in bytes.
    var footprint: Int { bytes.capacity + (rest?.footprint ?? 0) }

    /// The part of that which another text holds as well: the first stretch, for a past state made of this one.
    func footprint(sharedWith other: StateText) -> Int {
        let isShared = bytes.withUnsafeBufferPointer { bytes in
            other.bytes.withUnsafeBufferPointer { $0.baseAddress == bytes.baseAddress }
        }
        return isShared ? bytes.capacity : 0
    }

    /// Whether the next state should copy what it needs rather than refer to all of this.
    var isMostlyDead: Bool { dead > count / 2 + 4096 }

    /// The text with more appended.
    ///
    /// - Parameters:
    ///   - bytes: appended at `count`; end with padding.
    ///   - dead: further bytes that the new state does not refer to.
    func appending(_ bytes: UnsafeRawBufferPointer, dead: Int) -> StateText {
        var text = self
        text.dead = min(text.dead + dead, count + bytes.count)
        if bytes.count > 0 { text.rest = LaterText(rest, TextStretch(bytes, from: count)) }
        return text
    }

    /// Calls `body` with the text as memory, which is valid until it returns.
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

    /// Stretches of more bytes than this in all are not joined.
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

    /// The memory at an offset.
    @inline(never)
    func memory(at place: UInt32) -> UnsafeRawPointer {
        let stretch = stretches[stretches.indices.border { stretches[$0].start <= Int(place) } - 1]
        return stretch.memory + (Int(place) - stretch.start)
    }
}

/// Part of a text, in memory of its own.
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

    /// Joins two consecutive stretches.
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

    /// A text of one stretch.
    init(_ first: UnsafeRawPointer) { (self.first, firstEnd, rest) = (first, .max, nil) }

    /// The memory at an offset.
    @inline(__always)
    func at(_ place: UInt32) -> UnsafeRawPointer {
        place < firstEnd ? first + Int(place) : rest.unsafelyUnwrapped.memory(at: place)
    }

    @inline(__always)
    func bytes(at place: UInt32, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: at(place), count: count)
    }
}
