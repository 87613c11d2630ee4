import Testing

@testable import SnapshotKit

/// Strings of all lengths, with each character written in one of the ways that JSON knows.
@Suite("Texts of strings, however they are written")
struct StringTextTests {
    private static let characters = Array("ab\"\\/\n\u{8}\u{7}é\u{FFFF}😀😁 ".unicodeScalars)

    /// Text as a JSON string; characters are escaped once in `rarity`, where they need not be.
    private func token(_ text: [Unicode.Scalar], rarity: Int, _ random: inout SplitMix64) -> [UInt8] {
        let short: [Unicode.Scalar: String] = ["\"": "\\\"", "\\": "\\\\", "/": "\\/", "\n": "\\n", "\u{8}": "\\b"]
        return Array(
            text.reduce(into: "\"") { token, scalar in
                let mustBe = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
                if !mustBe, !random.once(in: rarity) {
                    token.unicodeScalars.append(scalar)
                } else if let escape = short[scalar], random.once(in: 2) {
                    token += escape
                } else {
                    for unit in String(scalar).utf16 {
                        let digits = String(unit, radix: 16, uppercase: random.once(in: 2))
                        token += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                    }
                }
            }.utf8) + Array("\"".utf8)
    }

    private func withStrings<Result>(
        _ tokens: [[UInt8]], _ body: ([JSONString]) throws -> Result
    ) rethrows -> Result {
        let padded = tokens.map { UnsafeMutableRawBufferPointer.allocate(byteCount: $0.count + 8, alignment: 1) }
        defer { for each in padded { each.deallocate() } }
        return try body(
            zip(padded, tokens).map { memory, token in
                memory.copyBytes(from: token + [UInt8](repeating: 0, count: 8))
                var cursor = JSONCursor(UnsafeRawPointer(memory.baseAddress!))
                return cursor.takeString()
            })
    }

    @Test("a text is equal to itself alone, hashes as itself, and what it starts with leaves its rest")
    func sameText() throws {
        var random = SplitMix64(seed: 35)
        for run in 0..<Effort.runs(20_000) {
            let count = random.below(run % 3 == 0 ? 400 : 40)
            // Of many characters that are written as they are, a difference comes behind a long common run.
            let alphabet = run % 2 == 0 ? Self.characters : Array("abc\n".unicodeScalars)
            var text = (0..<count).map { _ in alphabet[random.below(alphabet.count)] }
            let rarity = 1 + random.below(200)
            let one = token(text, rarity: rarity, &random)
            var other = one
            switch random.below(4) {
            case 0: other = token(text, rarity: rarity, &random)
            case 1: text += Array("more\n😀".unicodeScalars.prefix(random.below(7)))
            case 2 where count > 0: text[random.below(count)] = alphabet[random.below(alphabet.count)]
            default: text.removeLast(random.below(count + 1))
            }
            if random.once(in: 2) { other = token(text, rarity: rarity, &random) }
            let (before, after) = (try JSONText(one), try JSONText(other))
            let (left, right) = (try #require(before.slice.string), try #require(after.slice.string))
            withStrings([one, other]) { strings in
                let (first, second) = (strings[0], strings[1])
                #expect(Array(first.text) == Array(left.utf8))
                #expect(first.text.bytes() == Array(left.utf8))
                #expect(first.utf8Count == left.utf8.count)
                #expect(first.isEscaped == one.contains(UInt8(ascii: "\\")))
                let isSame = Array(left.utf8) == Array(right.utf8)
                #expect((first == second) == isSame)
                #expect((before == after) == isSame)
                let hashes = strings.map { fingerprint(of: $0, by: .process) }
                #expect((hashes[0] == hashes[1]) == isSame)
                let rest = second.rest(behind: first).map { Array($0.text) }
                let more = right.utf8.starts(with: left.utf8) ? right.utf8.dropFirst(left.utf8.count) : nil
                #expect(rest == more.map { Array($0) })
            }
        }
    }
}
