/// Calls that their receiver can check: Standard Webhooks (standardwebhooks.com), symmetric signatures.
enum StandardWebhook {
    /// The header fields of a call.
    ///
    /// - Parameters:
    ///   - id: the same for each try of one call, so that a receiver does once what comes twice. Without a dot.
    ///   - seconds: when this try is made, since 1970. A receiver refuses what is old.
    static func fields(id: String, seconds: Int, body: [UInt8], secret: WebhookSecret) -> [RequestHeader] {
        [
            RequestHeader(name: "webhook-id", value: id),
            RequestHeader(name: "webhook-timestamp", value: "\(seconds)"),
            RequestHeader(
                name: "webhook-signature", value: secret.signatures(of: Array("\(id).\(seconds).".utf8) + body)),
        ]
    }
}
