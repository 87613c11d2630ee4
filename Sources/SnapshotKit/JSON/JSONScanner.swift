// A strict scanner: one pass, no objects, only ranges of the input bytes.
//
// The text is followed by `padding` zero bytes, so eight bytes can be loaded at any position and every loop is stopped
// by a byte rather than by a test for the end. A zero byte is legal nowhere in JSON: a loop that stops at one need only
// check whether it is the end (too early) or not (an unexpected byte).
//
// Strict means RFC 8259 and what a security-minded reader adds: well-formed UTF-8 (Unicode 15, table 3-7), no lone
// surrogates in escapes, no repeated member names, a bound on depth. Numbers are tokens; their value is never computed.
//
// Rejected: a structural index and a second pass (simdjson's way): lists hold short strings, and the index costs more
// than it saves; bounds-checked spans, at half the speed.

/// Where the text of a string is, without its quotes.
struct StringToken {
    var start: Int
    var count: Int
    /// Whether it holds any escape, so that its bytes are not its text.
    var isEscaped: Bool
    /// Whether all its bytes are ASCII; escapes may still stand for other characters.
    var isASCII: Bool
}

/// Reads JSON from padded memory, which must outlive it.
package struct JSONScanner {
    /// How many zero bytes must follow the text.
    package static let padding = 8
    static let zeros = [UInt8](repeating: 0, count: padding)

    /// The upper bound of `maxDepth`: values are skipped by recursion.
    static let depthLimit = 512

    let base: UnsafeRawPointer
    let end: Int
    let maxDepth: Int
    var at = 0
    /// The names of all open objects, innermost last.
    var names = NameStack()

    init(base: UnsafeRawPointer, count: Int, maxDepth: Int) {
        self.base = base
        self.end = count
        self.maxDepth = min(maxDepth, Self.depthLimit)
    }

    @inline(__always)
    func byte(_ offset: Int) -> UInt8 { base.load(fromByteOffset: offset, as: UInt8.self) }

    func text(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// An error at an offset in the text. O(offset), once: it ends the reading.
    @inline(never)
    func error(_ reason: JSONError.Reason, at offset: Int) -> JSONError {
        var error = JSONError(reason, at: offset)
        error.position.advance(over: text(0..<offset))
        (error.fault, error.advice) = JSONMistake(reason, at: offset, in: text(0..<end), maxDepth).words
        return error
    }

    /// The error for the byte at `offset`, which the grammar does not allow there.
    func unexpected(_ offset: Int, _ reason: JSONError.Reason = .unexpectedByte) -> JSONError {
        error(offset >= end ? .unexpectedEnd : reason, at: min(offset, end))
    }

    @inline(__always)
    mutating func skipSpace() {
        // One comparison is enough for compact text: no white space is above 0x20.
        while byte(at) <= 0x20 {
            let next = byte(at)
            guard next == 0x20 || next == 0x0A || next == 0x0D || next == 0x09 else { return }
            at += 1
        }
    }

    /// Skips space, then takes `expected` or throws.
    @inline(__always)
    mutating func take(_ expected: UInt8) throws(JSONError) { if !takes(expected) { throw unexpected(at) } }

    /// Skips space, then takes `wanted` if it is next.
    @inline(__always)
    mutating func takes(_ wanted: UInt8) -> Bool {
        skipSpace()
        guard byte(at) == wanted else { return false }
        at += 1
        return true
    }

    /// After an element or a member, takes a comma (true) or `close` (false).
    @inline(__always)
    mutating func takesComma(or close: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        let next = byte(at)
        guard next == UInt8(ascii: ",") || next == close else { throw unexpected(at) }
        at += 1
        return next != close
    }

    /// Checks that nothing but space follows.
    mutating func finish() throws(JSONError) {
        skipSpace()
        if at < end { throw error(.trailingBytes, at: at) }
    }

    @inline(__always)
    func checkDepth(_ depth: Int) throws(JSONError) { if depth > maxDepth { throw error(.tooDeep, at: at) } }

    /// `depth` counts the arrays and objects around the value.
    mutating func skipValue(depth: Int) throws(JSONError) {
        skipSpace()
        switch byte(at) {
        case UInt8(ascii: "\""): _ = try takeString()
        case UInt8(ascii: "{"): try skipObject(depth: depth + 1)
        case UInt8(ascii: "["): try skipArray(depth: depth + 1)
        case UInt8(ascii: "t"): try takeLiteral("true")
        case UInt8(ascii: "f"): try takeLiteral("false")
        case UInt8(ascii: "n"): try takeLiteral("null")
        default: try takeNumber()
        }
    }

    mutating func takeValue(depth: Int) throws(JSONError) -> Range<Int> {
        skipSpace()
        let start = at
        try skipValue(depth: depth)
        return start..<at
    }

    private mutating func skipArray(depth: Int) throws(JSONError) {
        try checkDepth(depth)
        at += 1
        if takes(UInt8(ascii: "]")) { return }
        repeat { try skipValue(depth: depth) } while try takesComma(or: UInt8(ascii: "]"))
    }

    private mutating func skipObject(depth: Int) throws(JSONError) {
        try checkDepth(depth)
        at += 1
        if takes(UInt8(ascii: "}")) { return }
        let frame = names.open()
        repeat {
            _ = try takeName(in: frame)
            try skipValue(depth: depth)
        } while try takesComma(or: UInt8(ascii: "}"))
        names.close(frame)
    }

    /// Takes a member's name and colon; throws if the object already has the name.
    @inline(__always)
    mutating func takeName(in frame: NameStack.Frame) throws(JSONError) -> StringToken {
        skipSpace()
        let start = at
        guard byte(at) == UInt8(ascii: "\"") else { throw unexpected(at) }
        let name = try takeString()
        guard names.insert(name, in: frame, text: base) else { throw error(.duplicateMember, at: start) }
        try take(UInt8(ascii: ":"))
        return name
    }

    mutating func takeLiteral(_ word: StaticString) throws(JSONError) {
        for index in 0..<word.utf8CodeUnitCount where byte(at + index) != word.utf8Start[index] {
            throw unexpected(at + index)
        }
        at += word.utf8CodeUnitCount
    }

    /// RFC 8259 §6. Returns whether the number is an integer: no fraction, no exponent.
    @discardableResult
    mutating func takeNumber() throws(JSONError) -> Bool {
        let start = at
        if byte(at) == UInt8(ascii: "-") { at += 1 }
        switch byte(at) {
        case UInt8(ascii: "0"): at += 1
        case UInt8(ascii: "1")...UInt8(ascii: "9"): skipDigits()
        default: throw unexpected(at, at == start ? .unexpectedByte : .invalidNumber)
        }
        if byte(at).isDigit { throw error(.invalidNumber, at: at) }
        var isInteger = true
        if byte(at) == UInt8(ascii: ".") {
            isInteger = false
            at += 1
            try takeDigits()
        }
        if byte(at) | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            at += 1
            if byte(at) == UInt8(ascii: "+") || byte(at) == UInt8(ascii: "-") { at += 1 }
            try takeDigits()
        }
        return isInteger
    }

    @inline(__always)
    private mutating func skipDigits() { while byte(at).isDigit { at += 1 } }

    private mutating func takeDigits() throws(JSONError) {
        guard byte(at).isDigit else { throw unexpected(at, .invalidNumber) }
        skipDigits()
    }

    // MARK: Strings

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

    @inline(__always)
    func string(_ token: StringToken) -> JSONString {
        JSONString(start: base + token.start, count: token.count, isEscaped: token.isEscaped)
    }

    /// Takes an escape or a character outside ASCII; anything else is an error.
    private mutating func skipUnusual(_ first: UInt8, _ token: inout StringToken) throws(JSONError) {
        if first == UInt8(ascii: "\\") {
            token.isEscaped = true
            try skipEscape()
        } else if first >= 0x80 {
            token.isASCII = false
            // Text outside ASCII comes in runs.
            repeat { try skipCharacter() } while byte(at) >= 0x80
        } else {
            throw unexpected(at, .controlCharacter)
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
        default: throw error(.invalidUTF8, at: at)
        }
        guard second.contains(byte(at + 1)) else { throw error(.invalidUTF8, at: at) }
        for index in 2..<max(count, 2) where byte(at + index) & 0xC0 != 0x80 { throw error(.invalidUTF8, at: at) }
        at += count
    }

    private mutating func skipEscape() throws(JSONError) {
        switch byte(at + 1) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
        case UInt8(ascii: "u"): try skipUnicodeEscape()
        default: throw unexpected(at + 1, .invalidEscape)
        }
    }

    private mutating func skipUnicodeEscape() throws(JSONError) {
        let start = at
        let unit = try takeHexUnit()
        if unit & 0xF800 != 0xD800 { return }
        guard unit & 0xFC00 == 0xD800, byte(at) == UInt8(ascii: "\\"), byte(at + 1) == UInt8(ascii: "u"),
            try takeHexUnit() & 0xFC00 == 0xDC00
        else { throw error(.loneSurrogate, at: start) }
    }

    private mutating func takeHexUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for index in 2..<6 {
            guard let digit = hexDigit(byte(at + index)) else { throw unexpected(at + index, .invalidEscape) }
            unit = unit << 4 | digit
        }
        at += 6
        return unit
    }
}

func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}
