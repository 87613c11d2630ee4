/// A place in a JSON document (RFC 6901).
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The reference tokens, unescaped, as UTF-8.
    public let tokens: [[UInt8]]

    /// The whole document.
    public static let root = JSONPointer(tokens: [])

    static let id = JSONPointer(tokens: [Array("id".utf8)])

    package init(tokens: [[UInt8]]) { self.tokens = tokens }

    /// Reads the string form: empty, or tokens each after a `/`, with `~1` for `/` and `~0` for `~`; else nil.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let tokens = parts.dropFirst().compactMap(Self.unescaped)
        guard parts[0].isEmpty, tokens.count == parts.count - 1 else { return nil }
        self.tokens = tokens
    }

    private static func unescaped(_ part: Substring.UTF8View) -> [UInt8]? {
        var token: [UInt8] = []
        var bytes = part.makeIterator()
        while var byte = bytes.next() {
            if byte == UInt8(ascii: "~") {
                guard let next = bytes.next(), "01".utf8.contains(next) else { return nil }
                byte = next == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/")
            }
            token.append(byte)
        }
        return token
    }

    /// A token as written in the string form.
    package static func escaped(_ token: some Sequence<UInt8>) -> String {
        var bytes: [UInt8] = []
        escape(token) { bytes.append($0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Calls `body` with the bytes of that.
    @inline(__always)
    static func escape(_ token: some Sequence<UInt8>, _ body: (UInt8) -> Void) {
        for byte in token {
            guard byte == UInt8(ascii: "~") || byte == UInt8(ascii: "/") else {
                body(byte)
                continue
            }
            body(UInt8(ascii: "~"))
            body(byte == UInt8(ascii: "~") ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        }
    }

    /// The string form.
    public var description: String { tokens.map { "/" + Self.escaped($0) }.joined() }
}

extension [UInt8] {
    /// An array index as RFC 6901 §4 writes it: digits without a leading zero. Nil for any other token.
    var arrayIndex: Int? {
        guard (1...9).contains(count), allSatisfy(\.isDigit), count == 1 || self[0] != UInt8(ascii: "0") else {
            return nil
        }
        return reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
