import Glibc

/// Comparisons and slices of raw octets. Nothing here allocates.
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

    /// Whether these are the octets of `text` whatever the case of their letters.
    ///
    /// - Parameter text: lower case; its octets must all have bit 5 set, as letters, digits and `-` do.
    @inline(__always)
    func spellsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let other = text.utf8Start
        for index in 0..<count where self[index] | 0x20 != other[index] { return false }
        return true
    }

    /// Whether these are the octets of `text` whatever the case of ASCII letters.
    func equalsIgnoringCase(_ text: UnsafeRawBufferPointer) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<count where self[index] != text[index] && self[index].lowercased != text[index].lowercased {
            return false
        }
        return true
    }

    /// Whether an octet is a control, a tab among them: what no field value may hold, and a tab. Looks at all, so that
    /// many are looked at at once.
    var hasControls: Bool {
        var found: UInt8 = 0
        for octet in self { found |= octet < 0x20 || octet == 0x7F ? 1 : 0 }
        return found != 0
    }

    /// Without blanks at both ends.
    var trimmed: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start].isBlank { start += 1 }
        while end > start, self[end - 1].isBlank { end -= 1 }
        return slice(start, end)
    }

    /// The position of `octet` at or behind `start`, or nil.
    @inline(__always)
    func position(of octet: UInt8, from start: Int) -> Int? {
        guard start < count, let hit = memchr(baseAddress! + start, Int32(octet), count - start) else { return nil }
        return UnsafeRawPointer(hit) - baseAddress!
    }
}

extension UInt8 {
    /// The lower case of an ASCII letter; any other octet is itself.
    @inline(__always)
    var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
