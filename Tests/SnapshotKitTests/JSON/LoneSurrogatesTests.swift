import Testing

@testable import SnapshotKit

@Suite struct LoneSurrogatesTests {
    static let texts: [(String, String, Int)] = [
        (#""cut \ud83d""#, #""cut \ufffd""#, 1), (#""\uDE00 a""#, #""\ufffd a""#, 1),
        (#""\ud83d\ude00""#, #""\ud83d\ude00""#, 0),
        (#""\ud83d\ud83d\ude00""#, #""\ufffd\ud83d\ude00""#, 1), (#""\ude00\ud83d""#, #""\ufffd\ufffd""#, 2),
        (#""\\ud83d""#, #""\\ud83d""#, 0), (#""\\\ud83d""#, #""\\\ufffd""#, 1),
        (#""\ud83d\n\ude00""#, #""\ufffd\n\ufffd""#, 2),
        (#"{"\ud83d":1,"a":"\u0041\ud7ff\ue000"}"#, #"{"\ufffd":1,"a":"\u0041\ud7ff\ue000"}"#, 1),
        (#""\ud83"#, #""\ud83"#, 0), (#""\ud83d\u"#, #""\ufffd\u"#, 1), (#"\"#, #"\"#, 0),
        (#""\uD8zz""#, #""\uD8zz""#, 0), ("[]", "[]", 0),
    ]

    @Test("half of a character becomes the replacement character, and nothing else changes", arguments: texts)
    func replaced(text: String, expected: String, count: Int) {
        var bytes = Array(text.utf8)
        #expect(bytes.replaceLoneSurrogates() == count)
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        #expect(bytes.replaceLoneSurrogates() == 0)
    }
}
