import Testing

@testable import SnapshotKit

@Suite("Values written into contents")
struct SettingTests {
    @Test(
        "A value is replaced, made or removed, and all else stays as it was written",
        arguments: [
            (#"{"a": 1, "b":[2]}"#, "/a", "3", #"{"a": 3, "b":[2]}"#),
            (#"{"a": {"x\/":1.50}}"#, "/a/x~1", #""y""#, #"{"a": {"x\/":"y"}}"#),
            (#"{"a":[{"b":1},2]}"#, "/a/0/b", "true", #"{"a":[{"b":true},2]}"#),
            (#"{"n":1e2}"#, "/a/b", #""c""#, #"{"n":1e2,"a":{"b":"c"}}"#),
            (#"{"a":{"b":1,"c":2}}"#, "/a/b", nil, #"{"a":{"c":2}}"#),
            (#"{"a":[1,2]}"#, "/a/1", nil, #"{"a":[1,null]}"#),
            (#"{"a":1}"#, "/b", nil, nil),
            (#"{"a":1}"#, "/a/b", "2", nil),
            (#"{"a":null}"#, "/a/b", "2", nil),
            (#"{"a":[]}"#, "/a/0", "2", nil),
            ("[1]", "/0", "2", nil),
            ("{}", "", "2", nil),
            ("", "/a", "2", nil),
        ] as [(String, String, String?, String?)])
    func sets(content: String, pointer: String, value: String?, expected: String?) throws {
        let padded = Array(content.utf8) + JSONScanner.zeros
        let text = padded.withUnsafeBytes { bytes in
            JSONText(
                setting: value.map { Array($0.utf8) }, at: JSONPointer(pointer)!,
                in: UnsafeRawBufferPointer(rebasing: bytes.prefix(content.utf8.count)))
        }
        #expect(text?.description == expected)
    }
}
