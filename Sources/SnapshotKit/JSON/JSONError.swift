/// Why a text is not JSON as this library reads it, and where.
///
/// RFC 8259, read strictly: no byte order mark, no comments, UTF-8 only, and each member of an object named once.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was wrong at `offset`.
    public enum Reason: String, Sendable {
        case unexpectedEnd = "the text ends too early"
        case unexpectedByte = "unexpected byte"
        case trailingBytes = "bytes after the value"
        case invalidNumber = "invalid number"
        case invalidEscape = "invalid escape"
        case controlCharacter = "control character in a string"
        case invalidUTF8 = "invalid UTF-8"
        case loneSurrogate = "lone surrogate"
        case duplicateMember = "duplicate member"
        case tooDeep = "nested too deeply"
    }

    /// What is wrong.
    public let reason: Reason
    /// Offset in bytes from the start of the text.
    public let offset: Int
    /// The same position as an editor shows it.
    public internal(set) var position = TextPosition()
    /// What is wrong, with what stands there.
    package internal(set) var fault: String
    /// How to mend it; nil for an uncommon mistake.
    package internal(set) var advice: String?

    /// An error of the given reason at a byte offset.
    public init(_ reason: Reason, at offset: Int) {
        (self.reason, self.offset, fault) = (reason, offset, reason.rawValue)
    }

    /// Whether both have the same reason and offset; the rest follows from these and the text.
    public static func == (one: JSONError, other: JSONError) -> Bool {
        one.reason == other.reason && one.offset == other.offset
    }

    /// What is wrong, where, and how to mend it.
    public var description: String {
        let located = "\(fault) at line \(position.line), column \(position.column) (byte \(offset))"
        return advice.map { "\(located): \($0)" } ?? located
    }

    /// The same without the position, which the caller shows in its own way.
    package var sentence: String { advice.map { "\(fault): \($0)" } ?? fault }

    /// Whether there was nothing but white space.
    package var isOfEmptyText: Bool { fault == Self.emptyFault }

    fileprivate static let emptyFault = "the text is empty"
}

/// A position in a text, as an editor shows it.
public struct TextPosition: Sendable, Hashable {
    /// From 1.
    public private(set) var line = 1
    /// From 1, in Unicode scalars. Carriage returns are not counted.
    public private(set) var column = 1

    /// The start of a text.
    public init() {}

    /// Advances over UTF-8 text. O(bytes).
    public mutating func advance(over text: some Sequence<UInt8>) {
        for byte in text {
            if byte == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if byte & 0xC0 != 0x80, byte != UInt8(ascii: "\r") {
                column += 1
            }
        }
    }
}

extension JSONScanner {
    /// What to say of the value at an offset if it should be an array or an object, but is a string that holds one.
    func adviceIfEncodedTwice(at offset: Int) -> String? {
        guard byte(offset) == UInt8(ascii: "\"") else { return nil }
        var cursor = JSONCursor(base + offset + 1)
        cursor.skipSpace()
        guard cursor.byte == UInt8(ascii: "{") || cursor.byte == UInt8(ascii: "[") else { return nil }
        return "this is a string that holds JSON, so it was encoded twice"
    }
}

// MARK: - Common mistakes
//
// Most texts that are not JSON come from a few sources: another language's literals, logs of one value a line, a page
// of HTML in place of an answer, a comma too many. The bytes around the error tell which.

/// What stands where a text stops being JSON.
struct JSONMistake {
    private let reason: JSONError.Reason
    private let text: UnsafeRawBufferPointer
    private let maxDepth: Int
    /// Where the error is, or the word begins that it is in.
    private let start: Int
    /// The last byte before `start` that is not white space.
    private let previous: UInt8?

