import CDiffSystem
@testable import DiffService
import HTTPCore
import SnapshotKit
import Testing

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
        #expect(Journal.text("the store said: a\r\nb\u{7F}", "warning", []) == "warning: the store said: a  b\u{FFFD}")
    }

    @Test func `what is wrong with a session is said once, until much else was`() {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let output = LogOutput(descriptor: ends[1])
        let journal = Journal(format: .text, logsRequests: false, output: output, mostTroubled: 2)
        for session in ["a", "a", "b", "a", "b", "c", "c", "a"] { journal.logOnce("damaged", about: session) }
        output.flush(within: .seconds(20))
        close(ends[1])
        var room = [UInt8](repeating: 0, count: 1000)
        let length = read(ends[0], &room, room.count)
        close(ends[0])
        let lines = String(decoding: room[..<max(0, length)], as: UTF8.self).split(separator: "\n")
        // Each begins with its time.
        let words = lines.map { String($0.drop { $0 != " " }.dropFirst()) }
        #expect(words == ["a", "b", "c", "a"].map { "error: damaged session=\($0)" })
    }

    @Test(arguments: ["plain", "a\nb", #"","level":"error"#, "\u{1F}\u{2028}é", "\u{9B}31m\u{202E}"])
    func `a line of JSON is one, and says what it was given`(_ value: String) throws {
        let line = Journal.json(value, "info", [("a", .text(value)), ("b", .number(7))])
        #expect(line.last == 0x0A && line.dropLast().allSatisfy { $0 >= 0x20 })
        let members = try #require(JSONSlice.members(of: line))
        #expect(members["message"]?.string == value)
        // Characters that a terminal may act on are replaced.
        #expect(
            members["a"]?.string
                == String(
                    String.UnicodeScalarView(
                        value.unicodeScalars.map { [0x2028, 0x9B, 0x202E].contains($0.value) ? "\u{FFFD}" : $0 })))
        #expect(members["b"]?.integer == 7)
        #expect(members["level"]?.string == "info")
        let time = try #require(members["time"]?.string)
        #expect(time.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z/) != nil)
    }
}

@Suite struct TraceParentTests {
    private static let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static let parents: [(value: String, isValid: Bool)] = [
        (good, true), ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false), (good.uppercased(), false),
        ("\(good)-x", false),
        (String(good.dropLast()), false), (good.replacing("4", with: "g"), false), ("", false),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
        ("\(good)\r\ntraceparent: \(good)", false),
    ]

    @Test(arguments: parents)
    func `a valid traceparent is kept, and no other`(_ value: String, _ isValid: Bool) throws {
        let head = try RequestHead(parsing: "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: \(value)\r\n\r\n")
        #expect(TraceParent.value(of: head) == (isValid ? value : nil))
    }
}
