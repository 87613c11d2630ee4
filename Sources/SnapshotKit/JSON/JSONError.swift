/// Why a text is not JSON as this library reads it, and where.
///
/// RFC 8259, read strictly: no byte order mark, no comments, UTF-8 only, and each member of an object named once.
public struct JSONError: Error, Equatable, Sendable {
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

    /// An error of the given reason at a byte offset.
    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    /// Reason and offset, readable.
    public var description: String { "\(reason.rawValue) at byte \(offset)" }
}
