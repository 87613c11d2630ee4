import Testing

@testable import diffserver

@Suite struct WebhookSecretTests {
    /// Base64 of that many bytes `a`.
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
        let hook = ListDefinition.Hook(url: try URLTemplate("http://h/"), secret: secret)
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
