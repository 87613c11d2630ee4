/// A JSON value as text, checked: the content of an item or section.
///
/// It is kept as it was written. Two texts are equal when they are the same value: white space, order of members and
/// escapes do not matter, numbers are compared as they are written.
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
                guard patch.first == UInt8(ascii: "{") else { return JSONText(accepted: patch) }
                var writer = JSONWriter(capacity: target.count + patch.count)
                var members = JSONMembers(patch)
                var cursor = JSONCursor(target.baseAddress!)
                writer.append(merging: &members, members.all, into: &cursor)
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
    /// What RFC 7396 §2 makes of a target, which it takes, and of the object in a patch whose members stand in `range`.
    fileprivate mutating func append(
        merging patch: inout JSONMembers, _ range: Range<Int>, into target: inout JSONCursor
    ) {
        var search = MemberSearch(range)
        var list = JSONList()
        append(byte: UInt8(ascii: "{"))
        if target.byte != UInt8(ascii: "{") {
            target.skipValue()
        } else if target.enter() {
            repeat {
                let name = target.takeName()
                if let change = search.find(name, in: patch) {
                    patch.take(change)
                    append(name: name, patch: &patch, change, into: &target, &list)
                } else {
                    list.separate(&self)
                    append(name: name)
                    append(target.value())
                }
            } while target.takesComma()
        }
        var arrival = patch.firstLeft(from: range.lowerBound, in: range)
        while arrival < range.upperBound {
            var nothing = JSONCursor(StaticString("null").utf8Start)
            append(name: patch[arrival].name, patch: &patch, arrival, into: &nothing, &list)
            arrival = patch.firstLeft(from: patch[arrival].end, in: range)
        }
        append(byte: UInt8(ascii: "}"))
    }

    private mutating func append(
        name: JSONString, patch: inout JSONMembers, _ change: Int, into target: inout JSONCursor, _ list: inout JSONList
    ) {
        guard !patch[change].isNull else { return target.skipValue() }
        list.separate(&self)
        append(name: name)
        if patch[change].isObject {
            append(merging: &patch, patch.inside(change), into: &target)
        } else {
            target.skipValue()
            append(patch[change].value)
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
