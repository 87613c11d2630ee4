import Testing

@testable import diffserver

@Suite struct RedisReaderTests {
    private static let replies: [(String, RedisReply)] = [
        ("+OK\r\n", .text("OK")),
        ("$3\r\na\0b\r\n", .bytes([97, 0, 98])),
        ("$0\r\n\r\n", .text("")),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        (":-12\r\n", .integer(-12)),
        ("-NOSCRIPT No.\r\n", .error(RedisError(text: "NOSCRIPT No."))),
        ("*0\r\n", .array([])),
        (
            "*3\r\n:1\r\n$-1\r\n*1\r\n-ERR x\r\n",
            .array([.integer(1), .null, .array([.error(RedisError(text: "ERR x"))])])
        ),
    ]

    @Test func repliesAreReadAtEverySplit() throws {
        let bytes = Self.replies.flatMap { Array($0.0.utf8) }
        for split in 0...bytes.count {
            let reader = RedisReader()
            var read: [RedisReply] = []
            for part in [bytes[..<split], bytes[split...]] where !part.isEmpty {
                try part.withUnsafeBytes { try reader.feed($0) }
                while let reply = try reader.next() { read.append(reply) }
            }
            #expect(read == Self.replies.map(\.1), "split at \(split)")
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "\u{15}\u{3}", ":x\r\n", "*99999999999\r\n", "$-2\r\n"])
    func whatIsNotRedisIsGarbage(_ text: String) throws {
        let reader = RedisReader()
        var text = text
        #expect(throws: RedisReader.Garbage.self) {
            try text.withUTF8 { try reader.feed(UnsafeRawBufferPointer($0)) }
            _ = try reader.next()
        }
    }

    @Test func commandsAreEncoded() {
        let command = RedisCommand("SET", RedisArgument([0, 13, 10]), "", RedisArgument(7))
        #expect(command.bytes == Array("*4\r\n$3\r\nSET\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n$1\r\n7\r\n".utf8))
    }
}
