/// A validated JSON value as text: the content of an item or section.
///
/// Kept as written. Two texts are equal if they are the same value: white space, the order of members and escapes do
/// not matter; numbers are compared as written.
public struct JSONText: Equatable, Sendable, CustomStringConvertible {
    /// The text, followed by the padding that cursors need.
    let padded: [UInt8]

    /// Checks a text. O(n).
    ///
    /// - Throws: `JSONError` unless it is exactly one JSON value.
    public init(_ bytes: consuming [UInt8]) throws(JSONError) {
        let count = bytes.count
        let slice = try JSONSlice(document: bytes)
        padded = slice.range == 0..<count ? slice.bytes : Array(slice.bytes[slice.range]) + JSONScanner.zeros
    }

    /// Checks a text, as the bytes of its UTF-8.
    public init(_ text: String) throws(JSONError) { try self.init(Array(text.utf8)) }

    /// Checks what `body` writes.
    public init(writing body: (inout JSONWriter) -> Void) throws(JSONError) {
        var writer = JSONWriter()
        body(&writer)
        try self.init(writer.bytes())
    }

    package init(accepted text: some Collection<UInt8>) { padded = Array(text) + JSONScanner.zeros }

    /// The text written, which must be acceptable; consumes the writer.
    init(padding writer: consuming JSONWriter) {
        writer.append(JSONScanner.zeros)
        padded = writer.bytes()
    }

    var count: Int { padded.count - JSONScanner.padding }

    /// The text, without surrounding white space.
    public var bytes: [UInt8] { Array(padded.dropLast(JSONScanner.padding)) }

    /// The value, for reading its members or elements. O(1).
    public var slice: JSONSlice { JSONSlice(bytes: padded, range: 0..<count) }

    /// Calls `body` with the text, which is padded.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try padded.withUnsafeBufferPointer { (padded) throws(Failure) in
            try body(UnsafeRawBufferPointer(start: padded.baseAddress, count: count))
        }
    }

    /// Whether both are the same value.
    public static func == (one: JSONText, other: JSONText) -> Bool {
        one.withBytes { one in other.withBytes { sameValue(one, $0, ignoring: .none) } }
    }

    /// The text.
    public var description: String { withBytes { String(decoding: $0, as: UTF8.self) } }
}

// MARK: - Slices

/// A JSON value inside a validated document.
public struct JSONSlice: Sendable {
    let bytes: [UInt8]
    let range: Range<Int>

    /// The value's text.
    public var text: [UInt8] { Array(bytes[range]) }

    /// The value as a separate text. O(bytes).
    public var json: JSONText { JSONText(accepted: bytes[range]) }

    /// Offset of the value in the document, in bytes.
    package var offset: Int { range.lowerBound }

    package var isNull: Bool { bytes[range.lowerBound] == UInt8(ascii: "n") }

