import SnapshotKit
import Testing

@testable import DiffService

@Suite struct JournalTests {
    @Test(arguments: [
        ("word", "word"), ("/a%20b", "/a%20b"), ("", #""""#), ("two words", #""two words""#), (#"a"b"#, #""a\"b""#),
        ("a\nwarning: b", #""a\u000awarning: b""#), ("a\r\u{1B}[31m\0", #""a\u000d\u001b[31m\u0000""#), ("é", #""é""#),
    ])
    func `a value never ends its line or passes for another`(_ value: String, _ written: String) {
        #expect(
            Journal.text("request", "info", [("a", .text(value)), ("b", .number(7))]) == "request a=\(written) b=7")
    }

    @Test func `a message is one line`() {
        #expect(Journal.text("the store said: a\r\nb\u{7F}", "warning", []) == "warning: the store said: a  b ")
    }

    @Test(arguments: ["plain", "a\nb", #"","level":"error"#, "\u{1F}\u{2028}é"])
    func `a line of JSON is one, and says what it was given`(_ value: String) throws {
        let line = Journal.json(value, "info", [("a", .text(value)), ("b", .number(7))])
        #expect(line.last == 0x0A && line.dropLast().allSatisfy { $0 >= 0x20 })
        let members = try #require(JSONSlice.members(of: line))
        #expect(members["message"]?.string == value)
        #expect(members["a"]?.string == value)
        #expect(members["b"]?.integer == 7)
        #expect(members["level"]?.string == "info")
    }
}
