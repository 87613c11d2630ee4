import Testing

@testable import SnapshotKit

@Suite struct NearlyJSONTests {
    static let texts: [(String, String)] = [
        ("NaN", "null"), ("[NaN]", "[null]"), ("[NaN,NaN]", "[null,null]"), (" Infinity ", " null "),
        (#"{"a":NaN,"b":-Infinity , "c": +Infinity,"d":Infinity}"#, #"{"a":null,"b":null , "c": null,"d":null}"#),
        (#"["NaN","\"NaN,\\",NaN]"#, #"["NaN","\"NaN,\\",null]"#), (#"{"NaN":"Infinity"}"#, #"{"NaN":"Infinity"}"#),
        ("[NaN\n,\r\n-Infinity\t]", "[null\n,\r\nnull\t]"),
        // What is no value is left for the reader to refuse.
        ("[NaNa]", "[NaNa]"), ("[aNaN]", "[aNaN]"), ("[1NaN]", "[1NaN]"), ("{NaN:1}", "{NaN:1}"), ("[-NaN]", "[-NaN]"),
        ("[+-Infinity]", "[+-Infinity]"), ("[Infinit]", "[Infinit]"), ("[nan,inf]", "[nan,inf]"),
        (#"["NaN"#, #"["NaN"#), (#"["NaN\"#, #"["NaN\"#), ("Na", "Na"), ("-", "-"), ("", ""),
        // The line that guards against scripts.
        (")]}'\n[1]", "    \n[1]"), (")]}',\r\n[NaN]", "      \n[null]"), (")]}' \n1", "     \n1"),
        ("\u{FEFF})]}'\n[1]", "\u{FEFF}    \n[1]"),
        (")]}'[1]", ")]}'[1]"), (")]}'x\n[1]", ")]}'x\n[1]"), (")]}", ")]}"), ("[1]\n)]}'\n", "[1]\n)]}'\n"),
        (#"["\ud83d",NaN]"#, #"["\ufffd",null]"#),
    ]

    @Test("what other servers send is mended, and nothing else changes", arguments: texts)
    func mended(text: String, expected: String) {
        var bytes = Array(text.utf8)
        #expect(bytes.mendJSON() == (text.contains("ud83d") ? 1 : 0))
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        #expect(bytes.mendJSON() == 0 && String(decoding: bytes, as: UTF8.self) == expected)
    }
}
