/// A growing buffer of JSON bytes. Amortised O(1) per byte, no allocation per call.
///
/// The storage is as long as its capacity, whatever the bytes behind those written are, so that an append is a check
/// and a copy, never a call per byte.
public struct JSONWriter: Sendable {
    private var storage: [UInt8]
    /// Bytes written so far.
    public private(set) var count = 0

    /// A writer with room for `capacity` bytes before it grows.
    public init(capacity: Int = 256) {
        storage = []
        if capacity > 0 { extend(to: capacity) }
    }

    /// The bytes written; consumes the writer. A long result has little spare room, since it may be kept.
    public consuming func bytes() -> [UInt8] {
        if storage.count > 1 << 16, count < storage.count / 2 { return Array(written) }
        storage.removeLast(storage.count - count)
        return storage
    }

    var room: Int { storage.count - count }

    @inline(__always)
    private mutating func reserve(_ more: Int) { if room < more { grow(more) } }

    @inline(never)
    private mutating func grow(_ more: Int) { extend(to: max(storage.count * 2, count + more, 64)) }

    private mutating func extend(to size: Int) {
        // A short storage is filled with zeros by one copy: one that is not initialized costs 1,000 instructions more.
        guard size > Self.zeros.count else {
            return Self.zeros.withUnsafeBufferPointer { zeros in
                let more = zeros[..<(size - storage.count)]
                if storage.isEmpty { storage = Array(more) } else { storage += more }
            }
        }
        storage = [UInt8](unsafeUninitializedCapacity: size) { room, length in
            if count > 0 {
                storage.withUnsafeBytes {
                    room.baseAddress!.update(from: $0.bindMemory(to: UInt8.self).baseAddress!, count: count)
                }
            }
            length = size
        }
    }

    private static let zeros = [UInt8](repeating: 0, count: 4096)

    /// Appends a range of bytes.
    @inline(__always)
    public mutating func append(_ start: UnsafeRawPointer, _ length: Int) {
        reserve(length)
        storage.withUnsafeMutableBytes { ($0.baseAddress! + count).copyMemory(from: start, byteCount: length) }
        count += length
    }

    /// Appends a literal of the grammar, such as `{"op":`.
    @inline(__always)
    public mutating func append(_ text: StaticString) { append(text.utf8Start, text.utf8CodeUnitCount) }

    /// Appends one byte.
    @inline(__always)
    public mutating func append(byte: UInt8) {
        reserve(1)
        storage[count] = byte
        count += 1
    }

    /// Overwrites the first byte, for a binary text whose start depends on what follows.
    mutating func replaceFirst(by byte: UInt8) { storage[0] = byte }

    /// Appends bytes unchanged.
    public mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    @inline(__always)
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if let start = bytes.baseAddress { append(start, bytes.count) }
    }

    /// Appends text unchanged, without quotes or escapes.
    public mutating func append(verbatim text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends a whole number.
    public mutating func append(_ number: Int) {
        var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
        withUnsafeMutableBytes(of: &digits) { room in
            var at = room.count
            var rest = number.magnitude
            repeat {
                at -= 1
                room[at] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                at -= 1
                room[at] = UInt8(ascii: "-")
            }
            append(UnsafeRawPointer(room.baseAddress! + at), room.count - at)
        }
    }

    /// Appends the last 1...16 hexadecimal digits of a value, in lower case.
    public mutating func append(hex value: UInt64, digits: Int = 16) {
        var words = (
            hexDigits(UInt32(truncatingIfNeeded: value >> 32)).littleEndian,
            hexDigits(UInt32(truncatingIfNeeded: value)).littleEndian
        )
        withUnsafeBytes(of: &words) { append($0.baseAddress! + (16 - digits), digits) }
    }

    /// Appends a literal, a number and another literal. Not named `append`, which takes a pointer and a length.
    @inline(__always)
    package mutating func emit(_ before: StaticString, _ number: Int, _ after: StaticString = "") {
        append(before)
        append(number)
        if after.utf8CodeUnitCount > 0 { append(after) }
    }

    @inline(__always)
    mutating func emit(_ before: StaticString, _ value: UnsafeRawBufferPointer, _ after: StaticString = "") {
        append(before)
        append(value)
        if after.utf8CodeUnitCount > 0 { append(after) }
    }

    /// Appends text as a JSON string, quoted and escaped.
    public mutating func append(string text: String) {
        var text = text
        text.withUTF8 { text in
            let isPlain = text.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            guard isPlain else { return append(string: UnsafeRawBufferPointer(text)) }
            append(byte: UInt8(ascii: "\""))
            append(UnsafeRawBufferPointer(text))
            append(byte: UInt8(ascii: "\""))
        }
    }

    package mutating func append(string text: some Sequence<UInt8>) {
        append(byte: UInt8(ascii: "\""))
        for byte in text { append(escaped: byte) }
        append(byte: UInt8(ascii: "\""))
    }

    /// Appends a byte of text inside a JSON string.
    @inline(__always)
    package mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0..<0x20:
            append("\\u00")
            append(hex: UInt64(byte), digits: 2)
        default: append(byte: byte)
        }
    }

    /// Appends an array whose elements `write` appends.
    @inline(__always)
    package mutating func append<Elements: Sequence, Failure: Error>(
        array elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws(Failure) -> Void
    ) throws(Failure) {
        append(byte: UInt8(ascii: "["))
        for element in elements {
            separate()
            try write(&self, element)
        }
        append(byte: UInt8(ascii: "]"))
    }

    /// Appends a member's name unchanged, and a colon.
    package mutating func append(name: JSONString) {
        append(name.start - 1, name.count + 2)
        append(byte: UInt8(ascii: ":"))
    }

    package mutating func append(_ other: JSONWriter, from start: Int) {
        other.storage.withUnsafeBytes { append($0.baseAddress! + start, other.count - start) }
    }

    var written: ArraySlice<UInt8> { storage[..<count] }

    /// Whether the next element or member is not the first in its array or object.
    @inline(__always)
    var needsComma: Bool { storage[count - 1] | 0x20 != UInt8(ascii: "{") }

    /// Appends the comma between two elements or members. Called before each of them, also before the first.
    @inline(__always)
    package mutating func separate() { if needsComma { append(byte: UInt8(ascii: ",")) } }

    package mutating func truncate(to length: Int) { count = length }
}
