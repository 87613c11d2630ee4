/// A session's name: `[A-Za-z0-9._~:-]{1,128}`, not `.` or `..`.
enum SessionName {
    /// For a client whose name breaks it.
    static let rule = "a session's name has 1 to 128 letters, digits and ._~:- and is neither \".\" nor \"..\""

    /// Bytes of a name.
    static let maxBytes = 128

    static func isWhole(_ text: String) -> Bool {
        var text = text
        return text.withUTF8(isWhole)
    }

    static func isWhole(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        // Clients remove the path segments `.` and `..`.
        let dots = name.count { $0 == UInt8(ascii: ".") }
        return (1...maxBytes).contains(name.count) && (dots > 2 || dots < name.count) && name.allSatisfy(isOfName)
    }

    /// Whether a text, which must not be empty, may be the start of a name.
    static func isStart(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isOfName)
    }

    /// Whether a name may hold it.
    static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
