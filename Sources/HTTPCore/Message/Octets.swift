import Glibc

/// Comparing and slicing raw octets, without allocations.
extension UnsafeRawBufferPointer {
    /// A slice whose indices start at 0.
    @inline(__always)
    func slice(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    @inline(__always)
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer { slice(range.lowerBound, range.upperBound) }

    /// Whether these are exactly the octets of `text`.
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

    /// Without blanks at either end.
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

extension UInt8 {
    /// Lower case, if this is an ASCII letter.
    @inline(__always)
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
