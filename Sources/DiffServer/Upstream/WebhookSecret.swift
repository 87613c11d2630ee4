import FoundationEssentials
import HTTPCore

/// Signs the calls of a hook by Standard Webhooks (standardwebhooks.com), with one secret, or with several during a
/// rotation: a receiver accepts a call signed with any of them. Never printed.
struct WebhookSecret: Sendable, Equatable {
    private let keys: [[UInt8]]

    /// The length of a secret in bytes, as Standard Webhooks requires.
    static let lengths = 24...64
    /// The most secrets: each of them signs every call.
    static let maxCount = 4
    static let rule =
        "\"whsec_\" and the Base64 of \(lengths.lowerBound) to \(lengths.upperBound) bytes, "
        + "or up to \(maxCount) of these separated by blanks"

    /// Parses the written form, where `whsec_` is optional; nil for anything else.
    init?(_ text: String) {
        let words = text.split { " ,".contains($0) }
        guard (1...Self.maxCount).contains(words.count) else { return nil }
        keys = words.compactMap { word in
            let letters = word.hasPrefix("whsec_") ? word.dropFirst(6) : word
            return Data(base64Encoded: String(letters)).map(Array.init)
        }
        guard keys.count == words.count, keys.allSatisfy({ Self.lengths.contains($0.count) }) else { return nil }
    }

    /// The header fields of a call.
    ///
    /// - Parameters:
    ///   - id: an id without a dot. All tries of a call share it, so that the receiver carries the call out once.
    ///   - seconds: the time of this try, in seconds since 1970. Receivers refuse old calls.
    func fields(id: String, seconds: Int, body: [UInt8]) -> [RequestHeader] {
        let signed = Array("\(id).\(seconds).".utf8) + body
        let signatures = keys.map { "v1," + Data(Digests.hmacSHA256(signed, key: $0)).base64EncodedString() }
        return [
            RequestHeader(name: "webhook-id", value: id),
            RequestHeader(name: "webhook-timestamp", value: "\(seconds)"),
            RequestHeader(name: "webhook-signature", value: signatures.joined(separator: " ")),
        ]
    }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "WebhookSecret" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
