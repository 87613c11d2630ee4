import CDiffOpenSSL
import FoundationEssentials
import SnapshotKit

/// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), by OpenSSL.
enum Digests {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        digest(32) { EVP_Digest(bytes, bytes.count, $0, nil, algorithm, nil) == 1 }
    }

    /// Fetched once: `SHA256` fetches it for each digest, which costs more than digesting a key.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    /// SHA-1, only for names that others derive with it: it is broken.
    static func sha1(_ bytes: [UInt8]) -> [UInt8] { digest(20) { SHA1(bytes, bytes.count, $0) != nil } }

    static func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        digest(32) { HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, $0, nil) != nil }
    }

    /// - Parameter write: returns whether it succeeded.
    private static func digest(_ count: Int, _ write: (UnsafeMutablePointer<UInt8>?) -> Bool) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            guard write(buffer.baseAddress) else { preconditionFailure("OpenSSL has no SHA-1, SHA-256 or HMAC") }
            written = count
        }
    }

    /// Compares digests in constant time.
    static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    /// Cryptographically random bytes.
    static func random(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }
}

/// Base64 for URLs, without padding (RFC 4648 §5, RFC 7515 §2).
enum Base64URL {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedData().prefix { $0 != UInt8(ascii: "=") }
        return String(decoding: standard.map(swapped), as: UTF8.self)
    }

    /// Nil for what `encode` never writes: letters outside of the alphabet, padding, or trailing bits that are not
    /// zero.
    static func decode(_ letters: some Collection<UInt8>) -> [UInt8]? {
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: -letters.count & 3)
        guard let bytes = Data(base64Encoded: Data(letters.map(swapped) + padding)).map(Array.init) else { return nil }
        // The incomplete last group must be as `encode` writes it.
        let end = encode(bytes.suffix(bytes.count % 3)).utf8
        return letters.suffix(end.count).elementsEqual(end) ? bytes : nil
    }

    /// Translates between the alphabets of Base64 and this one, which differ in two letters.
    private static func swapped(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: letter
        }
    }
}

/// Bytes as lower-case hexadecimal digits, and back.
enum Hex {
    static func encode(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}

extension KeyedHash {
    /// The function of revisions' digests.
    static func digests(_ key: String) -> KeyedHash { KeyedHash(key: Array(key.utf8)) }
}
