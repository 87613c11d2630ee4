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
                    guard left.sort != .container else { return }
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
        "a part of a string is found wherever it stands",
        arguments: [
            ("aab", "aaab", true), ("abab", "abaabab", true), ("abab", "abaab", false), ("", "", true),
            ("a", "", false),
            ("é", #"caf\u00e9"#, true), ("\"", #"\""#, true), ("😀", #"x\ud83d\ude00"#, true), ("aaaa", "aaa", false),
        ])
    func parts(part: String, text: String, isFound: Bool) throws {
        try JSONText("\"\(text)\"").withBytes {
            #expect(TextSearch(Array(part.utf8)).isFound(in: OrderedValue(at: $0.baseAddress!).string) == isFound)
        }
    }
}
