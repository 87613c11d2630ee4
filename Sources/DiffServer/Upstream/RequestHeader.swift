/// A header field of a request to an upstream. Its value may be a secret, and is never printed.
struct RequestHeader: Sendable, Equatable {
    let name: String
    let value: String
}

extension RequestHeader: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { name }
    var debugDescription: String { name }
    var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

extension RequestHeader {
    /// Whether a text is a token (RFC 9110 §5.6.2).
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte != UInt8(ascii: ":") && SessionName.isOfName(byte) || "!#$%&'*+^`|".utf8.contains(byte)
            }
    }

    /// Whether a text is received as it is sent: not empty, no blanks around it, no control characters.
    static func isValue(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return first != UInt8(ascii: " ") && last != UInt8(ascii: " ")
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether a field is the sender's own: framing, the connection, or conditions (RFC 9110, RFC 9112).
    static func isReserved(_ name: String) -> Bool { reserved.contains(name.lowercased()) }

    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "http2-settings",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether a field of this name is likely to hold credentials, which do not belong in a file.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    static let secretWords = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]
}
