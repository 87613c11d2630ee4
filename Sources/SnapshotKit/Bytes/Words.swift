// Eight bytes at a time ("SIMD within a register"). A zero byte in w shows as its top bit in (w - 0x01…) & ~w: exact
// for the lowest such byte, which is the only one asked for. Scalar words rather than SIMD16: strings in lists are
// short, and a wide compare that is not specialised costs a factor of forty.

// The only file of the engine that imports the C library, directly, since the engine imports no module of ours.
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A byte repeated in all eight bytes of a word.
@inline(__always)
func splat(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

/// Top bits where a byte of `word` is zero; the lowest one is exact.
@inline(__always)
func zeroBytes(_ word: UInt64) -> UInt64 { (word &- splat(0x01)) & ~word & splat(0x80) }

/// Top bits where a byte needs a closer look inside a JSON string: a quote, a backslash, a control or a non-ASCII byte.
@inline(__always)
func stringStops(_ word: UInt64) -> UInt64 {
    let quote = zeroBytes(word ^ splat(UInt8(ascii: "\"")))
    let backslash = zeroBytes(word ^ splat(UInt8(ascii: "\\")))
    let control = (word &- splat(0x20)) & ~word & splat(0x80)
    return quote | backslash | control | (word & splat(0x80))
}

/// The bytes at an address, in little-endian order.
@inline(__always)
package func load64(_ pointer: UnsafeRawPointer) -> UInt64 {
    UInt64(littleEndian: pointer.loadUnaligned(as: UInt64.self))
}

@inline(__always)
package func load32(_ pointer: UnsafeRawPointer) -> UInt64 {
    UInt64(UInt32(littleEndian: pointer.loadUnaligned(as: UInt32.self)))
}

/// Whether two runs of bytes are the same; short ones, such as ids, are compared inline.
@inline(__always)
func sameBytes(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Bool {
    if count >= 8, count <= 16 {
        return (load64(one) ^ load64(other)) | (load64(one + count - 8) ^ load64(other + count - 8)) == 0
    }
    if count > 16, count <= 32 {
        var at = 0
        while at + 8 < count {
            if load64(one + at) != load64(other + at) { return false }
            at += 8
        }
        return load64(one + count - 8) == load64(other + count - 8)
    }
    if count > 32 { return compareBytes(one, other, count) == 0 }
    for at in 0..<count
    where one.load(fromByteOffset: at, as: UInt8.self) != other.load(fromByteOffset: at, as: UInt8.self) {
        return false
    }
    return true
}

/// The eight hexadecimal digits of a value, the first in the lowest byte.
@inline(__always)
func hexDigits(_ value: UInt32) -> UInt64 {
    var digits = UInt64(value)
    digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
    digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
    digits = (digits | digits << 4) & splat(0x0F)
    let letters = (digits &+ splat(6)) >> 4 & splat(1)
    return (digits &+ splat(UInt8(ascii: "0")) &+ letters &* 0x27).byteSwapped
}

extension UInt8 {
    @inline(__always)
    package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

    /// Of either case, in ASCII.
    @inline(__always)
    var isLetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }
}

/// `memcmp`: below, at or above zero as the first run sorts before, with or after the second.
@inline(__always)
package func compareBytes(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Int {
    Int(memcmp(one, other, count))
}

/// The address of the first such byte from an address on. There must be one. O(result).
func address(of byte: UInt8, from start: UnsafeRawPointer) -> UnsafeRawPointer {
    UnsafeRawPointer(memchr(start, Int32(byte), 1 << 40)!)
}

/// The address of the first such byte in a run, if there is one. O(result).
func address(of byte: UInt8, in run: Range<UnsafeRawPointer>) -> UnsafeRawPointer? {
    memchr(run.lowerBound, Int32(byte), run.count).map { UnsafeRawPointer($0) }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        count == other.count && (count == 0 || compareBytes(baseAddress!, other.baseAddress!, count) == 0)
    }
}

/// The length of the common prefix of two stretches of `count` bytes. O(result).
package func commonPrefix(_ one: UnsafeRawPointer, _ other: UnsafeRawPointer, _ count: Int) -> Int {
    var at = 0
    // Long prefixes are compared in blocks; the block that differs, by words.
    while at + 256 <= count, compareBytes(one + at, other + at, 256) == 0 { at += 256 }
    while at + 8 <= count {
        let difference = load64(one + at) ^ load64(other + at)
        if difference != 0 { return at + difference.trailingZeroBitCount / 8 }
        at += 8
    }
    while at < count, one.load(fromByteOffset: at, as: UInt8.self) == other.load(fromByteOffset: at, as: UInt8.self) {
        at += 1
    }
    return at
}

/// The length of the common suffix of two stretches of `count` bytes, which end at the given addresses. O(result).
func commonSuffix(_ oneEnd: UnsafeRawPointer, _ otherEnd: UnsafeRawPointer, _ count: Int) -> Int {
    var length = 0
    while length + 8 <= count {
        let difference = load64(oneEnd - length - 8) ^ load64(otherEnd - length - 8)
        if difference != 0 { return length + difference.leadingZeroBitCount / 8 }
        length += 8
    }
    while length < count, (oneEnd - length - 1).load(as: UInt8.self) == (otherEnd - length - 1).load(as: UInt8.self) {
        length += 1
    }
    return length
}

extension Array {
    /// `init(repeating:count:)` inline: that one looks up the type of its storage, some 500 instructions.
    @inline(__always)
    init(filled element: Element, count: Int) { self.init(repeatElement(element, count: count)) }
}
