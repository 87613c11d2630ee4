import HTTPCore
import Testing

@testable import DiffService

@Suite struct DigestsTests {
    // FIPS 180-4's example, and RFC 4231's second case.
    @Test func `digests are those of the standards`() {
        let abc = Array("abc".utf8)
        #expect(
            Hex.encode(Digests.sha256(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(Hex.encode(Digests.sha1(abc)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            Hex.encode(Digests.hmacSHA256(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test(
        arguments: [
            ("", []), ("AA", [0]), ("-_8", [251, 255]), ("-__-", [251, 255, 254]), ("-__-AQ", [251, 255, 254, 1]),
            ("-__-AR", nil), ("-_9", nil), ("+/8", nil), ("AA==", nil), ("A", nil), ("AAAAA", nil), ("A A", nil),
            ("AA\n", nil), ("Ä", nil),
        ] as [(String, [UInt8]?)])
    func `Base64 for URLs has one way to write bytes`(_ text: String, _ bytes: [UInt8]?) {
        #expect(Base64URL.decode(text.utf8) == bytes)
        if let bytes { #expect(Base64URL.encode(bytes) == text) }
    }

    @Test(
        arguments: [
            ("", []), ("00ff", [0, 255]), ("0aFF", [10, 255]), ("0", nil), ("0g", nil), ("+1", nil), (" 1", nil),
            ("\u{FF11}0", nil),
        ] as [(String, [UInt8]?)])
    func `hexadecimal digits come in pairs`(_ text: String, _ bytes: [UInt8]?) {
        #expect(Hex.decode(text) == bytes)
        if let bytes { #expect(Hex.encode(bytes) == text.lowercased()) }
    }
}
