import CDiffSystem

/// Comparing and slicing raw octets, without allocations.
extension UnsafeRawBufferPointer {
    /// A slice whose indices start at 0.
    @inline(__always)
    func slice(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { slice(range.lowerBound, range.upperBound) }

    @inline(__always)
    func spells(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && (isEmpty || memcmp(baseAddress!, text.utf8Start, count) == 0)
    }

    /// Whether these are the octets of `text`, ignoring case.
    ///
    /// - Parameter text: lower case; all octets must have bit 5 set, as letters, digits and `-` have.
    @inline(__always)
    func spellsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let other = text.utf8Start
        for index in 0..<count where self[index] | 0x20 != other[index] { return false }
        return true
    }

    /// Whether these are the octets of `text`, ignoring the case of ASCII letters.
    func equalsIgnoringCase(_ text: UnsafeRawBufferPointer) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<count where self[index] != text[index] && self[index].lowercased != text[index].lowercased {
            return false
        }
        return true
    }

    /// Whether any octet is a control character, including tabs. Does not stop at the first, so that it vectorizes.
    var hasControls: Bool {
        var found: UInt8 = 0
        for octet in self { found |= octet < 0x20 || octet == 0x7F ? 1 : 0 }
        return found != 0
    }

    var trimmed: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        return slice(start, end)
    }

    /// The first position of `octet` from `start` on, or nil.
    @inline(__always)
    func position(of octet: UInt8, from start: Int) -> Int? {
        guard start < count, let hit = memchr(baseAddress! + start, Int32(octet), count - start) else { return nil }
        return UnsafeRawPointer(hit) - baseAddress!
    }
}

/// A set of ASCII octets in two words: membership is a shift and a mask, without a table in memory.
struct OctetSet: Equatable, Sendable {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ octet: UInt8) -> Bool {
        if octet < 64 { return low >> UInt64(octet) & 1 != 0 }
        return octet < 128 && high >> UInt64(octet & 63) & 1 != 0
    }

    /// `tchar`, in methods and field names (RFC 9110 §5.6.2).
    @inline(__always)
    static var token: OctetSet { OctetSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }

    /// The octets of a path and query, including `/`, `?` and `%` (RFC 3986 §3.3, §3.4).
    @inline(__always)
    static var uri: OctetSet { OctetSet(low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF) }

    /// `unreserved`, in host names (RFC 3986 §2.3).
    @inline(__always)
    static var unreserved: OctetSet { OctetSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE) }
}

extension UInt8 {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20

    /// Lower case, if this is an ASCII letter.
    @inline(__always)
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// A space or a tab, the protocol's only white space (RFC 9110 §5.6.3).
    @inline(__always)
    var isBlank: Bool { self == 0x20 || self == 0x09 }

    /// Allowed in a field value: visible ASCII, blanks and `obs-text` (RFC 9110 §5.5).
    @inline(__always)
    var isFieldContent: Bool { self >= 0x20 ? self != 0x7F : self == 0x09 }

    @inline(__always)
    var isDigit: Bool { self &- 0x30 < 10 }

    @inline(__always)
    package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self &- 0x30
        case 0x41...0x46: self &- 0x37
        case 0x61...0x66: self &- 0x57
        default: nil
        }
    }
}
