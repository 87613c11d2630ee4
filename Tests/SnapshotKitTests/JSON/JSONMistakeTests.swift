import Testing

@testable import SnapshotKit

@Suite("Common mistakes in JSON")
struct JSONMistakeTests {
    static let lines = "send one document, not JSON lines: put the values into an array"

    @Test(
        "each is told with what stands there, and how to mend it",
        arguments: [
            ("", "the text is empty"), (" \n", "the text is empty"),
            ("[1,", "the text ends too early: it was cut off, or a bracket or quote is not closed"),
            ("{'id': 1}", #"unexpected "'": JSON strings take double quotes"#),
            (#"{"a": True}"#, #"unexpected "True": write true"#), (#"{"a": None}"#, #"unexpected "None": write null"#),
            (#"{"a": undefined}"#, #"unexpected "undefined": write null"#),
            ("[NaN]", #"unexpected "NaN": JSON has no NaN: send null"#),
            ("[nan]", #"unexpected "nan": JSON has no NaN: send null"#),
            ("[Infinity]", #"unexpected "Infinity": JSON has no Infinity: send null"#),
            ("[-Infinity]", "invalid number: JSON has no Infinity: send null"),
            ("[1,]", #"unexpected "]": remove the comma before it"#),
            (#"{"a":1 , }"#, #"unexpected "}": remove the comma before it"#),
            ("[1}", #"unexpected "}""#), ("{a: 1}", #"unexpected "a": names take double quotes"#),
            ("[abc]", #"unexpected "abc": strings take double quotes"#),
            ("[tru]", #"unexpected "tru": strings take double quotes"#),
            ("{\"a\":1}\n{\"a\":2}", #""{" after the end of the value: \#(JSONMistakeTests.lines)"#),
            ("[1],[2]", #""," after the end of the value: \#(JSONMistakeTests.lines)"#),
            ("[1]]", #""]" after the end of the value: there is one bracket too many"#),
            ("0x10", #""x" after the end of the value"#),
            ("[1 2]", #"unexpected "2": a comma or a colon is missing before it"#),
            (#"[true"a"]"#, "unexpected quotation mark: a comma or a colon is missing before it"),
            ("[1] // x", #""/" after the end of the value"#), ("// x\n[1]", #"unexpected "/": JSON has no comments"#),
            ("[“a”]", "unexpected byte 0xE2: JSON strings take straight double quotes"),
            (" <html>", #"unexpected "<": this is HTML or XML, not JSON"#),
            (")]}'\n[1]", #"unexpected ")": remove the line )]}' before the JSON"#),
            ("name=x&b=1", #"unexpected "name": this is a form: send JSON"#),
            ("items.json", #"unexpected "items": strings take double quotes; curl sends a file by -d @FILE"#),
            ("[\0\"", "unexpected byte 0x00: JSON has no zero bytes: send UTF-8, not UTF-16"),
            ("[+1]", #"unexpected "+": a number has no plus sign in front"#),
            ("[.5]", #"unexpected ".": write a digit before the point"#),
            ("[0xFF]", #"unexpected "xFF": write the number in decimal digits"#),
            ("[01]", "invalid number: a number has no zeros in front"),
            ("[1.]", "invalid number: a digit is missing here"),
            (#"["C:\dir"]"#, #"invalid escape: write a backslash as \\"#),
            ("[\"a\nb\"]", #"control character in a string: write a line break as \n"#),
            ("[\"\u{1}\"]", #"control character in a string: write it as \u0001"#),
            (#"["\ud83d"]"#, #"lone surrogate: half of an emoji, perhaps; send \ufffd in its place"#),
            (#"{"a":1,"a":2}"#, "duplicate member: name each member of an object once"),
        ] as [(String, String)])
    func mistake(_ text: String, _ sentence: String) throws {
        let error = #expect(throws: JSONError.self) { try JSONText(text) }
        #expect(error?.sentence == sentence)
    }

    @Test(
        "bytes that are no text are told as well",
        arguments: [
            ([0x5B, 0x22, 0xE4, 0x22, 0x5D], "invalid UTF-8: send UTF-8, not Latin-1 or UTF-16"),
            ([0xFF, 0xFE, 0x5B, 0x00], "unexpected byte 0xFF: send UTF-8, not UTF-16"),
            ([0x1F, 0x8B, 0x08], "unexpected byte 0x1F: gzip needs Content-Encoding: gzip"),
        ] as [([UInt8], String)])
    func bytes(_ text: [UInt8], _ sentence: String) throws {
        let error = #expect(throws: JSONError.self) { try JSONText(text) }
        #expect(error?.sentence == sentence)
    }

    @Test("whatever the bytes are, it does not trap, and stays short", arguments: 0..<8)
    func hostile(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        let pieces = [
            "'", "nul", "NaN", "\"", "[", "]", "{", "}", ",", ":", " ", "\n", "-", "0", "<", ")]}", "x=", "é", "\\",
        ]
        for _ in 0..<Effort.runs(6_000) {
            let text = (0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined()
            let long = text + String(repeating: "a", count: random.below(2) * 10_000)
            do throws(JSONError) { _ = try JSONText(long) } catch { #expect("\(error)".utf8.count < 400) }
        }
    }
}
