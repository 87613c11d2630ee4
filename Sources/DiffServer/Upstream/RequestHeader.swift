/// A header field of a request to an upstream. Its value may be a secret, and nothing that prints it shows it.
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
    /// Whether a text is a field's name: a token (RFC 9110 §5.6.2).
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Whether a text can be sent as a value and is read as the same: not empty, no blanks around it, no controls.
    static func isValue(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return first != UInt8(ascii: " ") && last != UInt8(ascii: " ")
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Fields that frame a message, belong to a connection, or are what a conditional request consists of (RFC 9110,
    /// RFC 9112): whoever sends the request sets them.
    static func isReserved(_ name: String) -> Bool { reserved.contains(name.lowercased()) }

    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "http2-settings",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether a field of this name most likely says who asks, so that its value has no place in a file.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    /// What names of fields hold whose values are secrets.
    static let secretWords = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]
}
