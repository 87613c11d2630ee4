import Testing

@testable import DiffRedis

@Suite struct RedisCommandTests {
    @Test func argumentsAreCounted() {
        let command = RedisCommand("SET", RedisArgument([0, 13, 10]), "", RedisArgument(7))
        #expect(command.parts == [Array("*4\r\n$3\r\nSET\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n$1\r\n7\r\n".utf8)])
        #expect(command.precedingAnswers == 0)
    }

    @Test func numbersAndVersionsAreWrittenAsDigits() {
        let rows: [(RedisArgument, String)] = [
            (RedisArgument(0), "0"), (RedisArgument(9), "9"), (RedisArgument(10), "10"), (RedisArgument(-12), "-12"),
            (RedisArgument(Int.max), "\(Int.max)"), (RedisArgument(Int.min), "\(Int.min)"), (.version(0), ""),
            (.version(0xa), "a"), (.version(0x10), "10"), (.version(.max), "ffffffffffffffff"), ("", ""),
            ("word", "word"),
        ]
        for (argument, text) in rows {
            #expect(argument.bytes == Array(text.utf8) && argument.count == text.utf8.count)
            #expect(RedisCommand(argument).parts == [Array("*1\r\n$\(text.utf8.count)\r\n\(text)\r\n".utf8)])
        }
    }

    @Test func aTransactionIsWrapped() {
        let command = RedisCommand(transaction: [["DEL", "a"], ["DEL", "b"]])
        let text =
            "*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n*1\r\n$4\r\nEXEC\r\n"
        #expect(command.parts == [Array(text.utf8)])
        #expect(command.precedingAnswers == 3)
        #expect(command.isTransaction)
    }

    @Test func aLargeArgumentIsNotCopied() {
        let large = [UInt8](repeating: 7, count: RedisCommand.largeArgument)
        let small = large.dropLast()
        let command = RedisCommand("SET", RedisArgument(large), RedisArgument(Array(small)))
        #expect(command.parts.count == 3)
        #expect(command.parts[0] == Array("*3\r\n$3\r\nSET\r\n$32768\r\n".utf8))
        #expect(command.parts[1].withUnsafeBytes { $0.baseAddress } == large.withUnsafeBytes { $0.baseAddress })
        #expect(command.parts[2] == Array("\r\n$32767\r\n".utf8) + small + Array("\r\n".utf8))
    }
}
