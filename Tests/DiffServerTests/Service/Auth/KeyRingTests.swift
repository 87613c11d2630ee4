import HTTPCore
import Testing

@testable import DiffService

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

    @Test func `a key of a prefix is good for what starts with it`() {
        let cases: [(String, Permission, Bool)] = [
            ("team-a", .write, true), ("team-", .read, true), ("team", .read, false), ("Team-a", .edit, false),
            ("x-team-a", .read, false),
        ]
        for (session, permission, isGood) in cases {
            #expect(
                Identity.writer(name: "k", prefix: "team-").has(permission, session: session) == isGood, "\(session)")
        }
    }

    @Test func `secrets that are made are long and never the same`() {
        let secrets = Set((0..<100).map { _ in KeyRing.newSecret() })
        #expect(secrets.count == 100)
        #expect(secrets.allSatisfy { $0.utf8.count == 4 + 43 })
    }
}
