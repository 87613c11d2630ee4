/// The text of a valid JSON string, escapes resolved, from the raw bytes between its quotes.
///
/// A sequence rather than an array: comparing and hashing need each byte once.
struct StringText: Sequence, IteratorProtocol {
    private var at: UnsafeRawPointer
    private let end: UnsafeRawPointer
    /// Bytes of an escaped character that are still to be returned, the next one lowest.
    private var pending: UInt32 = 0
    private var pendingCount = 0

    init(_ start: UnsafeRawPointer, _ count: Int) {
        at = start
        end = start + count
    }

    mutating func next() -> UInt8? {
        if pendingCount > 0 { return popPending() }
        guard at < end else { return nil }
        let byte = at.load(as: UInt8.self)
        guard byte == UInt8(ascii: "\\") else {
            at += 1
            return byte
        }
        let kind = at.load(fromByteOffset: 1, as: UInt8.self)
        guard kind == UInt8(ascii: "u") else {
            at += 2
            return simpleEscape(kind)
        }
        push(takeScalar())
        return popPending()
    }

    private mutating func popPending() -> UInt8 {
        defer {
            pending >>= 8
            pendingCount -= 1
        }
        return UInt8(truncatingIfNeeded: pending)
    }

    private func simpleEscape(_ kind: UInt8) -> UInt8 {
        switch kind {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: kind
        }
    }

    private mutating func takeUnit() -> UInt32 {
        var unit: UInt32 = 0
        for index in 2..<6 { unit = unit << 4 | (hexDigit(at.load(fromByteOffset: index, as: UInt8.self)) ?? 0) }
        at += 6
        return unit
    }

    private mutating func takeScalar() -> UInt32 {
        let high = takeUnit()
        guard high & 0xFC00 == 0xD800 else { return high }
        return 0x10000 + (high & 0x3FF) << 10 + (takeUnit() & 0x3FF)
    }

    private mutating func push(_ scalar: UInt32) {
        let tail = { (shift: UInt32) in 0x80 | (scalar >> shift & 0x3F) }
        switch scalar {
        case 0..<0x80: (pending, pendingCount) = (scalar, 1)
        case 0x80..<0x800: (pending, pendingCount) = (0xC0 | scalar >> 6 | tail(0) << 8, 2)
        case 0x800..<0x10000: (pending, pendingCount) = (0xE0 | scalar >> 12 | tail(6) << 8 | tail(0) << 16, 3)
        default: (pending, pendingCount) = (0xF0 | scalar >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4)
        }
    }
}
