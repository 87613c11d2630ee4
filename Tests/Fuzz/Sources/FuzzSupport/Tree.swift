// JSON once more, written to be obviously right and nothing else: a tree of values, by recursive descent, one byte at a
// time. What the library accepts and refuses is held against it, so it shares no code with the library.

/// A JSON value. Numbers are their tokens, strings their text in UTF-8.
public indirect enum Tree: Equatable {
    case null, yes, no
    case number([UInt8])
    case string([UInt8])
    case array([Tree])
    case object([Member])

    /// A member of an object.
    public struct Member: Equatable {
        /// Its name.
        public var name: [UInt8]
        /// Its value.
        public var value: Tree
    }

    /// Reads strict JSON of at most `maxDepth` arrays and objects around a value; nil for anything else.
    public init?(_ json: [UInt8], maxDepth: Int = 64) {
        var parser = Parser(bytes: json, maxDepth: maxDepth)
        guard let tree = try? parser.whole() else { return nil }
        self = tree
    }

    /// A member of an object.
    public subscript(name: String) -> Tree? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.elementsEqual(name.utf8) }?.value
    }

    /// The elements of an array; empty for anything else.
    public var elements: [Tree] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }

    /// The text of an id: of a string, or of a number's token.
    public var idText: [UInt8]? {
        switch self {
        case .string(let text), .number(let text): text
        default: nil
        }
    }

    /// The value as a whole number, if it is one.
    public var integer: Int? {
        guard case .number(let token) = self else { return nil }
        return Int(String(decoding: token, as: UTF8.self))
    }

    /// The same value with the members of every object in order, so that `==` is equality of values.
    public var sorted: Tree {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(
                members.map { Member(name: $0.name, value: $0.value.sorted) }
                    .sorted { $0.name.lexicographicallyPrecedes($1.name) })
        default: self
        }
    }
}

private struct Refusal: Error {}

private struct Parser {
    let bytes: [UInt8]
    let maxDepth: Int
    var at = 0

    init(bytes: [UInt8], maxDepth: Int) { (self.bytes, self.maxDepth) = (bytes, maxDepth) }

    var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    mutating func whole() throws -> Tree {
        let tree = try value(depth: 0)
        space()
        guard at == bytes.count else { throw Refusal() }
        return tree
    }

    mutating func space() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
    }

    mutating func take(_ text: StaticString) throws {
        for index in 0..<text.utf8CodeUnitCount {
            guard next == text.utf8Start[index] else { throw Refusal() }
            at += 1
        }
    }

    mutating func value(depth: Int) throws -> Tree {
        space()
        switch next {
        case UInt8(ascii: "n"):
            try take("null")
            return .null
        case UInt8(ascii: "t"):
            try take("true")
            return .yes
        case UInt8(ascii: "f"):
            try take("false")
            return .no
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        default: return .number(try number())
        }
    }

    mutating func array(depth: Int) throws -> Tree {
        guard depth <= maxDepth else { throw Refusal() }
        try take("[")
        var elements: [Tree] = []
        space()
        if next == UInt8(ascii: "]") {
            at += 1
            return .array([])
        }
        while true {
            elements.append(try value(depth: depth))
            space()
            if next == UInt8(ascii: "]") {
                at += 1
                return .array(elements)
            }
            try take(",")
        }
    }

    mutating func object(depth: Int) throws -> Tree {
        guard depth <= maxDepth else { throw Refusal() }
        try take("{")
        var members: [Tree.Member] = []
        var names: Set<[UInt8]> = []
        space()
        if next == UInt8(ascii: "}") {
            at += 1
            return .object([])
        }
        while true {
            space()
            let name = try string()
            guard names.insert(name).inserted else { throw Refusal() }
            space()
            try take(":")
            members.append(Tree.Member(name: name, value: try value(depth: depth)))
            space()
            if next == UInt8(ascii: "}") {
                at += 1
                return .object(members)
            }
            try take(",")
        }
    }

    mutating func number() throws -> [UInt8] {
        let start = at
        if next == UInt8(ascii: "-") { at += 1 }
        if next == UInt8(ascii: "0") { at += 1 } else { try digits() }
        if next == UInt8(ascii: ".") {
            at += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            at += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { at += 1 }
            try digits()
        }
        return Array(bytes[start..<at])
    }

    mutating func digits() throws {
        let start = at
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { at += 1 }
        guard at > start else { throw Refusal() }
    }

    mutating func string() throws -> [UInt8] {
        try take("\"")
        var text: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw Refusal() }
            at += 1
            if byte == UInt8(ascii: "\\") { try escape(into: &text) } else { text.append(byte) }
        }
        try take("\"")
        // The standard library knows what well-formed UTF-8 is.
        guard String(validating: text, as: UTF8.self) != nil else { throw Refusal() }
        return text
    }

    mutating func escape(into text: inout [UInt8]) throws {
        guard let kind = next else { throw Refusal() }
        at += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return text.append(kind)
        case UInt8(ascii: "b"): return text.append(0x08)
        case UInt8(ascii: "f"): return text.append(0x0C)
        case UInt8(ascii: "n"): return text.append(0x0A)
        case UInt8(ascii: "r"): return text.append(0x0D)
        case UInt8(ascii: "t"): return text.append(0x09)
        case UInt8(ascii: "u"): break
        default: throw Refusal()
        }
        var scalar = try unit()
        if (0xD800..<0xDC00).contains(scalar) {
            try take("\\u")
            let low = try unit()
            guard (0xDC00..<0xE000).contains(low) else { throw Refusal() }
            scalar = 0x10000 + (scalar - 0xD800) * 0x400 + low - 0xDC00
        }
        guard let character = Unicode.Scalar(scalar) else { throw Refusal() }
        text += Array(String(Character(character)).utf8)
    }

    mutating func unit() throws -> UInt32 {
        guard at + 4 <= bytes.count else { throw Refusal() }
        let digits = bytes[at..<at + 4]
        guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { throw Refusal() }
        at += 4
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)!
    }
}
