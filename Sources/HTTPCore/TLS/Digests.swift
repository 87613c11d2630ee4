import CDiffOpenSSL

/// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), by OpenSSL.
package enum Digests {
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        digest(32) { EVP_Digest(bytes, bytes.count, $0, nil, algorithm, nil) == 1 }
    }

    /// Fetched once: `SHA256` fetches it for each digest, which costs more than digesting a key.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    /// SHA-1, which is broken: use it only for names that others derive with it.
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] { digest(20) { SHA1(bytes, bytes.count, $0) != nil } }

    package static func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
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
    package static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    /// Cryptographically random bytes.
    package static func random(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }

    /// A random key of 256 bits, as text.
    package static func randomKey() -> String { Hex.encode(random(32)) }
}

/// Bytes as lower-case hexadecimal digits, and back.
package enum Hex {
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}
