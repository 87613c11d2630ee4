@testable import DiffService
@testable import DiffSessions
@testable import DiffStores
import HTTPCore
import SnapshotKit
import SnapshotViews
import Testing

@Suite struct TokenTests {
    private static let secret = Array("a secret of at least thirty-two bytes".utf8)
    private static let now = WallTime(seconds: 1_800_000_000)

    /// A token of any header and claims, signed as HS256.
    private func signed(_ header: String, _ claims: String, by secret: [UInt8] = secret) -> String {
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return text + "." + Base64URL.encode(Digests.hmacSHA256(Array(text.utf8), key: secret))
    }

    private func token(_ claims: String) -> Token? {
        Token(signed(#"{"alg":"HS256"}"#, claims), secret: Self.secret, at: Self.now)
    }

    private static let claims = #"{"sub":"s","scope":"read","exp":1800000060}"#

    @Test func `what was signed is read`() {
        let made = 1_800_000_000_007
        for sessions in [["a~b"], ["a", "b"], (0..<64).map { String(repeating: "x", count: 126) + "\($0 + 10)" }] {
            for scopes: Set<Token.Scope> in [[.read, .edit], [.operation(.move)], [.read, .operation(.clear)]] {
                for made in [nil, made, made - 7, made + 993] {
                    let token = Token(
                        sessions: sessions, scopes: scopes, expires: WallTime(seconds: 1_800_000_001), made: made,
                        id: "x")
                    #expect(Token(token.signed(by: Self.secret), secret: Self.secret, at: Self.now) == token)
                    var other = token
                    other.id = nil
                    #expect(other.signed(by: Self.secret) != other.signed(by: Self.secret))
                }
            }
        }
    }

    @Test(
        arguments: [
            ("1800000000.123", 1_800_000_000_123), ("1800000000", 1_800_000_000_000),
            // Between two milliseconds, the earlier one counts.
            ("1800000000.9999", 1_800_000_000_999), ("1763769600.001", 1_763_769_600_001), ("1.8e9", 1_800_000_000_000),
            ("-1e999999999", -1_000_000_000_000_000), ("0", 0),
        ])
    func `when it was made is read in milliseconds`(_ made: String, _ milliseconds: Int) {
        #expect(token(#"{"sub":"s","scope":"read","exp":1900000000,"iat":\#(made)}"#)?.made == milliseconds)
    }

    @Test func `each millisecond comes back as it was written`() {
        for made in 1_799_999_990_000..<1_799_999_992_000 {
            let token = Token(sessions: ["s"], scopes: [.read], expires: WallTime(seconds: 1_800_000_001), made: made)
            #expect(Token(token.signed(by: Self.secret), secret: Self.secret, at: Self.now)?.made == made)
        }
    }

    // A view is what a token leaves out: one that is not understood must not be taken for one that leaves out nothing.
    @Test(arguments: [#"{"limits":1}"#, "null", "1", "[]", #"{"limit":-1}"#, #"{"order":[{},{},{},{},{}]}"#])
    func `a token with a view that is not understood is refused`(_ view: String) {
        #expect(token(#"{"sub":"s","scope":"read","exp":1900000000,"view":\#(view)}"#) == nil)
    }

    @Test(arguments: [
        #"{"limit":1}"#, "{}", #"{"sectionFields":["/content/title"],"where":[{"at":"/content/a","is":"é\""}]}"#,
        #"{"sectionFields":["/content"],"limit":1}"#, #"{"listFields":["/content"],"sectionFields":["/content"]}"#,
    ])
    func `a token keeps its view, and is good for reading only`(_ json: String) throws {
        let view = try StateView(json: json, hidesContents: true)
        let claims = { (scope: String) in #"{"sub":"s","scope":"\#(scope)","exp":1900000000,"view":\#(json)}"# }
        #expect(token(claims("read"))?.view == view)
        #expect(token(claims("read edit")) == nil)
        #expect(token(claims("edit:move")) == nil)
        let made = Token(sessions: ["s"], scopes: [.read], expires: WallTime(seconds: 1_800_000_001), view: view)
        #expect(Token(made.signed(by: Self.secret), secret: Self.secret, at: Self.now)?.view == view)
    }

    @Test(
        arguments: [
            (#"["a"]"#, ["a"]), (#"["a","b"]"#, ["a", "b"]), ("[]", nil), (#""a""#, nil), ("null", nil), ("[1]", nil),
            (#"["a",null]"#, nil),
            ("[" + (0..<64).map { "\"\($0)\"" }.joined(separator: ",") + "]", (0..<64).map { "\($0)" }),
            ("[" + (0..<65).map { "\"\($0)\"" }.joined(separator: ",") + "]", nil),
        ] as [(String, [String]?)])
    func `sessions are a list of up to 64`(_ list: String, _ sessions: [String]?) {
        #expect(token(#"{"sessions":\#(list),"scope":"read","exp":1900000000}"#)?.sessions == sessions)
        #expect(token(#"{"sub":"a","sessions":\#(list),"scope":"read","exp":1900000000}"#) == nil)
    }

    // RFC 7515, appendix A.1, whose signature others have checked; its claims have no session.
    @Test func `the signature is that of the RFC`() throws {
        let key = try #require(
            Base64URL.decode(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow".utf8))
        let signed =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
            + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        #expect(
            Base64URL.encode(Digests.hmacSHA256(Array(signed.utf8), key: key))
                == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    }

    @Test(arguments: [
        #"{"alg":"none"}"#, #"{"alg":"None"}"#, #"{"alg":"HS384"}"#, #"{"alg":"hs256"}"#, #"{"alg":"RS256"}"#,
        #"{"alg":["HS256"]}"#,
        #"{"alg":null}"#, #"{"typ":"JWT"}"#, #"{"alg":"HS256","alg":"none"}"#, #"{"alg":"HS256","crit":["exp"]}"#,
        #"["HS256"]"#, "",
        #"{"alg":"HS256""#,
    ])
    func `another header is refused, however well it is signed`(_ header: String) {
        #expect(Token(signed(header, Self.claims), secret: Self.secret, at: Self.now) == nil)
    }

    @Test func `without a signature, or with a wrong one, it is refused`() {
        let good = signed(#"{"alg":"HS256"}"#, Self.claims)
        let parts = good.split(separator: ".").map(String.init)
        var flipped = Base64URL.decode(parts[2].utf8)!
        flipped[31] ^= 1
        for text in [
            "\(parts[0]).\(parts[1])", "\(parts[0]).\(parts[1]).", "\(good).", "\(good).x", " \(good)", "\(good)=", "",
            "..", "a.b.c",
            "\(parts[0]).\(parts[1]).\(Base64URL.encode(flipped))",
            "\(parts[0]).\(parts[1]).\(Base64URL.encode(Array(flipped.dropLast())))",
            "\(parts[0]).\(Base64URL.encode(Array(Self.claims.replacing("\"s\"", with: "\"t\"").utf8))).\(parts[2])",
            signed(#"{"alg":"none"}"#, Self.claims).split(separator: ".").dropLast().joined(separator: ".") + ".",
            signed(#"{"alg":"HS256"}"#, Self.claims, by: Self.secret + [1]),
            signed(#"{"alg":"HS256"}"#, Self.claims, by: []),
        ] {
            #expect(Token(text, secret: Self.secret, at: Self.now) == nil, "\(text)")
        }
        #expect(Token(good, secret: Self.secret, at: Self.now) != nil)
    }

    @Test(arguments: [
        ("1800000001", true), ("1800000000", false), ("1799999999", false), ("1800000000.5", true),
        ("1.8000001e9", true), ("1e300", true),
        ("1e15", true), ("9223372036854775807", true), ("9223372036854775808", true), ("1e999999999", true),
        ("-9223372036854775809", false), ("-1e300", false), ("-1e999999999", false), ("1e-999999999", false),
        ("1\(String(repeating: "0", count: 400))", true),
        ("-1", false), ("0", false), (#""1800000060""#, false), ("null", false), ("[]", false),
    ])
    func `it ends when it expires`(_ expires: String, _ isGood: Bool) {
        #expect((token(#"{"sub":"s","scope":"read","exp":\#(expires)}"#) != nil) == isGood)
    }

    @Test(arguments: [
        ("1800000000", true), ("1799999999", true), ("1800000001", false), ("1e300", false), (#""1799999999""#, false),
        ("null", false),
        ("1e999999999", false), ("9223372036854775808", false), ("-1e999999999", true), ("-9223372036854775809", true),
    ])
    func `it begins when it says`(_ start: String, _ isGood: Bool) {
        #expect((token(#"{"sub":"s","scope":"read","exp":1900000000,"nbf":\#(start)}"#) != nil) == isGood)
    }

    // A token from the future was made under a wrong clock, and would outlive its revocation.
    @Test(arguments: [
        ("1800000000", true), ("1800000060", true), ("1800000059.999", true), ("1800000061", false), ("1e300", false),
        ("0", true), ("-1e999999999", true), ("1e999999999", false), ("9223372036854775807", false),
        (#""1800000000""#, false), ("null", false),
    ])
    func `it was made at most a minute from now`(_ made: String, _ isGood: Bool) {
        #expect((token(#"{"sub":"s","scope":"read","exp":1900000000,"iat":\#(made)}"#) != nil) == isGood)
    }

    @Test func `session, scope and expiry are required, others ignored`() {
        #expect(token(#"{"scope":"read","exp":1900000000}"#) == nil)
        #expect(token(#"{"sub":7,"scope":"read","exp":1900000000}"#) == nil)
        #expect(token(#"{"sub":"s","exp":1900000000}"#) == nil)
        #expect(token(#"{"sub":"s","scope":["read"],"exp":1900000000}"#) == nil)
        #expect(token(#"{"sub":"s","scope":"read"}"#) == nil)
        #expect(token(#"{"sub":"s","scope":"read","exp":1900000000,"aud":"x","x":{}}"#)?.sessions == ["s"])
    }

    @Test(
        arguments: [
            ("read", [.read]), ("edit", [.edit]), ("read edit", [.read, .edit]), ("edit  read x", [.read, .edit]),
            ("", []), ("READ", []),
            ("write", []), ("read,edit", []), ("edit:move", [.operation(.move)]),
            ("read edit:insert edit:delete", [.read, .operation(.insert), .operation(.delete)]), ("edit:", []),
            ("edit:Move", []), ("edit:write", []), ("read:move", []), ("read edit:sort", [.read]),
        ] as [(String, Set<Token.Scope>)])
    func `scopes are separated by spaces`(_ text: String, _ scopes: Set<Token.Scope>) {
        #expect(token(#"{"sub":"s","scope":"\#(text)","exp":1900000000}"#)?.scopes == scopes)
    }

    @Test func `it is good for its session and its scope alone`() {
        let permissions: [(String, Set<Token.Scope>, Permission, Bool)] = [
            ("s", [.read], .read, true), ("s", [.read], .edit, false), ("s", [.edit], .edit, true),
            ("s", [.edit], .read, false),
            ("s2", [.read, .edit], .read, false), ("S", [.read, .edit], .edit, false),
            ("s", [.read, .edit], .write, false),
            ("s", [.read, .edit], .operate, false), ("s", [.read, .edit], .compute, false), ("s", [], .read, false),
            ("s", [.operation(.move)], .edit, true), ("s", [.operation(.move)], .read, false),
            ("t", [.operation(.move)], .edit, true), ("t", [.read], .read, true), ("t", [.read], .edit, false),
        ]
        for (session, scopes, permission, isGood) in permissions {
            let identity = Identity.client(
                Token(sessions: ["s", "t"], scopes: scopes, expires: Self.now),
                TokenSignature(text: "x", secret: Self.secret))
            #expect(identity.has(permission, session: session) == isGood, "\(session) \(scopes) \(permission)")
            // Where several sessions are named, each of them is checked.
            #expect(identity.has(permission, session: nil) == (permission == .read && scopes.contains(.read)))
            #expect(!identity.maySendStates)
        }
    }

    @Test(
        arguments: [
            ("read", []), ("edit", Set(EditOperation.allCases)), ("edit:move", [.move]),
            ("read edit:move edit:clear", [.move, .clear]), ("edit:move edit", Set(EditOperation.allCases)), ("", []),
        ] as [(String, Set<EditOperation>)])
    func `edits may do what the scope says`(_ scope: String, _ operations: Set<EditOperation>) {
        #expect(token(#"{"sub":"s","scope":"\#(scope)","exp":1900000000}"#)?.operations == operations)
    }

    @Test func `a scope is written as it is read`() {
        let all: [Token.Scope] = [.read, .edit] + EditOperation.allCases.map { .operation($0) }
        for scope in all { #expect(Token.Scope(scope.text) == scope) }
    }
}

@Suite struct TokenSecretsTests {
    private static let secrets = (0..<3).map { Array(repeating: UInt8(ascii: "a") + $0, count: 32) }
    private static let now = WallTime(seconds: 1_800_000_000)
    private static let token = Token(
        sessions: ["s"], scopes: [.read], expires: WallTime(seconds: 1_800_000_060), id: "x")

    @Test func `the first signs, and all verify`() {
        let (old, new, other) = (Self.secrets[0], Self.secrets[1], Self.secrets[2])
        let secrets = TokenSecrets([new, old])
        let signed = secrets.signed(Self.token)
        #expect(Token(signed, secret: new, at: Self.now) == Self.token)
        #expect(Token(signed, secret: old, at: Self.now) == nil)
        for secret in [old, new] {
            let read = secrets.token(Self.token.signed(by: secret), at: Self.now)
            #expect(read?.token == Self.token && read?.signature.secret == secret)
        }
        #expect(secrets.token(Self.token.signed(by: other), at: Self.now) == nil)
    }

    @Test func `those that are taken in place of others hold from then on`() {
        let (old, new) = (Self.secrets[0], Self.secrets[1])
        let secrets = TokenSecrets([old])
        secrets.replace(by: [new])
        #expect(secrets.token(Self.token.signed(by: old), at: Self.now) == nil)
        #expect(secrets.token(Self.token.signed(by: new), at: Self.now)?.token == Self.token)
        #expect(secrets.token(secrets.signed(Self.token), at: Self.now)?.token == Self.token)
    }

    @Test func `readers end with the secret of their token, and no others`() {
        let (old, new) = (Self.secrets[0], Self.secrets[1])
        let (secrets, registry) = (TokenSecrets([new, old]), Revocations())
        secrets.current.whenReplaced(registry.endWithdrawn)
        let readers = [old, new].map { secret in Listener { secrets.current.contains(secret) } }
        for reader in readers { registry.follow(Self.token, reader) }
        secrets.replace(by: [old, new])
        #expect(readers.map { $0.counts.withLock { $0[1] } } == [0, 0])
        secrets.replace(by: [new])
        #expect(readers.map { $0.counts.withLock { $0[1] } } == [1, 0])
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
