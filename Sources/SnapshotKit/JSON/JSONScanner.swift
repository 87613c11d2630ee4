// A strict scanner: one pass, no objects, ranges of the bytes that came in.
//
// The text is followed by `padding` zero bytes, so eight bytes can be loaded at any position and every loop is stopped
// by a byte rather than by a test for the end. A zero byte is legal nowhere in JSON: a loop that stops at one need only
// check whether it is the end (too early) or not (an unexpected byte).
//
// Strict means RFC 8259 and what a security-minded reader adds: well-formed UTF-8 (Unicode 15, table 3-7), no lone
// surrogates in escapes, members of an object named once, a bound on depth. Numbers are tokens; their value is never
// computed.
//
// Rejected: a structural index and a second pass (simdjson's way): lists hold short strings, and the index costs more
// than it saves; bounds-checked spans, at half the speed.

/// Reads JSON from padded memory, which must outlive it.
struct JSONScanner {
    /// How many zero bytes must follow the text.
    static let padding = 8
    static let zeros = [UInt8](repeating: 0, count: padding)

    /// The upper bound of `maxDepth`: values are skipped by recursion.
    static let mostDepth = 512

    let base: UnsafeRawPointer
    let end: Int
    let maxDepth: Int
    var at = 0
    /// The names of all open objects, innermost last.
    var names = NameStack()

    init(base: UnsafeRawPointer, count: Int, maxDepth: Int) {
        self.base = base
        self.end = count
        self.maxDepth = min(maxDepth, Self.mostDepth)
    }

    @inline(__always)
    func byte(_ offset: Int) -> UInt8 { base.load(fromByteOffset: offset, as: UInt8.self) }

    /// Part of the text.
    func text(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }

    /// The error for the byte at `offset`, which the grammar does not allow there.
    func unexpected(_ offset: Int) -> JSONError {
        JSONError(offset >= end ? .unexpectedEnd : .unexpectedByte, at: min(offset, end))
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
    mutating func take(_ expected: UInt8) throws(JSONError) {
        skipSpace()
        guard byte(at) == expected else { throw unexpected(at) }
        at += 1
    }

    /// Skips space, then takes `wanted` if it is next.
    @inline(__always)
    mutating func takes(_ wanted: UInt8) -> Bool {
        skipSpace()
        guard byte(at) == wanted else { return false }
        at += 1
        return true
    }

    /// Behind an element or a member, takes a comma (true) or `close` (false).
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
        if at < end { throw JSONError(.trailingBytes, at: at) }
    }

    @inline(__always)
    func checkDepth(_ depth: Int) throws(JSONError) {
        if depth > maxDepth { throw JSONError(.tooDeep, at: at) }
    }

    /// Takes one value of any kind. `depth` counts the arrays and objects around it.
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

    /// The same; returns where the value is.
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
        guard names.insert(name, in: frame, text: base) else { throw JSONError(.duplicateMember, at: start) }
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
        default: throw at == start ? unexpected(at) : numberError()
        }
        if isDigit(byte(at)) { throw JSONError(.invalidNumber, at: at) }
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

    private func numberError() -> JSONError {
        JSONError(at >= end ? .unexpectedEnd : .invalidNumber, at: min(at, end))
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    @inline(__always)
    private mutating func skipDigits() {
        while isDigit(byte(at)) { at += 1 }
    }

    private mutating func takeDigits() throws(JSONError) {
        guard isDigit(byte(at)) else { throw numberError() }
        skipDigits()
    }
}
