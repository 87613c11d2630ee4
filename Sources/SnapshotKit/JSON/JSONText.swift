/// A validated JSON value as text: the content of an item or section.
///
/// Kept as written. Two texts are equal if they are the same value: white space, the order of members and escapes do
/// not matter; numbers are compared as written.
public struct JSONText: Sendable {
    /// The text, followed by the padding that cursors need.
    private let padded: [UInt8]

    /// Checks a text. O(n).
    ///
    /// - Throws: `JSONError` unless it is exactly one JSON value.
    public init(_ bytes: consuming [UInt8]) throws(JSONError) {
        let count = bytes.count
        let slice = try JSONSlice(document: bytes)
        padded = slice.range == 0..<count ? slice.bytes : Array(slice.bytes[slice.range]) + JSONScanner.zeros
    }

    /// Checks a text.
    ///
    /// - Throws: `JSONError` unless it is exactly one JSON value.
    public init(_ text: String) throws(JSONError) { try self.init(Array(text.utf8)) }

    /// Checks what `body` writes.
    ///
    /// - Throws: `JSONError` unless it is exactly one JSON value.
    public init(writing body: (inout JSONWriter) -> Void) throws(JSONError) {
        var writer = JSONWriter()
        body(&writer)
        try self.init(writer.bytes())
    }

    /// A text that was accepted already.
    package init(accepted text: some Collection<UInt8>) { padded = Array(text) + JSONScanner.zeros }

    /// The text, without surrounding white space.
    public var bytes: [UInt8] { Array(padded.dropLast(JSONScanner.padding)) }

    /// The value, for reading its members or elements. O(1).
    public var slice: JSONSlice { JSONSlice(bytes: padded, range: 0..<padded.count - JSONScanner.padding) }

    /// Calls `body` with the text, which is padded.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        padded.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0.dropLast(JSONScanner.padding))) }
    }
}

extension JSONText: Equatable {
    /// Whether both are the same value.
    public static func == (one: JSONText, other: JSONText) -> Bool {
        one.withBytes { one in other.withBytes { sameValue(one, $0, ignoring: .none) } }
    }
}

extension JSONText: CustomStringConvertible {
    /// The text.
    public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}

extension JSONSlice {
    /// The value as a separate text. O(bytes).
    public var json: JSONText { JSONText(accepted: bytes[range]) }

    /// Offset of the value in the text that was read, in bytes.
    package var offset: Int { range.lowerBound }

    /// Whether the value is null.
    package var isNull: Bool { bytes[range.lowerBound] == UInt8(ascii: "n") }
}
