/// A JSON value inside a document that was read and found valid.
public struct JSONSlice: Sendable {
    let bytes: [UInt8]
    let range: Range<Int>

    /// The value's text.
    public var text: [UInt8] { Array(bytes[range]) }

    /// Calls `body` with a cursor at the value.
    func withCursor<Result, Failure: Error>(
        _ body: (inout JSONCursor, UnsafeRawPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { (memory) throws(Failure) in
            let base = UnsafeRawPointer(memory.baseAddress!)
            var cursor = JSONCursor(base + range.lowerBound)
            return try body(&cursor, base)
        }
    }

    /// The value as a whole number; nil if it is anything else, or does not fit.
    public var integer: Int? { Int(String(decoding: bytes[range], as: UTF8.self)) }

    /// The value as an array of strings; nil if it is anything else.
    public var strings: [String]? {
        withCursor { (cursor, _) -> [String]? in
            guard cursor.byte == UInt8(ascii: "[") else { return nil }
            var strings: [String] = []
            guard cursor.enter() else { return strings }
            repeat {
                guard cursor.byte == UInt8(ascii: "\"") else { return nil }
                strings.append(String(decoding: Array(cursor.takeString().text), as: UTF8.self))
            } while cursor.takesComma()
            return strings
        }
    }
}
