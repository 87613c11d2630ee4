/// A plain recursive parser for what the library writes; slow, obvious, and no relation of the library's own.
struct TreeParser {
    private let bytes: [UInt8]
    private var at = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value of a whole text.
    static func tree(_ bytes: [UInt8]) throws -> Tree {
        var parser = TreeParser(bytes)
        let tree = try parser.value()
        parser.skipSpace()
        try require(parser.at == bytes.count, "bytes after the value at \(parser.at)")
        return tree
    }

    private var byte: UInt8 { at < bytes.count ? bytes[at] : 0 }

    private mutating func skipSpace() {
        while [0x20, 0x0A, 0x0D, 0x09].contains(byte) { at += 1 }
    }

    private mutating func takes(_ expected: Unicode.Scalar) -> Bool {
        skipSpace()
        guard byte == UInt8(ascii: expected) else { return false }
        at += 1
        return true
    }

    private mutating func value() throws -> Tree {
        if takes("{") { return try object() }
        if takes("[") { return try array() }
        if byte == UInt8(ascii: "\"") { return .string(try string()) }
        let start = at
        while at < bytes.count, !",]} \n\r\t".utf8.contains(byte) { at += 1 }
        let token = String(decoding: bytes[start..<at], as: UTF8.self)
        try require(Self.isToken(token), "no value at \(start): \(token)")
        return .token(token)
    }

    private static func isToken(_ token: String) -> Bool {
        if ["true", "false", "null"].contains(token) { return true }
        let digits = token.utf8.contains { (0x30...0x39).contains($0) }
        return digits && token.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    }

    private mutating func array() throws -> Tree {
        var elements: [Tree] = []
        if takes("]") { return .array(elements) }
        repeat { elements.append(try value()) } while takes(",")
        try require(takes("]"), "no ] at \(at)")
        return .array(elements)
    }

    private mutating func object() throws -> Tree {
        var members: [Text: Tree] = [:]
        if takes("}") { return .object(members) }
        repeat {
            skipSpace()
            let name = try string()
            try require(takes(":"), "no colon at \(at)")
            let value = try value()
            try require(members.updateValue(value, forKey: name) == nil, "member \(name) twice")
        } while takes(",")
        try require(takes("}"), "no } at \(at)")
        return .object(members)
    }

    private mutating func string() throws -> Text {
        try require(takes("\""), "no string at \(at)")
        var text: [UInt8] = []
        while byte != UInt8(ascii: "\"") {
            try require(at < bytes.count && byte >= 0x20, "bad string at \(at)")
            if byte == UInt8(ascii: "\\") {
                at += 1
                text += try escaped()
            } else {
                text.append(byte)
                at += 1
            }
        }
        at += 1
        return Text(bytes: text)
    }

    private mutating func escaped() throws -> [UInt8] {
        defer { at += 1 }
        switch byte {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(try scalar()).utf8)
        default: return [byte]
        }
    }

    /// Stands at the `u`, and afterwards at the last digit.
    private mutating func scalar() throws -> Character {
        var units = [try unit()]
        if UTF16.isLeadSurrogate(units[0]) {
            at += 2
            units.append(try unit())
        }
        guard let text = String(validating: units, as: UTF16.self) else { throw Refusal("lone surrogate at \(at)") }
        return Character(text)
    }

    private mutating func unit() throws -> UInt16 {
        let digits = bytes[min(at + 1, bytes.count)..<min(at + 5, bytes.count)]
        guard digits.count == 4, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw Refusal("bad escape at \(at)")
        }
        at += 4
        return unit
    }
}