    /// O(bytes of white space before `offset`).
    init(_ reason: JSONError.Reason, at offset: Int, in text: UnsafeRawBufferPointer, _ maxDepth: Int) {
        (self.reason, self.text, self.maxDepth) = (reason, text, maxDepth)
        var start = offset
        if reason == .unexpectedByte || reason == .trailingBytes {
            while start > 0, offset - start < 5, text[start - 1].isLetter { start -= 1 }
            // A whole literal is not what is wrong.
            if ["true", "false", "null"].contains(where: { text[start..<offset].elementsEqual($0.utf8) }) {
                start = offset
            }
        }
        self.start = start
        previous = text[..<start].last { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
    }

    /// What is wrong, and how to mend it. At most some 350 bytes.
    var words: (fault: String, advice: String?) {
        switch reason {
        case .unexpectedEnd where previous == nil: (JSONError.emptyFault, nil)
        case .unexpectedEnd: (reason.rawValue, "it was cut off, or a bracket or quote is not closed")
        case .unexpectedByte: ("unexpected \(shown)", unexpected)
        case .trailingBytes: ("\(shown) after the end of the value", trailing)
        case .invalidNumber: (reason.rawValue, number)
        case .invalidEscape: (reason.rawValue, #"write a backslash as \\"#)
        case .controlCharacter: (reason.rawValue, "write \(control)")
        case .invalidUTF8: (reason.rawValue, "send UTF-8, not Latin-1 or UTF-16")
        case .loneSurrogate: (reason.rawValue, #"half of an emoji, perhaps; send \ufffd in its place"#)
        case .duplicateMember: (reason.rawValue, "name each member of an object once")
        case .tooDeep: (reason.rawValue, "at most \(maxDepth) levels of arrays and objects are allowed")
        }
    }

    private var byte: UInt8 { start < text.count ? text[start] : 0 }

    /// The byte as a message shows it, or the word that begins with it.
    private var shown: String {
        if !word.isEmpty { return "\"\(word)\"" }
        if byte == UInt8(ascii: "\"") { return "quotation mark" }
        if byte > 0x20, byte < 0x7F { return "\"\(Unicode.Scalar(byte))\"" }
        return "byte 0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    /// The word that starts here, at most 16 letters of it.
    private var word: String { String(decoding: text[start...].prefix(16).prefix(while: \.isLetter), as: UTF8.self) }

    private func starts(with bytes: some Sequence<UInt8>) -> Bool { text[start...].starts(with: bytes) }

    // MARK: An unexpected byte

    private var unexpected: String? {
        if let advice = previous == nil ? foreign : nil { return advice }
        switch byte {
        case 0: return Self.zero
        case UInt8(ascii: "'"), UInt8(ascii: "`"): return "JSON strings take double quotes"
        // A typographic quotation mark.
        case 0xE2: return starts(with: [0xE2, 0x80]) ? "JSON strings take straight double quotes" : nil
        case UInt8(ascii: "/"), UInt8(ascii: "#"): return "JSON has no comments"
        case UInt8(ascii: "+"): return "a number has no plus sign in front"
        case UInt8(ascii: ".") where start + 1 < text.count && text[start + 1].isDigit:
            return "write a digit before the point"
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            return previous == UInt8(ascii: ",") ? "remove the comma before it" : nil
        case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "-"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            return previous.map { $0.isLetter || $0.isDigit || "\"]}".utf8.contains($0) } ?? false
                ? "a comma or a colon is missing before it" : nil
        default: return word.isEmpty ? nil : wordAdvice
        }
    }

    private var wordAdvice: String {
        let before = text[..<start].suffix(2)
        if before.last == UInt8(ascii: "0"), before.count < 2 || !before.first!.isDigit, "xXoObB".utf8.contains(byte) {
            return "write the number in decimal digits"
        }
        switch word.lowercased() {
        case "nan": return "JSON has no NaN: send null"
        case "inf", "infinity": return "JSON has no Infinity: send null"
        case "none", "nil", "undefined": return "write null"
        case "true", "false", "null": return "write \(word.lowercased())"
        default:
            let next = text[(start + word.utf8.count)...].first { $0 != 0x20 && !$0.isLetter && !$0.isDigit }
            return next == UInt8(ascii: ":") ? "names take double quotes" : "strings take double quotes"
        }
    }

    /// What the text is instead, if already its first byte is wrong.
    private var foreign: String? {
        if byte == UInt8(ascii: "<") { return "this is HTML or XML, not JSON" }
        if starts(with: ")]}".utf8) { return "remove the line )]}' before the JSON" }
        if starts(with: [0x1F, 0x8B]) { return "gzip needs Content-Encoding: gzip" }
        if starts(with: [0xFF, 0xFE]) || starts(with: [0xFE, 0xFF]) { return "send UTF-8, not UTF-16" }
        let literals = ["nan", "inf", "none", "true", "false", "null", "undef"]
        guard !word.isEmpty, !literals.contains(where: word.lowercased().hasPrefix) else { return nil }
        let next = text[(start + word.utf8.count)...].first { !$0.isLetter && !$0.isDigit && $0 != UInt8(ascii: "_") }
        return next == UInt8(ascii: "=")
            ? "this is a form: send JSON" : "strings take double quotes; curl sends a file by -d @FILE"
    }

    // MARK: Elsewhere

    private static let zero = "JSON has no zero bytes: send UTF-8, not UTF-16"

    private var trailing: String? {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""), UInt8(ascii: ","):
            "send one document, not JSON lines: put the values into an array"
        case UInt8(ascii: "]"), UInt8(ascii: "}"): "there is one bracket too many"
        case 0: Self.zero
        default: nil
        }
    }

    private var number: String {
        if word.lowercased().hasPrefix("inf") { return "JSON has no Infinity: send null" }
        return previous == UInt8(ascii: "0") && byte.isDigit
            ? "a number has no zeros in front" : "a digit is missing here"
    }

    private var control: String {
        switch byte {
        case 0x0A: #"a line break as \n"#
        case 0x09: #"a tab as \t"#
        default: #"it as \u00"# + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }
}
