@testable import DiffService
@testable import DiffSessions
@testable import DiffStores
import HTTPCore
import Testing

@Suite struct AuthenticatorTests {
    private static let secret = Array("a secret of at least thirty-two bytes".utf8)

    private func newAuthenticator(keys: [KeyRing.Key] = [], isLocal: Bool = true, isOpen: Bool = false) -> Authenticator
    {
        Authenticator(
            keys: KeyRing(keys: keys), isLocal: isLocal, isOpen: isOpen, secrets: TokenSecrets([Self.secret]),
            origins: ["https://named.example"])
    }

    private static let here = SocketAddress.v4(address: 0x7F00_0001, port: 4000)
    private static let outside = SocketAddress.v4(address: 0xC000_0201, port: 4000)

    /// 0 if the request is admitted, otherwise its status.
    private func status(
        _ authenticator: Authenticator, _ fields: String, from remote: SocketAddress = here,
        _ permission: Permission = .write
    ) throws -> Int {
        let head = try RequestHead(parsing: "GET / HTTP/1.1\r\n\(fields)\r\n")
        do throws(Problem) {
            _ = try authenticator.identity(head, Peer(remote: remote), for: permission)
            return 0
        } catch { return error.type.status }
    }

    @Test(arguments: [
        ("Host: localhost\r\n", 0), ("Host: LOCALHOST:8080\r\n", 0), ("Host: a.localhost\r\n", 0),
        ("Host: 127.9.9.9:1\r\n", 0),
        ("Host: [::1]:8080\r\n", 0), ("Host: [::ffff:127.0.0.1]\r\n", 0), ("Host: example.org\r\n", 403),
        ("Host: localhost.example.org\r\n", 403), ("Host: 127.0.0.1.example.org\r\n", 403),
        ("Host: 128.0.0.1\r\n", 403),
        ("Host: [::2]\r\n", 403), ("Host: 0.0.0.0\r\n", 403),
        ("Host: localhost\r\nOrigin: http://localhost\r\n", 0),
        ("Host: localhost\r\nOrigin: https://named.example\r\n", 0),
        ("Host: localhost\r\nOrigin: https://other.example\r\n", 403), ("Host: localhost\r\nOrigin: null\r\n", 403),
        ("Host: localhost\r\nOrigin: http://localhost:99\r\n", 403),
        ("Host: localhost\r\nForwarded: for=1.2.3.4\r\n", 403),
        ("Host: localhost\r\nX-Forwarded-For: 127.0.0.1\r\n", 403), ("Host: localhost\r\nX-Forwarded-For:\r\n", 403),
        ("Host: localhost\r\nX-Forwarded-Proto: https\r\n", 403),
        ("Host: localhost\r\nx-forwarded-anything: 1\r\n", 403),
        ("Host: localhost\r\nVia: 1.1 a\r\n", 403), ("Host: localhost\r\nX-Real-IP: 127.0.0.1\r\n", 403),
        ("Host: localhost\r\nCF-Connecting-IP: 1.2.3.4\r\n", 403), ("Host: localhost\r\nX-Forwarded: no\r\n", 0),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
        ("Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 0),
        ("Host: localhost\r\nSec-Fetch-Site: none\r\n", 0),
        ("Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n", 403),
        ("Host: localhost\r\nOrigin: https://named.example\r\nSec-Fetch-Site: cross-site\r\n", 0),
    ])
    func `without a key only this machine is served`(_ fields: String, _ expected: Int) throws {
        #expect(try status(newAuthenticator(), fields) == expected)
        #expect(try status(newAuthenticator(), fields, from: Self.outside) == 401)
        #expect(try status(newAuthenticator(isLocal: false), fields) == 401)
    }

    @Test(arguments: ["Host: example.org\r\n", "Host: a\r\nVia: 1.1 a\r\n", "Host: a\r\nAuthorization: Basic eA==\r\n"])
    func `where no authentication is wanted, whoever comes may do everything`(_ fields: String) throws {
        for isLocal in [true, false] {
            #expect(
                try status(newAuthenticator(isLocal: isLocal, isOpen: true), fields, from: Self.outside, .write) == 0)
        }
    }

