import Testing

@testable import DiffService
@testable import DiffSessions

@Suite struct TokenSecretsTests {
    private static let secrets = (0..<3).map { Array(repeating: UInt8(ascii: "a") + $0, count: 32) }
    private static let now = WallTime(seconds: 1_800_000_000)
    private static let token = Token(sessions: ["s"], scopes: [.read], expires: WallTime(seconds: 1_800_000_060))

    @Test func `the first signs, and all verify`() {
        let (old, new, other) = (Self.secrets[0], Self.secrets[1], Self.secrets[2])
        let secrets = TokenSecrets([new, old])
        let signed = secrets.signed(Self.token)
        #expect(Token(signed, secrets: [new], at: Self.now) == Self.token)
        #expect(Token(signed, secrets: [old], at: Self.now) == nil)
        for secret in [old, new] { #expect(secrets.token(Self.token.signed(by: secret), at: Self.now) == Self.token) }
        #expect(secrets.token(Self.token.signed(by: other), at: Self.now) == nil)
    }

    @Test func `those that are taken in place of others hold from then on`() {
        let (old, new) = (Self.secrets[0], Self.secrets[1])
        let secrets = TokenSecrets([old])
        secrets.replace(by: [new])
        #expect(secrets.token(Self.token.signed(by: old), at: Self.now) == nil)
        #expect(secrets.token(Self.token.signed(by: new), at: Self.now) == Self.token)
        #expect(secrets.token(secrets.signed(Self.token), at: Self.now) == Self.token)
    }

    private static let long = String(repeating: "x", count: 32)

    @Test(
        arguments: [
            (long, 1), (long + "\n", 1), (long + "\r\n" + long + "y", 2), ("\n\n" + long + "\n\n", 1), ("", nil),
            ("\n", nil),
            (long.dropLast() + "", nil), (long + "\nshort", nil), (long.dropLast() + "\r\n", nil),
            (String(repeating: long + "\n", count: 16), 16), (String(repeating: long + "\n", count: 17), nil),
        ] as [(String, Int?)])
    func `each line is a secret`(_ text: String, _ count: Int?) {
        #expect(TokenSecrets.read(text.utf8)?.count == count)
    }
}
