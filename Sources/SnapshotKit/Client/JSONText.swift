/// A JSON value as text, checked: the content of an item or section.
///
/// It is kept as it was written. Two texts are equal when they are the same value: white space, order of members and escapes do
/// not matter, numbers are compared as they are written.
public struct JSONText: Sendable {
    /// The text, followed by the padding that cursors need.
    private let padded: [UInt8]

    /// Checks a text. O(n).
    ///
    /// - Throws: `JSONError` unless it is exactly one JSON value.
    public init(_ bytes: consuming [UInt8]) throws(JSONError) {
        let count = bytes.count
        bytes.append(contentsOf: DocumentText.padding)
        let range = try bytes.withUnsafeBufferPointer { (text) throws(JSONError) -> Range<Int> in
            var scanner = JSONScanner(
                base: UnsafeRawPointer(text.baseAddress!), count: count, maxDepth: StateLimits.none.maxDepth)
            scanner.skipSpace()
            let start = scanner.at
            try scanner.skipValue(depth: 0)
            let end = scanner.at
            try scanner.finish()
            return start..<end
        }
        padded = range == 0..<count ? bytes : Array(bytes[range]) + DocumentText.padding
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
    init(accepted value: UnsafeRawBufferPointer) { padded = Array(value) + DocumentText.padding }

    /// The text, without white space around it.
    public var bytes: [UInt8] { Array(padded.dropLast(DocumentText.padding.count)) }

    /// Calls `body` with the text in memory, padded.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        padded.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0.dropLast(DocumentText.padding.count))) }
    }

    /// This value after an RFC 7396 merge patch. O(n + patch).
    public func merging(_ patch: JSONText) -> JSONText {
        withBytes { target in
            patch.withBytes { patch in
                var writer = JSONWriter(capacity: target.count + patch.count)
                writer.append(merging: JSONCursor(patch.baseAddress!), into: JSONCursor(target.baseAddress!))
                return writer.bytes().withUnsafeBytes { JSONText(accepted: $0) }
            }
        }
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

extension JSONWriter {
    /// What RFC 7396 §2 makes of a target, or of none, and a patch.
    fileprivate mutating func append(merging patch: JSONCursor, into target: JSONCursor?) {
        var patch = patch
        guard patch.byte == UInt8(ascii: "{") else { return append(patch.value()) }
        var changes = JSONMembers()
        changes.load(patch)
        var list = JSONList()
        append(byte: UInt8(ascii: "{"))
        if var target, target.byte == UInt8(ascii: "{"), target.enter() {
            repeat {
                let name = target.takeName()
                let value = target.value()
                append(name: name, changes.take(name), into: value, &list)
            } while target.takesComma()
        }
        for change in changes.members where !change.isTaken {
            append(name: change.name, change.value, into: nil, &list)
        }
        append(byte: UInt8(ascii: "}"))
    }

    private mutating func append(
        name: JSONString, _ change: UnsafeRawBufferPointer?, into value: UnsafeRawBufferPointer?, _ list: inout JSONList
    ) {
        if change?.first == UInt8(ascii: "n") { return }
        list.separate(&self)
        append(name: name)
        if let change {
            append(merging: JSONCursor(change.baseAddress!), into: value.map { JSONCursor($0.baseAddress!) })
        } else if let value {
            append(value)
        }
    }
}

extension JSONCursor {
    /// Takes one value of any kind, as its bytes.
    mutating func value() -> UnsafeRawBufferPointer {
        let start = at
        skipValue()
        return UnsafeRawBufferPointer(start: start, count: at - start)
    }
}