    @Test func `a Unix socket is this machine`() throws {
        #expect(try status(newAuthenticator(), "Host: localhost\r\n", from: .unix(path: "/a")) == 0)
        #expect(try status(newAuthenticator(), "Host: example.org\r\n", from: .unix(path: "/a")) == 403)
    }

    @Test func `with a key, nobody is served without one, but for the figures on the loopback`() throws {
        let authenticator = newAuthenticator(keys: [KeyRing.Key(name: "k", secret: "s")])
        #expect(try status(authenticator, "Host: localhost\r\n") == 401)
        #expect(try status(authenticator, "Host: localhost\r\n", .operate) == 0)
        #expect(try status(authenticator, "Host: example.org\r\n", .operate) == 403)
        #expect(try status(authenticator, "Host: localhost\r\n", from: Self.outside, .operate) == 401)
        #expect(
            try status(newAuthenticator(keys: authenticator.keys.all, isLocal: false), "Host: localhost\r\n", .operate)
                == 401)
    }

    @Test func `without credentials one may ask for what is public, and is nobody`() throws {
        let authenticator = newAuthenticator(keys: [KeyRing.Key(name: "k", secret: "s")])
        let head = try RequestHead(parsing: "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")
        let identity = try authenticator.identity(head, Peer(remote: Self.outside), for: .read)
        #expect(identity.isAnonymous && identity.has(.read, session: "s"))
        for permission in [Permission.operate, .compute, .list, .edit, .write] {
            #expect(!identity.has(permission, session: "s"))
            #expect(try status(authenticator, "Host: example.org\r\n", from: Self.outside, permission) == 401)
        }
        #expect(
            try status(authenticator, "Host: a\r\nAuthorization: Bearer wrong\r\n", from: Self.outside, .read) == 401)
    }

    @Test(arguments: [
        ("Bearer s", 0), ("bearer s", 0), ("Bearer  s ", 0), ("Bearer S", 401), ("Bearer", 401), ("Basic s", 401),
        ("s", 401), ("", 401),
    ])
    func `a key comes as a bearer's`(_ value: String, _ expected: Int) throws {
        let authenticator = newAuthenticator(keys: [KeyRing.Key(name: "k", secret: "s")], isLocal: false)
        #expect(
            try status(authenticator, "Host: example.org\r\nAuthorization: \(value)\r\n", from: Self.outside)
                == expected)
    }

    @Test func `wrong credentials are no better than none where none are needed`() throws {
        #expect(try status(newAuthenticator(), "Host: localhost\r\nAuthorization: Bearer wrong\r\n") == 401)
    }

    @Test func `a token is taken until it ends`() throws {
        let good = Token(sessions: ["s"], scopes: [.read], expires: WallTime.after(.seconds(3600))).signed(
            by: Self.secret)
        let old = Token(sessions: ["s"], scopes: [.read], expires: WallTime.now).signed(by: Self.secret)
        let authenticator = newAuthenticator(keys: [KeyRing.Key(name: "k", secret: "s")], isLocal: false)
        #expect(try status(authenticator, "Host: a\r\nAuthorization: Bearer \(good)\r\n", from: Self.outside) == 0)
        #expect(try status(authenticator, "Host: a\r\nAuthorization: Bearer \(old)\r\n", from: Self.outside) == 401)
    }
}

@Suite struct KeyRingTests {
    // FIPS 180-4's example: the hash of "abc".
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test(arguments: [
        ("a:\(abc)", "a", ""), ("a:\(abc):team-", "a", "team-"), ("a:\(abc):x:y", "a", "x:y"),
        ("a:\(abc.uppercased())", "a", ""),
    ])
    func `a key is a name, a hash and perhaps a prefix`(_ text: String, _ name: String, _ prefix: String) throws {
        let key = try #require(KeyRing.Key(text))
        #expect((key.name, key.prefix) == (name, prefix))
        #expect(KeyRing(keys: [key]).key(for: "abc")?.name == name)
    }

