// A state refers to the text that it was read from. One made from another, by edits or by a delta, refers to that
// state's text and to text of its own: nothing is copied, and no offset changes. So a text is one or more consecutive
// chunks, in one space of 32-bit offsets; each ends with padding.
//
// Chunks are joined like the digits of a binary counter, so each byte is copied only a few times, until they reach a
// megabyte: joining longer ones would temporarily double their memory. Text that nothing refers to stays until it
// exceeds the rest; the next state then leaves it out.

/// The text that the records of a state point into.
package struct TextRope: Sendable {
    /// The first chunk: a document, most often all there is.
    let bytes: [UInt8]
    /// The text appended later; usually nothing.
    private var rest: RopeTail?
    /// Bytes known to be referred to by no record of the newest state.
    package private(set) var garbageBytes = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Bytes in all, padding included: where the next chunk starts.
    package var count: Int { rest?.end ?? bytes.count }

    var footprint: Int { bytes.capacity + (rest?.footprint ?? 0) }

    /// The part of that which another text holds as well: the first chunk, for a past state made from this one.
    func footprint(sharedWith other: TextRope) -> Int {
        let start = bytes.withUnsafeBufferPointer { $0.baseAddress }
        return other.bytes.withUnsafeBufferPointer { $0.baseAddress } == start ? bytes.capacity : 0
    }

    /// Whether this many more bytes deserve a chunk of their own.
    static func keepsApart(_ count: Int) -> Bool { count > RopeTail.maxJoined }

    /// Whether the next state should copy what it needs rather than refer to all of this.
    var needsCompaction: Bool { garbageBytes > count / 2 + 4096 }

    /// The text with more appended, which ends with padding unless some is added, for a state that does not refer to
    /// `garbageBytes` further bytes.
    func appending(_ bytes: UnsafeRawBufferPointer, padding: Int = 0, garbageBytes: Int) -> TextRope {
        var text = self
        text.garbageBytes = min(text.garbageBytes + garbageBytes, count + bytes.count + padding)
        if bytes.count > 0 { text.rest = RopeTail(rest, bytes, padding: padding, from: count) }
        return text
    }

    /// Bytes from which a value is no longer copied into a text, but becomes a chunk of its own.
    static let longValue = 1 << 16

    /// The text with a value as the next chunk. O(chunks).
    func appending(_ value: [UInt8]) -> TextRope {
        var text = self
        text.rest = RopeTail(rest, TextChunk(value, from: count))
        return text
    }

    var hasChunks: Bool { rest != nil }

    /// The chunk that starts at an offset behind the first one.
    func chunk(at offset: UInt32) -> [UInt8]? {
        let chunk = offset < bytes.count ? nil : rest?.chunk(at: offset)
        return chunk?.start == Int(offset) ? chunk?.bytes : nil
    }

    /// The text with tokens and their padding appended.
    package func appending(_ tokens: TokenBuffer, garbageBytes: Int = 0) -> TextRope {
        tokens.bytes.withUnsafeBytes { appending($0, padding: JSONScanner.padding, garbageBytes: garbageBytes) }
    }

    @inline(__always)
    package func withView<Result, Failure: Error>(_ body: (TextView) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(TextView(UnsafeRawPointer(bytes.baseAddress!), count: bytes.count, rest))
        }
    }
}

/// The text after the first chunk.
private final class RopeTail: Sendable {
    private let chunks: [TextChunk]
    let end: Int

    /// Chunks of more bytes than this in all are not joined.
    fileprivate static let maxJoined = 1 << 20

    init(_ others: RopeTail?, _ bytes: UnsafeRawBufferPointer, padding: Int, from start: Int) {
        var chunks = others?.chunks ?? []
        var (first, count) = (chunks.count, bytes.count + padding)
        while first > 0, chunks[first - 1].count <= 2 * count, chunks[first - 1].count + count <= Self.maxJoined {
            first -= 1
            count += chunks[first].count
        }
        end = start + bytes.count + padding
        let last = TextChunk(chunks[first...], bytes, from: end - count, count)
        chunks.replaceSubrange(first..., with: CollectionOfOne(last))
        self.chunks = chunks
    }

    init(_ others: RopeTail?, _ chunk: TextChunk) {
        (chunks, end) = ((others?.chunks ?? []) + [chunk], chunk.start + chunk.bytes.count)
    }

    var footprint: Int { chunks.reduce(0) { $0 + $1.bytes.capacity + 64 } }

    @inline(never)
    func memory(at offset: UInt32) -> UnsafeRawPointer {
        let chunk = chunk(at: offset)
        return chunk.memory + (Int(offset) - chunk.start)
    }

    @inline(__always)
    func chunk(at offset: UInt32) -> TextChunk {
        chunks[chunks.indices.partitionPoint { chunks[$0].start <= Int(offset) } - 1]
    }
}

/// Part of a text, in separate memory.
private final class TextChunk: Sendable {
    let start: Int
    let bytes: [UInt8]
    /// Those, which stay where they are, since nobody writes to them again.
    nonisolated(unsafe) let memory: UnsafeRawPointer
    var count: Int { bytes.count }

    init(_ bytes: [UInt8], from start: Int) {
        (self.start, self.bytes) = (start, bytes)
        memory = bytes.withUnsafeBytes { $0.baseAddress! }
    }

    /// Copies consecutive chunks and the bytes behind them, and adds zeros.
    convenience init(_ others: ArraySlice<TextChunk>, _ bytes: UnsafeRawBufferPointer, from start: Int, _ count: Int) {
        var writer = JSONWriter(capacity: count)
        for chunk in others { writer.append(chunk.memory, chunk.count) }
        writer.append(bytes)
        while writer.count < count { writer.append(byte: 0) }
        self.init(writer.bytes(), from: start)
    }
}

