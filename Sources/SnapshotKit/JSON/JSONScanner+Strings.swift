/// Where the text of a string is, without its quotes.
struct StringToken {
    var start: Int
    var count: Int
    /// Whether any escape is in it, so that its bytes are not its text.
    var isEscaped: Bool
    /// Whether all its bytes are ASCII; escapes may still stand for other characters.
    var isASCII: Bool
}

extension JSONScanner {
    /// Takes the string whose quote is at `at`.
    @inline(__always)
    mutating func takeString() throws(JSONError) -> StringToken {
        var token = StringToken(start: at + 1, count: 0, isEscaped: false, isASCII: true)
        at += 1
        while true {
            let stops = stringStops(load64(base + at))
            if stops == 0 {
                at += 8
                continue
            }
            at += stops.trailingZeroBitCount >> 3
            let stop = byte(at)
            if stop == UInt8(ascii: "\"") {
                token.count = at - token.start
                at += 1
                return token
            }
            try skipUnusual(stop, &token)
        }
    }

    /// The memory of a string that was taken.
    @inline(__always)
    func string(_ token: StringToken) -> JSONString {
        JSONString(start: base + token.start, count: token.count, isEscaped: token.isEscaped)
    }

    /// An escape or a character outside ASCII; anything else is an error.
    private mutating func skipUnusual(_ first: UInt8, _ token: inout StringToken) throws(JSONError) {
        if first == UInt8(ascii: "\\") {
            token.isEscaped = true
            try skipEscape()
        } else if first >= 0x80 {
            token.isASCII = false
            // Text outside ASCII comes in runs.
            repeat { try skipCharacter() } while byte(at) >= 0x80
        } else {
            throw JSONError(at >= end ? .unexpectedEnd : .controlCharacter, at: min(at, end))
        }
    }

    /// Takes one character outside ASCII, if it is well-formed (Unicode 15, table 3-7).
    private mutating func skipCharacter() throws(JSONError) {
        let lead = byte(at)
        let count: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: count = 2
        case 0xE0: (count, second) = (3, 0xA0...0xBF)
        case 0xED: (count, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: count = 3
        case 0xF0: (count, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: count = 4
        case 0xF4: (count, second) = (4, 0x80...0x8F)
        default: throw JSONError(.invalidUTF8, at: at)
        }
        guard second.contains(byte(at + 1)) else { throw JSONError(.invalidUTF8, at: at) }
        for index in 2..<max(count, 2) where byte(at + index) & 0xC0 != 0x80 { throw JSONError(.invalidUTF8, at: at) }
        at += count
    }

    private mutating func skipEscape() throws(JSONError) {
        switch byte(at + 1) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
        case UInt8(ascii: "u"): try skipUnicodeEscape()
        default: throw escapeError(at + 1)
        }
    }

    private mutating func skipUnicodeEscape() throws(JSONError) {
        let start = at
        let unit = try takeHexUnit()
        if unit & 0xFC00 == 0xD800 {
            guard byte(at) == UInt8(ascii: "\\"), byte(at + 1) == UInt8(ascii: "u") else {
                throw JSONError(.loneSurrogate, at: start)
            }
            guard try takeHexUnit() & 0xFC00 == 0xDC00 else { throw JSONError(.loneSurrogate, at: start) }
        } else if unit & 0xFC00 == 0xDC00 {
            throw JSONError(.loneSurrogate, at: start)
        }
    }

    /// Takes `\uXXXX`.
    private mutating func takeHexUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for index in 2..<6 {
            guard let digit = hexDigit(byte(at + index)) else { throw escapeError(at + index) }
            unit = unit << 4 | digit
        }
        at += 6
        return unit
    }

    private func escapeError(_ offset: Int) -> JSONError {
        JSONError(offset >= end ? .unexpectedEnd : .invalidEscape, at: min(offset, end))
    }
}

/// The value of a hexadecimal digit.
func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}
