/// Text compared by its UTF-8 bytes, as the contract compares ids. Swift's `String ==` treats canonical equivalents as
/// equal.
struct Text: Hashable, Comparable, ExpressibleByStringLiteral, CustomStringConvertible, Sendable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }
    init(_ text: String) { bytes = Array(text.utf8) }
    init(stringLiteral text: String) { self.init(text) }

    var description: String { String(decoding: bytes, as: UTF8.self) }

    static func < (one: Text, other: Text) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }
}

/// Why an applier or a reader of the tests refuses its input.
struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Refuses unless a claim holds.
func require(_ claim: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !claim { throw Refusal(otherwise()) }
}
