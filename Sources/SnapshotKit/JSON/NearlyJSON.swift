// What other servers send for JSON, and almost is. A list's source cannot be asked to mend it, so it is mended here,
// before the strict reader sees it; a client that posts it is told instead.

extension [UInt8] {
    /// Makes JSON of a text that is JSON but for:
    ///
    /// - a first line `)]}'`, which keeps a browser from running the text as a script: it is made blank;
    /// - `NaN`, `Infinity`, `+Infinity` and `-Infinity` in place of a value: each becomes null;
    /// - half of a character, `\ud83d`: it becomes `\ufffd`, see `replaceLoneSurrogates`.
    ///
    /// Returns how many halves were replaced. O(n).
    package mutating func mendJSON() -> Int {
        blankGuard()
        nullNonFinites()
        return replaceLoneSurrogates()
    }

    private mutating func blankGuard() {
        let start = starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard self[start...].starts(with: ")]}'".utf8), let end = firstIndex(of: UInt8(ascii: "\n")) else { return }
        guard self[start + 4..<end].allSatisfy({ ", \r".utf8.contains($0) }) else { return }
        for index in start..<end { self[index] = UInt8(ascii: " ") }
    }

    private mutating func nullNonFinites() {
        let ranges = withUnsafeBytes { text in text.mentionsNonFinite ? text.nonFinites : [] }
        if ranges.isEmpty { return }
        var (mended, start) = ([UInt8](), 0)
        mended.reserveCapacity(count + ranges.count)
        for range in ranges {
            mended += self[start..<range.lowerBound]
            mended += "null".utf8
            start = range.upperBound
        }
        self = mended + self[start...]
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes of one of the words are anywhere, in a string or not.
    fileprivate var mentionsNonFinite: Bool {
        var at = 0
        while let found = self[at...].firstIndex(where: { $0 == UInt8(ascii: "N") || $0 == UInt8(ascii: "I") }) {
            if word(at: found) != nil { return true }
            at = found + 1
        }
        return false
    }

    /// Where one of the words is in place of a value, which may be anywhere outside of strings but before a colon.
    fileprivate var nonFinites: [Range<Int>] {
        var (found, at, isAfterToken) = ([Range<Int>](), 0, false)
        while at < count {
            switch self[at] {
            case UInt8(ascii: "\""):
                at += 1
                while at < count, self[at] != UInt8(ascii: "\"") { at += self[at] == UInt8(ascii: "\\") ? 2 : 1 }
                (at, isAfterToken) = (at + 1, true)
            case UInt8(ascii: "N"), UInt8(ascii: "I"), UInt8(ascii: "+"), UInt8(ascii: "-"):
                if !isAfterToken, let range = word(at: at), endsValue(at: range.upperBound) {
                    found.append(range)
                    at = range.upperBound
                } else {
                    (at, isAfterToken) = (at + 1, true)
                }
            case let byte:
                (at, isAfterToken) = (at + 1, !Self.endsToken(byte))
            }
        }
        return found
    }

    /// The word, with its sign, that starts at an offset.
    private func word(at start: Int) -> Range<Int>? {
        let isSigned = self[start] == UInt8(ascii: "+") || self[start] == UInt8(ascii: "-")
        let rest = self[(start + (isSigned ? 1 : 0))...]
        let word: StaticString = rest.first == UInt8(ascii: "N") && !isSigned ? "NaN" : "Infinity"
        guard rest.starts(with: UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { return nil }
        return start..<rest.startIndex + word.utf8CodeUnitCount
    }

    /// Whether what is at an offset may follow a value.
    private func endsValue(at offset: Int) -> Bool {
        let next = self[offset...].first { !Self.isSpace($0) }
        return next.map { [UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}")].contains($0) } ?? true
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    private static func endsToken(_ byte: UInt8) -> Bool {
        isSpace(byte) || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "[")
    }
}
