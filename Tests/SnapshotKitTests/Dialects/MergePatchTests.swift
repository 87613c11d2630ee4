import SnapshotKit
import Testing

@Suite("Merge patches")
struct MergePatchTests {
    @Test(
        "merge patches do what RFC 7396 shows",
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#), ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func mergePatches(target: String, patch: String, result: String) throws {
        #expect(try JSONText(target).merging(try JSONText(patch)).description == result)
    }

    @Test(
        "texts are put behind strings, which may be missing",
        arguments: [
            (#"{"a":"b", "c":[1]}"#, #"{"/a":"d"}"#, #"{"a":"bd", "c":[1]}"#),
            (#""a\n""#, #"{"":"\u00e9"}"#, #""a\n\u00e9""#),
            (#"{"a":{}}"#, #"{"/a/b/~0~1":"x"}"#, #"{"a":{"b":{"~/":"x"}}}"#),
            (#"{"a":["b"]}"#, #"{"/a/0":"c"}"#, #"{"a":["bc"]}"#),
            (#"{"a":"b"}"#, #"{"/a":"","/c":""}"#, #"{"a":"b","c":""}"#), (#"{"a":1}"#, #"{"/a":"d"}"#, nil),
            (#"{"a":null}"#, #"{"/a":"d"}"#, nil), (#"{"a":"b"}"#, #"{"/a/b":"d"}"#, nil),
            (#"{"a":["b"]}"#, #"{"/a/1":"c"}"#, nil),
            (#"{"a":"b"}"#, #"{"a":"d"}"#, nil), (#"{"a":"b"}"#, #"{"/a":1}"#, nil), (#"{"a":"b"}"#, "[]", nil),
        ] as [(String, String, String?)])
    func appending(target: String, texts: String, result: String?) throws {
        #expect(try JSONText(target).appending(try JSONText(texts))?.description == result)
    }

    @Test(
        "a text has grown, whatever its escapes",
        arguments: [
            (#"a \u00e9 and some"#, "a é and some more", " more"),
            ("a é and some", #"a \u00e9 and some more"#, " more"),
            (#"a \ud83d\ude00 and some"#, "a 😀 and some more", " more"),
            (#"\/ and some"#, #"/ and some\u002e"#, #"\u002e"#),
            (#"a and some \u0301"#, "a and some", nil), ("a and some", "a  and some more", nil),
        ] as [(String, String, String?)])
    func growth(old: String, new: String, rest: String?) throws {
        let state = { (text: String) in
            try Snapshot(json: #"[{"id":1,"content":{"text":"\#(text)","more":"that stays as it is"}}]"#)
        }
        let changes = Changeset(from: try state(old), to: try state(new)).json(.keyed, content: .delta)
        let text = String(decoding: changes, as: UTF8.self)
        let update = rest.map { #"{"id":1,"append":{"/text":"\#($0)"}}"# } ?? #""patch":{"#
        #expect(text.contains(update), "\(text)")
    }
}
