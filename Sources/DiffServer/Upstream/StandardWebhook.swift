/// Calls that their receiver can verify: Standard Webhooks (standardwebhooks.com), symmetric signatures.
enum StandardWebhook {
    /// The header fields of a call.
    ///
    /// - Parameters:
    ///   - id: without a dot. The same for each try of one call, so that the receiver carries it out once.
    ///   - seconds: when this try is made, since 1970. Receivers refuse old calls.
    static func fields(id: String, seconds: Int, body: [UInt8], secret: WebhookSecret) -> [RequestHeader] {
        [
            RequestHeader(name: "webhook-id", value: id),
            RequestHeader(name: "webhook-timestamp", value: "\(seconds)"),
            RequestHeader(
                name: "webhook-signature", value: secret.signatures(of: Array("\(id).\(seconds).".utf8) + body)),
        ]
    }
}
