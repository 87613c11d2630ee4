import FoundationEssentials

/// What signs the calls of a hook: one secret, or several while one takes another's place. A receiver takes a call that
/// one of them signed.
///
/// Nothing that prints a value shows it.
struct WebhookSecret: Sendable, Equatable {
    private let keys: [[UInt8]]

    /// Bytes of a secret, as Standard Webhooks wants them.
    static let lengths = 24...64
    /// Each is one more signature of every call.
    static let maxCount = 4
    /// What `init` wants, in words.
    static let rule =
        "\"whsec_\" and the Base64 of \(lengths.lowerBound) to \(lengths.upperBound) bytes, "
        + "or up to \(maxCount) of these with blanks between them"

    /// Reads the written form; nil for anything else. `whsec_` may be left out.
    init?(_ text: String) {
        let words = text.split { " ,".contains($0) }
        guard (1...Self.maxCount).contains(words.count) else { return nil }
        keys = words.compactMap { word in
            let letters = word.hasPrefix("whsec_") ? word.dropFirst(6) : word
            return Data(base64Encoded: String(letters)).map(Array.init)
        }
        guard keys.count == words.count, keys.allSatisfy({ Self.lengths.contains($0.count) }) else { return nil }
    }

    /// The signatures of bytes, one for each secret: `v1,` and the Base64 of HMAC-SHA256, with blanks between them.
    func signatures(of bytes: [UInt8]) -> String {
        let signatures = keys.map { "v1," + Data(Digests.hmacSHA256(bytes, key: $0)).base64EncodedString() }
        return signatures.joined(separator: " ")
    }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "WebhookSecret" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
