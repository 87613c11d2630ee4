import COpenSSL
import SnapshotKit

/// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), by OpenSSL.
enum Digests {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { room, count in
            SHA256(bytes, bytes.count, room.baseAddress)
            count = 32
        }
    }

    /// SHA-1, for what others name by it; it proves nothing any more.
    static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 20) { room, count in
            SHA1(bytes, bytes.count, room.baseAddress)
            count = 20
        }
    }

    static func hmacSHA256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { room, count in
            var length: UInt32 = 32
            HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, room.baseAddress, &length)
            count = 32
        }
    }

    /// Whether two digests are the same, in a time that does not depend on where they differ.
    static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }

    /// Bytes that nobody can guess.
    static func random(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }
}

/// Base64 for URLs, without padding (RFC 4648 §5, RFC 7515 §2).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var (bits, count) = (0, 0)
        for byte in bytes {
            bits = bits << 8 | Int(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[bits >> count & 63])
            }
            bits &= (1 << count) - 1
        }
        if count > 0 { text.append(alphabet[bits << (6 - count) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for a letter outside the alphabet, a length that no bytes have, or bits left over that are not zero.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count) = (0, 0)
        for letter in text.utf8 {
            guard let value = alphabet.firstIndex(of: letter) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(bits >> count))
                bits &= (1 << count) - 1
            }
        }
        return count < 6 && bits == 0 ? bytes : nil
    }
}

/// Bytes as lower-case hexadecimal digits, and back.
enum Hex {
    static func encode(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for at in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[at..<at + 2], as: UTF8.self), radix: 16),
                digits[at] != UInt8(ascii: "+")
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}

extension KeyedHash {
    /// The function of revisions' digests.
    static func digests(_ key: String) -> KeyedHash { KeyedHash(key: Array(key.utf8)) }
}
