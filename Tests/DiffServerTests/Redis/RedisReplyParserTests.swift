import SnapshotKit
import Testing

@testable import DiffRedis

@Suite struct RedisReplyParserTests {
    private static let replies: [(String, RedisReply)] = [
        ("+OK\r\n", .text("OK")),
        ("+\r\n", .text("")),
        ("$3\r\na\0b\r\n", .bytes([97, 0, 98])),
        ("$0\r\n\r\n", .text("")),
        ("$4\r\n\r\n$1\r\n", .text("\r\n$1")),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        (":-12\r\n", .integer(-12)),
        (":+7\r\n", .integer(7)),
        (":9223372036854775807\r\n", .integer(.max)),
        (":-9223372036854775808\r\n", .integer(.min)),
        ("-NOSCRIPT No.\r\n", .error(RedisError(text: "NOSCRIPT No."))),
        ("*0\r\n", .array([])),
        ("*2\r\n*0\r\n*1\r\n*0\r\n", .array([.array([]), .array([.array([])])])),
        (
            "*3\r\n:1\r\n$-1\r\n*1\r\n-ERR x\r\n",
            .array([.integer(1), .null, .array([.error(RedisError(text: "ERR x"))])])
        ),
        (
            "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n",
            .array([.text("message"), .text("a"), .text("hi")])
        ),
    ]

    @Test func repliesAreReadAtEverySplit() throws {
        let bytes = Self.replies.flatMap { Array($0.0.utf8) }
        for split in 0...bytes.count {
            let read = try replies(in: [bytes[..<split], bytes[split...]])
            #expect(read == Self.replies.map(\.1), "split at \(split)")
        }
        #expect(try replies(in: bytes.map { [$0] }) == Self.replies.map(\.1), "byte by byte")
    }

    @Test(arguments: [
        // An unknown type, or one of RESP3.
        ("HTTP/1.1 400 Bad Request\r\n\r\n", RedisReplyParser.Violation.unexpected(72)),
        ("\u{15}\u{3}", .unexpected(0x15)), ("\r\n", .unexpected(13)), ("_\r\n", .unexpected(95)),
        (">1\r\n", .unexpected(62)), ("*1\r\n%0\r\n", .unexpected(37)),
        // Lines.
        ("+a\n", .unexpected(10)), ("+a\rb", .unexpected(98)), ("-a\r\r", .unexpected(13)),
        // Numbers.
        (":\r\n", .badNumber), (":x\r\n", .badNumber), (":-\r\n", .badNumber), (":1 \r\n", .badNumber),
        (":--1\r\n", .badNumber), (":9223372036854775808\r\n", .badNumber),
        (":-9223372036854775809\r\n", .badNumber), (":1\n", .unexpected(10)), (":1\rx", .unexpected(120)),
        // Lengths and counts.
        ("$-2\r\n", .badNumber), ("*-2\r\n", .badNumber), ("$\r\n", .badNumber), ("*\r\n", .badNumber),
        ("$1x\r\n", .badNumber), ("$99999999999999999999\r\n", .badNumber),
        ("*99999999999999999999\r\n", .badNumber), ("$1001\r\n", .tooLong),
        ("$9223372036854775807\r\n", .tooLong), ("*9223372036854775807\r\n", .tooLong), ("*16\r\n", .tooLong),
        // Longer or shorter than announced.
        ("$1\r\nab\r\n", .unexpected(98)), ("$2\r\na\r\n\r\n", .unexpected(10)), ("$1\r\na\rb", .unexpected(98)),
        // More in total than the limit.
        ("*3\r\n$500\r\n\(String(repeating: "x", count: 500))\r\n$500\r\n", .tooLong),
        ("+\(String(repeating: "x", count: 1001))\r\n", .tooLong),
        (String(repeating: "*1\r\n", count: 9), .tooDeep),
    ])
    func whatNoRedisSaysIsAViolationAtEverySplit(_ text: String, _ violation: RedisReplyParser.Violation) {
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            #expect(throws: violation, "split at \(split)") {
                try replies(in: [bytes[..<split], bytes[split...]], maxBytes: 1000)
            }
        }
    }

    @Test func limitsAreReachedByWhatIsAllowed() throws {
        for text in [
            "$1000\r\n\(String(repeating: "x", count: 1000))\r\n",
            String(repeating: "*1\r\n", count: 8) + ":1\r\n",
            "*15\r\n" + String(repeating: ":1\r\n", count: 15),
        ] {
            // Each reply has the whole limit: earlier ones do not count.
            #expect(try replies(in: [Array((text + text).utf8)[...]], maxBytes: 1000).count == 2, "\(text)")
        }
        let line = String(repeating: "x", count: RedisReplyParser.maxLineBytes - 1)
        #expect(try replies(in: [Array("+\(line)\r\n".utf8)[...]]) == [.text(line)])
        #expect(throws: RedisReplyParser.Violation.tooLong) { try replies(in: [Array("-\(line)x".utf8)[...]]) }
    }

    @discardableResult
    private func replies(in parts: [ArraySlice<UInt8>], maxBytes: Int = 1 << 20) throws -> [RedisReply] {
        var parser = RedisReplyParser(maxBytes: maxBytes)
        var read: [RedisReply] = []
        for part in parts {
            try part.withUnsafeBytes { bytes in
                var rest = bytes
                while let reply = try parser.next(&rest) { read.append(reply) }
            }
        }
        return read
    }
}
