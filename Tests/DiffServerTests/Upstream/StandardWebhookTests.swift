@testable import DiffUpstream
import Testing

@Suite struct StandardWebhookTests {
    private static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    private func fields(_ secret: String, body: String = "{\"test\": 2432232314}") throws -> [RequestHeader] {
        try #require(WebhookSecret(secret)).fields(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330, body: Array(body.utf8))
    }

    /// The example in the Standard Webhooks libraries; Python's `hmac` agrees.
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

@Suite struct WebhookSecretTests {
    /// The Base64 of `count` bytes `a`.
    private static func letters(_ count: Int) -> String {
        let groups = String(repeating: "YWFh", count: count / 3)
        return groups + ["", "YQ==", "YWE="][count % 3]
    }

    private static let taken: [String] = [
        letters(24), "whsec_" + letters(24), "whsec_" + letters(64), letters(25), letters(24) + " whsec_" + letters(30),
        letters(24) + "," + letters(30), Array(repeating: letters(24), count: 4).joined(separator: ", "),
    ]
    private static let refused: [String] = [
        "", " ", "é", "whsec_", letters(23), letters(65), "whsec_whsec_" + letters(24), "whsec_" + letters(24) + "!",
        letters(25).replacing("=", with: ""), letters(24) + "\n", letters(24) + " " + letters(23),
        Array(repeating: letters(24), count: 5).joined(separator: " "),
    ]

    @Test(arguments: taken.map { ($0, true) } + refused.map { ($0, false) })
    func `a secret is Base64 of 24 to 64 bytes`(_ text: String, _ isTaken: Bool) {
        #expect((WebhookSecret(text) != nil) == isTaken)
    }

    @Test func `nothing that prints it shows it`() throws {
        let text = "whsec_" + Self.letters(24)
        let secret = try #require(WebhookSecret(text))
        let hook = ListDefinition.Hook(url: try URLTemplate("http://h/"), timeout: .seconds(2), secret: secret)
        var dumped = ""
        dump(hook, to: &dumped)
        dump(secret, to: &dumped)
        let shown = ["\(secret)", String(reflecting: secret), "\(hook)", String(reflecting: hook), dumped]
        for text in shown {
            #expect(text.contains("WebhookSecret"))
            #expect(!text.contains("YWFh") && !text.contains("97"), "\(text)")
        }
    }
}
