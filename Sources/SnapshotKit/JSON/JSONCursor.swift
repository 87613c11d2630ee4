/// Walks JSON that a `JSONScanner` has accepted, without checking it again. The memory must be padded and outlive the
/// cursor.
struct JSONCursor {
    var at: UnsafeRawPointer

    @inline(__always)
    init(_ start: UnsafeRawPointer) { at = start }

    @inline(__always)
    var byte: UInt8 { at.load(as: UInt8.self) }

    @inline(__always)
    mutating func skipSpace() {
        // In accepted text a byte at or below a space, outside strings, is white; the padding is never reached here.
        while byte <= 0x20, byte != 0 { at += 1 }
    }

    /// Enters an array or object at its bracket; false if it is empty, and then past it.
    @inline(__always)
    mutating func enter() -> Bool {
        at += 1
        skipSpace()
        guard byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") else { return true }
        at += 1
        return false
    }

    /// After an element or member's value: true after a comma, false after the closing bracket.
    @inline(__always)
    mutating func takesComma() -> Bool {
        skipSpace()
        let isComma = byte == UInt8(ascii: ",")
        at += 1
        if isComma { skipSpace() }
        return isComma
    }

    /// Takes a string at its quote.
    @inline(__always)
    mutating func takeString() -> JSONString {
        at += 1
        let start = at
        var isEscaped = false
        while true {
            let word = load64(at)
            let stops = zeroBytes(word ^ splat(UInt8(ascii: "\""))) | zeroBytes(word ^ splat(UInt8(ascii: "\\")))
            if stops == 0 {
                at += 8
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

    /// Takes a member's name and its colon, and stands at the value.
    @inline(__always)
    mutating func takeName() -> JSONString {
        let name = takeString()
        skipSpace()
        at += 1
        skipSpace()
        return name
    }

    /// Takes a number, or one of the three words, as its bytes.
    @inline(__always)
    mutating func takeToken() -> UnsafeRawBufferPointer {
        let start = at
        while Self.isToken(byte) { at += 1 }
        return UnsafeRawBufferPointer(start: start, count: at - start)
    }

    @inline(__always)
    private static func isToken(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
    }

    /// Takes one value of any kind.
    mutating func skipValue() {
        switch byte {
        case UInt8(ascii: "\""): _ = takeString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipNested()
        default: _ = takeToken()
        }
    }

    /// Takes one value of any kind, as its bytes.
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
struct JSONString {
    let start: UnsafeRawPointer
    let count: Int
    let isEscaped: Bool

    /// Whether both stand for the same text, byte by byte once escapes are resolved.
    @inline(__always)
    static func == (one: JSONString, other: JSONString) -> Bool {
        if !one.isEscaped, !other.isEscaped {
            return one.count == other.count && sameBytes(one.start, other.start, one.count)
        }
        return one.text.elementsEqual(other.text)
    }

    /// Whether this string's text is `bytes`.
    @inline(__always)
    func isText(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(isText) }

    /// Whether this string's text is `bytes`.
    @inline(__always)
    func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if isEscaped { return text.elementsEqual(bytes) }
        return count == bytes.count && (count == 0 || sameBytes(start, bytes.baseAddress!, count))
    }

    /// Whether this string's text is `word`, which is ASCII.
    @inline(__always)
    func isText(_ word: StaticString) -> Bool {
        if isEscaped {
            return text.elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        }
        guard count == word.utf8CodeUnitCount else { return false }
        for at in 0..<count where start.load(fromByteOffset: at, as: UInt8.self) != word.utf8Start[at] { return false }
        return true
    }

    @inline(__always)
    static func != (one: JSONString, other: JSONString) -> Bool { !(one == other) }

    var text: StringText { StringText(start, count) }

    var string: String { String(decoding: Array(text), as: UTF8.self) }
}
