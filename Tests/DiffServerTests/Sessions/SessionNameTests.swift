import DiffSessions
import Testing

@Suite struct SessionNameTests {
    @Test(arguments: [
        ("a b", #"" ""#), ("é", #""é""#), ("e\u{301}", "U+0301"), ("a/b", #""/""#), ("日本", #""日""#), ("😀", #""😀""#),
        ("a\n", "U+000A"), ("\u{7F}", "U+007F"), ("\u{A0}", "U+00A0"), ("\u{202E}", "U+202E"), ("\u{E000}", "U+E000"),
        ("\u{10FFFF}", "U+10FFFF"),
    ])
    func `a refusal shows the character that breaks the rule`(_ name: String, _ shown: String) {
        #expect(!SessionName.isWhole(name))
        let advice = "write . in place of \(shown), or a hash: percent-encoding does not help"
        #expect(SessionName.rule(brokenBy: name) == "\(SessionName.rule); \(advice)")
    }

    @Test(arguments: ["", ".", "..", String(repeating: "a", count: 129)])
    func `a name that only has good ones is refused by the rule alone`(_ name: String) {
        #expect(!SessionName.isWhole(name) && SessionName.rule(brokenBy: name) == SessionName.rule)
    }
}
