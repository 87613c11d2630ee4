// Ids, contents and kinds that a state needs but no document contains as such: the text of ids written with escapes,
// contents that are an element without one member, and everything in a state that is put together from others.
//
// An escaped id is stored as  token · length of the token (2 bytes) · text : its record points at the text, and the
// token is found just before it.

/// Consecutive tokens, in a buffer of their own or at the end of a document's.
struct TokenBuffer {
    /// Offset of the first byte in the final buffer.
    private let base: Int
    private var writer: JSONWriter

    /// A buffer with room for `capacity` bytes before it grows.
    init(base: Int = 0, capacity: Int = 0) { (self.base, writer) = (base, JSONWriter(capacity: capacity)) }

    /// Bytes so far.
    var count: Int { writer.count }

    /// Where the next byte will stand.
    var end: Int { base + writer.count }

    /// What was appended.
    var bytes: ArraySlice<UInt8> { writer.written }

    /// Appends an id as it was written; returns where its text starts.
    @inline(__always)
    mutating func append(_ id: IDText) -> Int {
        let token = id.token
        if id.flags.contains(.escapedID) { return append(escapedID: token, text: id.text) }
        writer.append(token)
        return base + writer.count - id.count - (id.flags.contains(.integerID) ? 0 : 1)
    }

    /// Appends an id that was written with escapes; returns where its text starts.
    mutating func append(escapedID token: UnsafeRawBufferPointer, text: UnsafeRawBufferPointer) -> Int {
        writer.append(token)
        writer.append(byte: UInt8(truncatingIfNeeded: token.count))
        writer.append(byte: UInt8(truncatingIfNeeded: token.count >> 8))
        return append(text)
    }

    /// The token of an escaped id whose text starts at `text`.
    static func token(before text: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        let low = Int(text.load(fromByteOffset: -2, as: UInt8.self))
        let count = low | Int(text.load(fromByteOffset: -1, as: UInt8.self)) << 8
        return UnsafeRawBufferPointer(start: text - 2 - count, count: count)
    }

    /// The hash of an id's text that was appended.
    func idHash(at start: Int, _ count: Int) -> UInt32 {
        bytes[start - base..<start - base + count].withUnsafeBytes { SnapshotKit.idHash($0.baseAddress!, $0.count) }
    }

    /// Appends a JSON value; returns where it starts. The comma behind it ends a number for a cursor.
    @inline(__always)
    mutating func append(value: UnsafeRawBufferPointer) -> Int {
        defer { endValue() }
        return append(value)
    }

    /// Ends a JSON value that was appended in parts.
    @inline(__always)
    mutating func endValue() { writer.append(byte: UInt8(ascii: ",")) }

    /// Appends the JSON value that `body` writes; nil if it returns that it wrote none.
    mutating func append(writing body: (inout JSONWriter) -> Bool) -> Range<Int>? {
        let start = writer.count
        guard body(&writer) else {
            writer.truncate(to: start)
            return nil
        }
        defer { endValue() }
        return base + start..<base + writer.count
    }

    /// Appends a string without escapes, in quotes; returns where its text starts.
    mutating func append(string text: UnsafeRawBufferPointer) -> Int {
        writer.append(byte: UInt8(ascii: "\""))
        let start = append(text)
        writer.append(byte: UInt8(ascii: "\""))
        return start
    }

    /// Bytes that were appended.
    func bytes(at start: Int, _ count: Int) -> [UInt8] { Array(bytes[start - base..<start - base + count]) }

    /// Appends bytes unchanged; returns where they start.
    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        defer { writer.append(bytes) }
        return base + writer.count
    }

    /// Appends the padding of a text that is complete.
    mutating func pad() { for _ in 0..<JSONScanner.padding { writer.append(byte: 0) } }

    /// The bytes and their padding, without room to spare.
    consuming func padded() -> [UInt8] {
        let count = writer.count
        return Array(unsafeUninitializedCapacity: count + JSONScanner.padding) { room, used in
            _ = room.initialize(from: writer.written)
            room[count...].initialize(repeating: 0)
            used = count + JSONScanner.padding
        }
    }
}