    private static let others: [String] = [
        "", "a", "a:", ":\(abc)", "a:\(abc.dropLast())", "a:\(abc)0", "a:g\(abc.dropFirst())", "a:+\(abc.dropFirst())",
        abc,
        "a:\(abc):", "a:\(abc):x y", "a:\(abc):x/y", "a:\(abc):\(String(repeating: "x", count: 129))",
    ]

    @Test(arguments: others)
    func `anything else is none`(_ text: String) { #expect(KeyRing.Key(text) == nil) }

    @Test func `a secret opens what it was hashed for, and nothing like it does`() throws {
        let ring = KeyRing(keys: [KeyRing.Key(name: "one", secret: "abc"), KeyRing.Key(name: "two", secret: "abcd")])
        #expect(ring.key(for: "abc")?.name == "one")
        #expect(ring.key(for: "abcd")?.name == "two")
        for secret in ["", "ab", "ABC", "abc ", "abcde", Self.abc] { #expect(ring.key(for: secret) == nil) }
        #expect(KeyRing(keys: []).key(for: "") == nil)
    }

    @Test func `a key that is withdrawn is unknown, and its readers end`() {
        let (one, other, new) = (
            KeyRing.Key(name: "one", secret: "a"), KeyRing.Key(name: "other", secret: "b"),
            KeyRing.Key(name: "one", secret: "c")
        )
        let (ring, registry) = (KeyRing(keys: [one, other]), Revocations())
        ring.current.whenReplaced(registry.endWithdrawn)
        let readers = [one, other, one, new].map { key in Listener { ring.current.contains(key) } }
        for reader in readers { registry.follow(nil, reader) }
        registry.leave(nil, readers[2])
        registry.leave(nil, readers[3])
        ring.replace(by: [one, new, other])
        #expect(readers.map { $0.counts.withLock { $0[1] } } == [0, 0, 0, 1])
        ring.replace(by: [new, other])
        #expect(ring.key(for: "a") == nil && ring.key(for: "c")?.name == "one")
        #expect(readers.map { $0.counts.withLock { $0[1] } } == [1, 0, 0, 1])
        registry.leave(nil, readers[0])
        ring.replace(by: [other])
        registry.follow(nil, readers[2])
        #expect(readers.map { $0.counts.withLock { $0[1] } } == [1, 0, 1, 1])
    }

    @Test func `a difference anywhere is one`() {
        let digest = Digests.sha256([1, 2, 3])
        #expect(Digests.isEqual(digest, digest))
        for bit in 0..<256 {
            var other = digest
            other[bit / 8] ^= 1 << (bit % 8)
            #expect(!Digests.isEqual(digest, other))
        }
        #expect(!Digests.isEqual(digest, Array(digest.dropLast())))
        #expect(!Digests.isEqual([], digest))
    }

    @Test func `a key of a prefix is good for what starts with it`() throws {
        let key = try #require(KeyRing.Key("k:\(Self.abc):team-"))
        let cases: [(String, Permission, Bool)] = [
            ("team-a", .write, true), ("team-", .read, true), ("team", .read, false), ("Team-a", .edit, false),
            ("x-team-a", .read, false),
        ]
        for (session, permission, isGood) in cases {
            #expect(
                Identity.writer(key).has(permission, session: session) == isGood, "\(session)")
        }
    }

    @Test func `secrets that are made are long and never the same`() {
        let secrets = Set((0..<100).map { _ in KeyRing.newSecret() })
        #expect(secrets.count == 100)
        #expect(secrets.allSatisfy { $0.utf8.count == 4 + 43 })
    }
}
