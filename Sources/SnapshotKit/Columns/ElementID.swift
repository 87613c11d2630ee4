/// The id of a section or an item, as JSON writes it: a string or an integer. One beyond ±(2⁵³ − 1) is written as a
/// string, since most parsers would round it.
///
/// Ids are compared by the UTF-8 bytes of their text: `1` and `"1"` are equal; a composed and a decomposed `é` are
/// not, although Swift's strings are.
public struct ElementID: Hashable, Codable, Sendable {
    /// The text: what the string says, or the integer's digits.
    public let text: String
    /// Whether the id is written without quotes.
    public let isInteger: Bool

    /// A string id. The state checks whether it is acceptable.
    public init(_ text: String) { (self.text, isInteger) = (text, false) }

    /// An integer id.
    public init(_ number: some BinaryInteger) { self.init(verbatimInteger: String(number)) }

    package init(_ id: IDText) { (text, isInteger) = (String(decoding: id.text, as: UTF8.self), id.isInteger) }

    package init(verbatimInteger digits: String) { (text, isInteger) = (digits, digits.utf8.isSafeInteger) }

    /// Whether both texts have the same bytes.
    public static func == (one: ElementID, other: ElementID) -> Bool {
        one.text.utf8.count == other.text.utf8.count && one.text.utf8.elementsEqual(other.text.utf8)
    }

    /// Hashes the bytes of the text.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Reads a string or an integer.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.init(text)
        } else {
            self.init(try container.decode(Int.self))
        }
    }

    /// Writes an integer if the id is written as one, else a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if isInteger, let number = Int(text), String(number) == text {
            try container.encode(number)
        } else {
            try container.encode(text)
        }
    }
}

extension ElementID: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// A string id.
    public init(stringLiteral text: String) { self.init(text) }

    /// An integer id.
    public init(integerLiteral number: Int) { self.init(number) }

    /// The text.
    public var description: String { text }
}

extension JSONWriter {
    /// Appends an id.
    public mutating func append(id: ElementID) {
        if id.isInteger { append(verbatim: id.text) } else { append(string: id.text) }
    }
}

extension UnsafeRawBufferPointer {
    package var canBeID: Bool { !isEmpty && count <= StateLimits.maxIDBytes && !holdsControlCharacter }
}

extension Collection<UInt8> {
    /// Whether UTF-8 text holds a character of Unicode's category Cc: U+0000 to U+001F and U+007F to U+009F.
    var holdsControlCharacter: Bool {
        contains { $0 < 0x20 || $0 == 0x7F } || zip(self, dropFirst()).contains { $0 == 0xC2 && $1 < 0xA0 }
    }
}
