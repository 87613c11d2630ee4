/// Walks JSON in padded memory that a `JSONScanner` has accepted, without checking it again.
struct JSONCursor {
    var at: UnsafeRawPointer

    @inline(__always)
    init(_ start: UnsafeRawPointer) { at = start }

    @inline(__always)
    var byte: UInt8 { at.load(as: UInt8.self) }

    @inline(__always)
    mutating func skipSpace() {
        // Outside strings, any byte of accepted text up to a space is white space. Zero is the padding.
        while byte <= 0x20, byte != 0 { at += 1 }
    }

    /// Enters the array or object that starts here. False if it is empty; then the cursor has passed it.
    @inline(__always)
    mutating func enter() -> Bool {
        at += 1
        skipSpace()
        guard byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") else { return true }
        at += 1
        return false
    }

    /// After an element or a member's value, takes a comma (true) or the closing bracket (false).
    @inline(__always)
    mutating func takesComma() -> Bool {
        skipSpace()
        let isComma = byte == UInt8(ascii: ",")
        at += 1
        if isComma { skipSpace() }
        return isComma
    }

    @inline(__always)
    mutating func takeString() -> JSONString {
        at += 1
        let start = at
        var (isEscaped, long) = (false as Bool?, at + Self.long)
        while true {
            let word = load64(at)
            let stops = zeroBytes(word ^ splat(UInt8(ascii: "\""))) | zeroBytes(word ^ splat(UInt8(ascii: "\\")))
            if stops == 0 {
                at += 8
                if at < long { continue }
                if passesRun(&isEscaped) { break }
                long = at + Self.long
                continue
            }
            at += stops.trailingZeroBitCount >> 3
            if byte == UInt8(ascii: "\"") { break }
            isEscaped = true
            at += 2
        }
        defer { at += 1 }
        return JSONString(start: start, count: at - start, isEscaped: isEscaped)
    }

    /// `known` is a string whose end need not be searched for.
    @inline(__always)
    mutating func takeString(knowing known: JSONString?) -> JSONString {
        guard let known, known.start == at + 1 else { return takeString() }
        at = known.start + known.count + 1
        return known
    }

    /// Runs without a quote or a backslash are left to the C library from this many bytes on: texts that grow are long.
    private static let long = 64

    /// Goes to the next quote of a string, or behind it if it is escaped. Whether it is the end.
    @inline(never)
    private mutating func passesRun(_ isEscaped: inout Bool?) -> Bool {
        let start = at
        at = address(of: UInt8(ascii: "\""), from: start)
        var end = at
        while end > start, (end - 1).load(as: UInt8.self) == UInt8(ascii: "\\") { end -= 1 }
        guard (at - end) & 1 == 0 else {
            isEscaped = true
            at += 1
            return false
        }
        if isEscaped == false { isEscaped = nil }
        return true
    }

    /// Takes a member's name and colon; the cursor is then at the value.
    @inline(__always)
    mutating func takeName() -> JSONString {
        let name = takeString()
        skipSpace()
        at += 1
        skipSpace()
        return name
    }

    /// Takes a number, `true`, `false` or `null`.
    @inline(__always)
    mutating func takeToken() -> UnsafeRawBufferPointer {
        let start = at
        while Self.isToken(byte) { at += 1 }
        return UnsafeRawBufferPointer(start: start, count: at - start)
    }

    @inline(__always)
    private static func isToken(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: ".")
    }

    mutating func skipValue() {
        switch byte {
        case UInt8(ascii: "\""): _ = takeString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipNested()
        default: _ = takeToken()
        }
    }

    mutating func takeValue() -> UnsafeRawBufferPointer {
        let start = at
        skipValue()
        return UnsafeRawBufferPointer(start: start, count: at - start)
    }

    private mutating func skipNested() {
        var depth = 0
        repeat {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                at += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                at += 1
            case UInt8(ascii: "\""): _ = takeString()
            default: at += 1
            }
        } while depth > 0
    }
}

/// The bytes between the quotes of an accepted JSON string.
package struct JSONString: Equatable {
    package let start: UnsafeRawPointer
    package let count: Int
    /// Whether a character is written as an escape; nil if that is not known, since few ask it of a long string.
    private let hasEscapes: Bool?

    package init(start: UnsafeRawPointer, count: Int, isEscaped: Bool?) {
        (self.start, self.count, hasEscapes) = (start, count, isEscaped)
    }

    /// Whether a character is written as an escape. O(count) for a long string.
    @inline(__always)
    package var isEscaped: Bool { hasEscapes ?? (address(of: UInt8(ascii: "\\"), in: start..<start + count) != nil) }

    /// A string as it stands in a text, with its quotes.
    init(token: UnsafeRawBufferPointer) {
        self.init(start: token.baseAddress! + 1, count: token.count - 2, isEscaped: nil)
    }

    /// Whether both have the same text, byte by byte once escapes are resolved.
    @inline(__always)
    package static func == (one: JSONString, other: JSONString) -> Bool {
        if one.count == other.count, sameBytes(one.start, other.start, one.count) { return true }
        return (one.hasEscapes != false || other.hasEscapes != false) && one.hasSameText(as: other)
    }

    @inline(never)
    private func hasSameText(as other: JSONString) -> Bool {
        if min(count, other.count) < StringText.long { return text.elementsEqual(other.text) }
        let (one, other) = rests(of: other)
        return one.elementsEqual(other)
    }

    /// What is left of two texts behind characters at their starts that are written alike. Both may start with the
    /// second half of a character: they can be compared, but not made a string.
    func rests(of other: JSONString) -> (StringText, StringText) {
        var alike = commonPrefix(start, other.start, min(count, other.count))
        // An escape has six bytes at most. The last backslash before the difference starts one, unless it is escaped.
        if let last = (max(0, alike - 5)..<alike).last(where: isBackslash) {
            let first = (0...last).last { !isBackslash($0) } ?? -1
            if (last - first) & 1 == 1 { alike = last }
        }
        return (StringText(start + alike, count - alike), StringText(other.start + alike, other.count - alike))
    }

    private func isBackslash(_ offset: Int) -> Bool {
        start.load(fromByteOffset: offset, as: UInt8.self) == UInt8(ascii: "\\")
    }

    func word<Word: RawRepresentable<String>>(of words: [Word]) -> Word? {
        words.first { (isEscaped || count == $0.rawValue.utf8.count) && text.elementsEqual($0.rawValue.utf8) }
    }

    @inline(__always)
    func isText(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(isText) }

    @inline(__always)
    package func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if isEscaped { return text.elementsEqual(bytes) }
        return count == bytes.count && (count == 0 || sameBytes(start, bytes.baseAddress!, count))
    }

    @inline(__always)
    func isText(_ word: StaticString) -> Bool {
        isText(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    package var text: StringText { StringText(start, count) }

    /// Bytes of the text in UTF-8.
    var utf8Count: Int { isEscaped ? text.reduce(0) { count, _ in count + 1 } : count }

    var string: String { String(decoding: text.bytes(), as: UTF8.self) }
}
