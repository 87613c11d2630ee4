/// A recursive parser of strict JSON (RFC 8259) without repeated names; slow, obvious, and unrelated to the library's
/// own.
struct TreeParser {
    private let bytes: [UInt8]
    private let maxDepth: Int
    private var at = 0

    private init(_ bytes: [UInt8], _ maxDepth: Int) { (self.bytes, self.maxDepth) = (bytes, maxDepth) }

    /// The value of a whole text, with at most `maxDepth` arrays and objects around a value.
    static func tree(_ bytes: [UInt8], maxDepth: Int = 1_000) throws -> Tree {
        var parser = TreeParser(bytes, maxDepth)
        let tree = try parser.value(depth: 0)
        parser.skipSpace()
        try require(parser.at == bytes.count, "bytes after the value at \(parser.at)")
        return tree
    }

    private var byte: UInt8 { at < bytes.count ? bytes[at] : 0 }

    private mutating func skipSpace() {
        while [0x20, 0x0A, 0x0D, 0x09].contains(byte) { at += 1 }
    }

    private mutating func takes(_ expected: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: expected), at < bytes.count else { return false }
        at += 1
        return true
    }

    private mutating func takesToken(_ expected: Unicode.Scalar) -> Bool {
        skipSpace()
        return takes(expected)
    }

    private mutating func takes(word: String) -> Bool {
        guard bytes[at...].starts(with: word.utf8) else { return false }
        at += word.utf8.count
        return true
    }

    private mutating func value(depth: Int) throws -> Tree {
        if takesToken("{") { return try object(depth: depth + 1) }
        if takes("[") { return try array(depth: depth + 1) }
        if byte == UInt8(ascii: "\"") { return .string(try string()) }
        for word in ["true", "false", "null"] where takes(word: word) { return .token(word) }
        return try number()
    }

    private mutating func number() throws -> Tree {
        let start = at
        _ = takes("-")
        if !takes("0") { try skipDigits() }
        if takes(".") { try skipDigits() }
        if takes("e") || takes("E") {
            if !takes("+") { _ = takes("-") }
            try skipDigits()
        }
        return .token(String(decoding: bytes[start..<at], as: UTF8.self))
    }

    private mutating func skipDigits() throws {
        let start = at
        while (0x30...0x39).contains(byte) { at += 1 }
        try require(at > start, "no digit at \(at)")
    }

    private mutating func array(depth: Int) throws -> Tree {
        try require(depth <= maxDepth, "too deep at \(at)")
        var elements: [Tree] = []
        if takesToken("]") { return .array(elements) }
        repeat { elements.append(try value(depth: depth)) } while takesToken(",")
        try require(takes("]"), "no ] at \(at)")
        return .array(elements)
    }

    private mutating func object(depth: Int) throws -> Tree {
        try require(depth <= maxDepth, "too deep at \(at)")
        var members: [Text: Tree] = [:]
        if takesToken("}") { return .object(members) }
        repeat {
            skipSpace()
            let name = try string()
            try require(takesToken(":"), "no colon at \(at)")
            let value = try value(depth: depth)
            try require(members.updateValue(value, forKey: name) == nil, "member \(name) twice")
        } while takesToken(",")
        try require(takes("}"), "no } at \(at)")
        return .object(members)
    }

    private mutating func string() throws -> Text {
        try require(takes("\""), "no string at \(at)")
        var text: [UInt8] = []
        while !takes("\"") {
            try require(byte >= 0x20, "bad string at \(at)")
            if takes("\\") {
                text += try escaped()
            } else {
                text.append(byte)
                at += 1
            }
        }
        try require(String(validating: text, as: UTF8.self) != nil, "no UTF-8 before \(at)")
        return Text(bytes: text)
    }

    private mutating func escaped() throws -> [UInt8] {
        if takes("u") { return try scalar() }
        let plain: [UInt8: UInt8] = [
            UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 0x08,
            UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
        ]
        guard let byte = plain[byte] else { throw Refusal("bad escape at \(at)") }
        at += 1
        return [byte]
    }

    private mutating func scalar() throws -> [UInt8] {
        var units = [try unit()]
        if UTF16.isLeadSurrogate(units[0]) {
            try require(takes(word: "\\u"), "lone surrogate at \(at)")
            units.append(try unit())
        }
        guard let text = String(validating: units, as: UTF16.self) else { throw Refusal("lone surrogate at \(at)") }
        return Array(text.utf8)
    }

    private mutating func unit() throws -> UInt16 {
        let digits = String(decoding: bytes[at...].prefix(4), as: UTF8.self)
        guard digits.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
            throw Refusal("bad escape at \(at)")
        }
        at += 4
        return unit
    }
}
