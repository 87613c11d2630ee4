import Testing

@testable import SnapshotKit

@Suite("The order of values")
struct OrderedValueTests {
    /// Each line holds equal values, and comes before the next.
    static let ascending: [[String]] = [
        ["null"], ["false"], ["true"],
        ["-1e1000000000000000000000"], ["-1e999999999999999999999", "-10e999999999999999999998"],
        ["-1e999999999"], ["-1.5e600"], ["-1e600"], ["-9007199254740993"], ["-9007199254740992"], ["-10", "-1e1"],
        ["-1.0000000000000000000001"], ["-1", "-1.0", "-10E-1"], ["-1e-600"], ["-1e-999999999999999999999"],
        ["0", "-0", "0.000", "0e99999999999999999999999", "-0E-5"],
        ["1e-1000000000000000000000"], ["1e-999999999999999999999"], ["1e-9999"], ["1e-9998", "0.1e-9997"], ["1e-20"],
        ["0.1", "1e-1", "0.10", "100e-3"], ["0.123456789012345"], ["0.1234567890123456"], ["0.12345678901234561"],
        ["1", "1.0", "1e0", "0.1e1", "10e-1", "1E+0"], ["1.0000000000000000000001"], ["9"], ["10", "1e1", "0.01e3"],
        ["99999999999999"], ["100000000000000"], ["9007199254740992", "9007199254740992.0"], ["9007199254740993"],
        ["999999999999999998e0", "99999999999999999800e-2"], ["1e510"], ["1e511"], ["2e511"], ["1e999999999"],
        ["1e999999999999999998"],
        ["1e999999999999999999", "10e999999999999999998", "0.1e1000000000000000000"],
        ["1e1000000000000000000", "1e+01000000000000000000"], ["1e1000000000000000001", "100e999999999999999999"],
        [#""""#], [#""\u0000""#], [#""\u0000a""#], [#""a""#, #""\u0061""#], [#""a\u0000""#], [#""abcdefg""#],
        [#""abcdefg\u0000""#], [#""abcdefgh""#, #""abcdef\u0067h""#], [#""abcdefgh ""#], [#""abcdefgi""#], [#""b""#],
        [#""e\u0301""#], [#""é""#, #""\u00e9""#], [#""\uffff""#], [#""😀""#, #""\ud83d\ude00""#],
        ["[]", "{}", #"[1]"#, #"{"a":2}"#],
    ]

    private func compare(_ one: JSONText, _ other: JSONText, _ body: (OrderedValue, OrderedValue) -> Void) {
        one.withBytes { one in
            other.withBytes { body(OrderedValue(at: one.baseAddress!), OrderedValue(at: $0.baseAddress!)) }
        }
    }

    @Test("of any two, and what keys tell of it")
    func allPairs() throws {
        let values = try Self.ascending.enumerated().flatMap { rank, values in
            try values.map { (rank: rank, text: try JSONText($0)) }
        }
        for one in values {
            for other in values {
                compare(one.text, other.text) { left, right in
                    let sign = (one.rank - other.rank).signum()
                    #expect(OrderedValue.compare(left, right).signum() == sign, "\(one.text) and \(other.text)")
                    let (first, second) = (OrderKey(left), OrderKey(right))
                    if first.bits == second.bits {
                        #expect(first.isPrefix || sign == 0, "\(one.text) and \(other.text) have one key")
                    } else {
                        #expect((first.bits < second.bits) == (sign < 0), "keys of \(one.text) and \(other.text)")
                    }
                    guard left.rank != .container else { return }
                    #expect((hash(one.text) == hash(other.text)) == (sign == 0), "hashes of \(one.text), \(other.text)")
                }
            }
        }
    }

    private func hash(_ text: JSONText) -> UInt64 { text.withBytes { OrderedValue(at: $0.baseAddress!).hash } }

    @Test("values in values are equal by what they are, in any order of members")
    func nested() throws {
        let same = [#"{"a":[1.0,{"b":"\u0061"}],"c":null}"#, #"{ "c":null, "a":[1,{"b":"a"}] }"#]
        let others = [
            #"{"a":[1,{"b":"a"}]}"#, #"{"a":[{"b":"a"},1],"c":null}"#, #"{"a":["1",{"b":"a"}],"c":null}"#, "[]", "{}",
            "[[]]", #"[""]"#, #""""#,
        ]
        #expect(hash(try JSONText(same[0])) == hash(try JSONText(same[1])))
        #expect(Set(try (same + others).map { hash(try JSONText($0)) }).count == others.count + 1)
    }

    @Test(
        "parts of a text are found wherever they stand",
        arguments: [
            (["aab"], "aaab", [0]), (["abab"], "abaabab", [0]), (["abab"], "abaab", []), ([""], "", [0]),
            (["a"], "", []), ([], "a", []), (["aaaa"], "aaa", []), (["", "b"], "a", [0]), (["a", "a"], "ba", [0, 1]),
            (["he", "she", "his", "hers"], "ushers", [0, 1, 3]), (["abcd", "bce", "c"], "abce", [1, 2]),
            (["aabaac", "abaab", "baab"], "aabaabaac", [0, 1, 2]), (["é", "\u{301}"], "café", [0]),
        ] as [([String], String, Set<Int>)])
    func parts(parts: [String], text: String, wanted: Set<Int>) {
        let search = TextSearch(parts.map { Array($0.utf8) })
        let found = Array(text.utf8).withUnsafeBytes { search.found(in: $0) }
        #expect(found == wanted.reduce(0) { $0 | 1 << $1 }, "\(parts) in \(text)")
    }

    @Test("random parts are found as one by one")
    func randomParts() {
        var random = SplitMix64(seed: 1975)
        let text = { (most: Int) in (0..<random.below(most)).map { _ in [97, 98, 0xD0][random.below(3)] as UInt8 } }
        for _ in 0..<2_000 {
            let (parts, text) = ((0..<random.below(17)).map { _ in text(6) }, text(40))
            let wanted = parts.enumerated().filter { _, part in
                (0...text.count).contains { text[$0...].starts(with: part) }
            }
            let found = text.withUnsafeBytes { TextSearch(parts).found(in: $0) }
            #expect(found == wanted.reduce(0) { $0 | 1 << TextSearch.Found($1.offset) }, "\(parts) in \(text)")
        }
    }

    @Test("case is folded by the simple mapping of each scalar, whatever stands beside it")
    func folding() throws {
        let room = TextRoom()
        for start in stride(from: UInt32(0x20), to: 0x11_0000, by: 64) {
            let scalars = (start..<start + 64).compactMap(Unicode.Scalar.init)
            let text = scalars.reduce(into: "x") { $0.unicodeScalars.append($1) }
            let wanted = text.unicodeScalars.map { $0 == "\u{130}" ? "i" : $0.properties.lowercaseMapping }.joined()
            Array(text.utf8).withUnsafeBytes { bytes in
                let folded = withExtendedLifetime(room) {
                    Array(OrderedValue(id: bytes).withoutCase(in: room).text)
                }
                #expect(folded == Array(wanted.utf8), "from \(start)")
            }
        }
    }

    @Test(
        "escapes are resolved before case is folded",
        arguments: [
            (#"\u0416\"A\n"#, "ж\"a\n"), (#"\ud801\udc00Z"#, "\u{10428}z"), (#"\u0130\u023a"#, "i\u{2c65}"), ("", ""),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZ[@`{", "abcdefghijklmnopqrstuvwxyz[@`{"),
        ])
    func foldingEscapes(json: String, wanted: String) throws {
        let room = TextRoom()
        try JSONText("\"\(json)\"").withBytes { bytes in
            let folded = OrderedValue(at: bytes.baseAddress!).withoutCase(in: room)
            #expect(withExtendedLifetime(room) { Array(folded.text) } == Array(wanted.utf8))
        }
    }

    @Test("an id is the number that its text is, or a string")
    func ids() {
        for (text, isNumber) in [
            ("0", true), ("-0", true), ("5", true), ("-17", true), ("90071992547409931234567890", true), ("05", false),
            ("-", false), ("", false), ("+1", false), ("1.0", false), ("1e2", false), (" 1", false), ("--1", false),
            ("٣", false), ("a1", false), ("1a", false),
        ] {
            Array(text.utf8).withUnsafeBytes {
                #expect((OrderedValue(id: $0).rank == .number) == isNumber, "\(text)")
            }
        }
    }
}
