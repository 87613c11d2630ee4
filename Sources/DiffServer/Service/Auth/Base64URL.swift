import FoundationEssentials

/// Base64 for URLs, without padding (RFC 4648 §5, RFC 7515 §2).
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let standard = Data(bytes).base64EncodedData().prefix { $0 != UInt8(ascii: "=") }
        return String(decoding: standard.map(swapped), as: UTF8.self)
    }

    /// Nil for what `encode` never writes: letters outside of the alphabet, padding, or trailing bits that are not
    /// zero.
    package static func decode(_ letters: some Collection<UInt8>) -> [UInt8]? {
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
