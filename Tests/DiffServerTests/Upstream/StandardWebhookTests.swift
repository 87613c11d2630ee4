import Testing

@testable import diffserver

@Suite struct StandardWebhookTests {
    private static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    private func fields(_ secret: String, body: String = "{\"test\": 2432232314}") throws -> [RequestHeader] {
        StandardWebhook.fields(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: Array(body.utf8),
            secret: try #require(WebhookSecret(secret)))
    }

    /// The example of the libraries of Standard Webhooks; Python's `hmac` gives the same.
    @Test func `the published example is signed as published`() throws {
        let expected = [
            RequestHeader(name: "webhook-id", value: "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            RequestHeader(name: "webhook-timestamp", value: "1614265330"),
            RequestHeader(name: "webhook-signature", value: Self.signature),
        ]
        #expect(try fields(Self.key) == expected)
    }

    @Test func `each of several secrets signs`() throws {
        let other = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
        let alone = try fields(other)[2].value
        #expect(alone != Self.signature)
        #expect(try fields("\(other) \(Self.key)")[2].value == "\(alone) \(Self.signature)")
        #expect(try fields(Self.key, body: "{}")[2].value != Self.signature)
    }
}