/// A text as memory, for as long as a closure runs.
package struct TextView {
    let first: UnsafeRawPointer
    private let firstEnd: UInt32
    private unowned(unsafe) let rest: RopeTail?

    fileprivate init(_ first: UnsafeRawPointer, count: Int, _ rest: RopeTail?) {
        (self.first, firstEnd, self.rest) = (first, UInt32(truncatingIfNeeded: count), rest)
    }

    @inline(__always)
    package func bytes(ofID record: some IdentifiedRecord) -> UnsafeRawBufferPointer {
        bytes(at: record.idStart, Int(record.idCount))
    }

    /// A text of one chunk.
    init(_ first: UnsafeRawPointer) { (self.first, firstEnd, rest) = (first, .max, nil) }

    @inline(__always)
    package func at(_ offset: UInt32) -> UnsafeRawPointer {
        offset < firstEnd ? first + Int(offset) : rest.unsafelyUnwrapped.memory(at: offset)
    }

    @inline(__always)
    package func bytes(at offset: UInt32, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: at(offset), count: count)
    }
}

// MARK: - Tokens
//
// Ids, contents and kinds that a state needs but no document contains as such: the text of ids written with escapes,
// contents that are an element without one member, and everything in a state put together from others.
//
// An escaped id is stored as  token · length of the token (2 bytes) · text : its record points at the text, and the
// token is found just before it.

/// Consecutive tokens, in a buffer of their own or at the end of a document's.
package struct TokenBuffer {
    /// Offset of the first byte in the final buffer.
    let start: Int
    private var writer: JSONWriter

    package init(base: Int = 0, capacity: Int = 0) { (start, writer) = (base, JSONWriter(capacity: capacity)) }

    var count: Int { writer.count }
    /// Offset of the next byte.
    var end: Int { start + writer.count }
    var bytes: ArraySlice<UInt8> { writer.written }

    /// Appends an id as it was written; returns where its text starts.
    @inline(__always)
    mutating func append(_ id: IDText) -> Int {
        let token = id.token
        if id.flags.contains(.escapedID) { return append(escapedID: token, text: id.text) }
        writer.append(token)
        return end - id.count - (id.flags.contains(.integerID) ? 0 : 1)
    }

    /// Appends an id that was written with escapes; returns where its text starts.
    mutating func append(escapedID token: UnsafeRawBufferPointer, text: UnsafeRawBufferPointer) -> Int {
        writer.append(token)
        writer.append(byte: UInt8(truncatingIfNeeded: token.count))
        writer.append(byte: UInt8(truncatingIfNeeded: token.count >> 8))
        return append(text)
    }

    /// Appends an id that no document contains as such; its text has no control characters.
    package mutating func append(idText text: UnsafeRawBufferPointer) -> FoundID {
        if !text.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
            return FoundID(start: append(string: text), count: text.count, flags: [])
        }
        var token = JSONWriter(capacity: text.count + 8)
        token.append(string: text)
        let start = token.bytes().withUnsafeBytes { append(escapedID: $0, text: text) }
        return FoundID(start: start, count: text.count, flags: .escapedID)
    }

    /// The token of an escaped id whose text starts at `text`.
    static func token(before text: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        let count = Int(UInt16(littleEndian: (text - 2).loadUnaligned(as: UInt16.self)))
        return UnsafeRawBufferPointer(start: text - 2 - count, count: count)
    }

    func idHash(at offset: Int, _ count: Int) -> UInt32 {
        bytes[offset - start..<offset - start + count].withUnsafeBytes { SnapshotKit.idHash($0.baseAddress!, $0.count) }
    }

    /// Appends a JSON value; returns where it starts. The comma after it ends a number for a cursor.
    @inline(__always)
    mutating func append(value: UnsafeRawBufferPointer) -> Int {
        defer { endValue() }
        return append(value)
    }

    /// Ends a JSON value that was appended in parts.
    @inline(__always)
    mutating func endValue() { writer.append(byte: UInt8(ascii: ",")) }

    /// Appends the JSON value that `body` writes; nil if it returns false because there is none.
    mutating func append(writing body: (inout JSONWriter) -> Bool) -> Range<Int>? {
        let (length, first) = (writer.count, end)
        guard body(&writer) else {
            writer.truncate(to: length)
            return nil
        }
        defer { endValue() }
        return first..<end
    }

    package mutating func append(idDigits text: UnsafeRawBufferPointer) -> FoundID {
        FoundID(start: append(text), count: text.count, flags: .integerID)
    }

    /// Appends a string without escapes, in quotes; returns where its text starts.
    mutating func append(string text: UnsafeRawBufferPointer) -> Int {
        writer.append(byte: UInt8(ascii: "\""))
        let start = append(text)
        writer.append(byte: UInt8(ascii: "\""))
        return start
    }

    func bytes(at offset: Int, _ count: Int) -> [UInt8] { Array(bytes[offset - start..<offset - start + count]) }

    /// Appends bytes unchanged; returns where they start.
    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        defer { writer.append(bytes) }
        return end
    }

    /// The bytes and their padding, with little spare room.
    consuming func padded() -> [UInt8] {
        let count = writer.count
        if (JSONScanner.padding...JSONScanner.padding + count / 8).contains(writer.room) {
            writer.append(JSONScanner.zeros)
            return writer.bytes()
        }
        return Array(unsafeUninitializedCapacity: count + JSONScanner.padding) { room, used in
            _ = room.initialize(from: writer.written)
            room[count...].initialize(repeating: 0)
            used = count + JSONScanner.padding
        }
    }
}