    func withCursor<Result, Failure: Error>(
        _ body: (inout JSONCursor, UnsafeRawPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { (memory) throws(Failure) in
            let base = UnsafeRawPointer(memory.baseAddress!)
            var cursor = JSONCursor(base + range.lowerBound)
            return try body(&cursor, base)
        }
    }

    /// The value as a whole number; nil if it is anything else, or out of range.
    public var integer: Int? { Int(String(decoding: bytes[range], as: UTF8.self)) }

    /// The value as an array of strings; nil if it is anything else.
    public var strings: [String]? {
        guard let elements else { return nil }
        let strings = elements.compactMap(\.string)
        return strings.count == elements.count ? strings : nil
    }

    /// The members of a JSON object; nil if the text is anything else, or not JSON.
    public static func members(of json: [UInt8]) -> [String: JSONSlice]? { (try? JSONSlice(document: json))?.members }

    /// The members of an object; nil for any other value. Of names that Swift considers equal, the last one counts.
    public var members: [String: JSONSlice]? {
        orderedMembers.map { Dictionary($0.lazy.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }
    }

    /// The elements of an array; nil if the value is anything else.
    public var elements: [JSONSlice]? { parts(UInt8(ascii: "["), takeValue) }

    /// What is taken of an array or an object, part by part; nil if the value does not begin with that.
    private func parts<Part>(_ first: UInt8, _ take: (inout JSONCursor, UnsafeRawPointer) -> Part) -> [Part]? {
        withCursor { (cursor, base) -> [Part]? in
            guard cursor.byte == first else { return nil }
            var parts: [Part] = []
            guard cursor.enter() else { return parts }
            repeat { parts.append(take(&cursor, base)) } while cursor.takesComma()
            return parts
        }
    }

    /// The value at a pointer that begins here; nil if it leads nowhere. O(bytes).
    package func value(at pointer: JSONPointer) -> JSONSlice? {
        withCursor { (cursor, base) -> JSONSlice? in
            guard let start = PointerSet([pointer]).value(in: cursor.at, entersArrays: true) else { return nil }
            cursor.at = start
            return takeValue(&cursor, base)
        }
    }

    private func takeValue(_ cursor: inout JSONCursor, _ base: UnsafeRawPointer) -> JSONSlice {
        let start = cursor.at - base
        cursor.skipValue()
        return JSONSlice(bytes: bytes, range: start..<cursor.at - base)
    }

    /// The value as a string; nil if it is anything else.
    public var string: String? {
        withCursor { cursor, _ in
            guard cursor.byte == UInt8(ascii: "\"") else { return nil }
            return cursor.takeString().string
        }
    }

    /// The value as a number; nil if it is anything else.
    public var number: Double? { Double(String(decoding: bytes[range], as: UTF8.self)) }

    /// The value as a Boolean; nil if it is neither true nor false.
    public var flag: Bool? { Bool(String(decoding: bytes[range], as: UTF8.self)) }
}

// MARK: Offsets

extension JSONSlice {
    /// A member of an object, its name without escapes.
    package struct Member: Sendable {
        package let name: String
        /// Offset of the name's quote in the document, in bytes.
        package let offset: Int
        package let value: JSONSlice
    }

    /// A whole text, kept unchanged, so offsets are those of the text. O(n).
    ///
    /// - Throws: `JSONError` unless it is exactly one JSON value.
    package init(document json: consuming [UInt8], maxDepth: Int = JSONScanner.depthLimit) throws(JSONError) {
        let count = json.count
        json.append(contentsOf: JSONScanner.zeros)
        range = try json.withUnsafeBufferPointer { (text) throws(JSONError) -> Range<Int> in
            var scanner = JSONScanner(base: UnsafeRawPointer(text.baseAddress!), count: count, maxDepth: maxDepth)
            let range = try scanner.takeValue(depth: 0)
            try scanner.finish()
            return range
        }
        bytes = json
    }

    /// The members of an object in document order; nil if the value is anything else. O(bytes).
    package var orderedMembers: [Member]? {
        parts(UInt8(ascii: "{")) { cursor, base in
            let offset = cursor.at - base
            let name = cursor.takeName().string
            return Member(name: name, offset: offset, value: takeValue(&cursor, base))
        }
    }
}

extension JSONWriter {
    /// Appends a value without white space and with only the escapes that JSON demands. If `byValue`, values that are
    /// equal have one text: members are in one order, numbers of up to 18 digits without an exponent and extra zeros.
    package mutating func append(canonical value: JSONSlice, byValue: Bool = false) {
        value.withCursor { cursor, _ in append(canonical: &cursor, byValue) }
    }

    private mutating func append(canonical cursor: inout JSONCursor, _ byValue: Bool) {
        switch cursor.byte {
        case UInt8(ascii: "\""): append(string: cursor.takeString().text)
        case UInt8(ascii: "{"):
            var members: [(name: [UInt8], value: [UInt8])] = []
            if cursor.enter() {
                repeat {
                    let name = Array(cursor.takeName().text)
                    var value = JSONWriter(capacity: 0)
                    value.append(canonical: &cursor, byValue)
                    members.append((name, value.bytes()))
                } while cursor.takesComma()
            }
            if byValue { members.sort { $0.name.lexicographicallyPrecedes($1.name) } }
            append("{")
            for (name, value) in members {
                separate()
                append(string: name)
                append(":")
                append(value)
            }
            append("}")
        case UInt8(ascii: "["):
            append("[")
            if cursor.enter() {
                repeat {
                    separate()
                    append(canonical: &cursor, byValue)
                } while cursor.takesComma()
            }
            append("]")
        default:
            let token = cursor.takeToken()
            // No literal name begins with a character below the letters.
            guard byValue, token[0] < UInt8(ascii: "A"), let number = ExactDecimal(token) else { return append(token) }
            number.write(into: &self)
        }
    }
}
