import Testing

@testable import DiffRedis

@Suite struct RedisCommandTests {
    @Test func argumentsAreCounted() {
        let command = RedisCommand("SET", .bytes([0, 13, 10]), "", .number(7))
        #expect(command.parts == [Array("*4\r\n$3\r\nSET\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n$1\r\n7\r\n".utf8)])
        #expect(command.precedingAnswers == 0)
    }

    @Test func numbersAndVersionsAreWrittenAsDigits() {
        let rows: [(RedisArgument, String)] = [
            (.number(0), "0"), (.number(9), "9"), (.number(10), "10"), (.number(-12), "-12"),
            (.number(Int.max), "\(Int.max)"), (.number(Int.min), "\(Int.min)"), (.version(0), ""),
            (.version(0xa), "a"), (.version(0x10), "10"), (.version(.max), "ffffffffffffffff"), ("", ""),
            ("word", "word"),
        ]
        for (argument, text) in rows {
            #expect(argument.bytes == Array(text.utf8) && argument.count == text.utf8.count)
            #expect(RedisCommand(argument).parts == [Array("*1\r\n$\(text.utf8.count)\r\n\(text)\r\n".utf8)])
        }
    }

    @Test func aKeyIsThatOfItsSession() {
        let key = RedisKeys().key("board")
        #expect(key.bytes == Array("diffserver:{board}".utf8) && key.count == key.bytes.count)
        #expect(RedisCommand(key).parts == [Array("*1\r\n$18\r\ndiffserver:{board}\r\n".utf8)])
    }

    @Test(arguments: [false, true])
    func aScriptIsNamedOrSentWhole(inCluster: Bool) throws {
        let text = RedisScript("return redis.call('PUBLISH', KEYS[1], ARGV[1])").text(inCluster: inCluster)
        let command = RedisCommand(text, keys: ["k"], [7])
        let rest = "$1\r\n1\r\n$1\r\nk\r\n$1\r\n7\r\n"
        let named = String(decoding: command.parts.joined(), as: UTF8.self)
        #expect(named.hasPrefix("*5\r\n$7\r\nEVALSHA\r\n$40\r\n") && named.hasSuffix("\r\n" + rest))
        let source = "return redis.call('\(inCluster ? "S" : "")PUBLISH', KEYS[1], ARGV[1])"
        let whole = try #require(command.whole)
        #expect(
            String(decoding: whole.parts.joined(), as: UTF8.self)
                == "*5\r\n$4\r\nEVAL\r\n$\(source.count)\r\n\(source)\r\n\(rest)")
        #expect(whole.whole == nil)
        #expect(command.precedingAnswers == 0 && !command.isTransaction)
    }

    @Test func aScriptWithALargeArgumentIsSentWholeToo() throws {
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: RedisCommand.largeArgument)
        let text = RedisScript("return 1").text(inCluster: false)
        for staging in [nil, ["SET", "k", .bytes(large)]] as [[RedisArgument]?] {
            let command = RedisCommand(text, keys: ["k"], [.bytes(large), "end"], staging: staging)
            let whole = Array(try #require(command.whole).parts.joined())
            let rest = "*6\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$1\r\nk\r\n$\(large.count)\r\n"
            let end = "\r\n$3\r\nend\r\n" + (staging == nil ? "" : "*1\r\n$4\r\nEXEC\r\n")
            let wanted = Array(rest.utf8) + large + Array(end.utf8)
            #expect(whole.suffix(wanted.count) == wanted[...])
            #expect(staging != nil || whole.count == wanted.count)
        }
    }

    @Test(arguments: [1, RedisCommand.largeArgument])
    func whatIsStagedIsWrapped(_ size: Int) throws {
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: size)
        let command = RedisCommand(
            RedisScript("return 1").text(inCluster: false), keys: ["k"], [],
            staging: ["HSET", "k", "h", .bytes(large)])
        let staged = "*1\r\n$5\r\nMULTI\r\n*4\r\n$4\r\nHSET\r\n$1\r\nk\r\n$1\r\nh\r\n$\(size)\r\n"
        let whole = try #require(command.whole)
        #expect(
            Array(whole.parts.joined()) == Array(staged.utf8) + large
                + Array("\r\n*4\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$1\r\nk\r\n*1\r\n$4\r\nEXEC\r\n".utf8))
        #expect(command.parts.count == (size == 1 ? 1 : 3))
        #expect(command.precedingAnswers == 3)
        #expect(command.isTransaction)
        let asking = command.asking
        #expect(Array(asking.parts.joined()).starts(with: "*1\r\n$6\r\nASKING\r\n*1\r\n$5\r\nMULTI".utf8))
        #expect(asking.precedingAnswers == 4)
    }

    @Test func aLargeArgumentIsNotCopied() {
        let large = [UInt8](repeating: 7, count: RedisCommand.largeArgument)
        let small = large.dropLast()
        let command = RedisCommand("SET", .bytes(large), .bytes(Array(small)))
        #expect(command.parts.count == 3)
        #expect(command.parts[0] == Array("*3\r\n$3\r\nSET\r\n$32768\r\n".utf8))
        #expect(command.parts[1].withUnsafeBytes { $0.baseAddress } == large.withUnsafeBytes { $0.baseAddress })
        #expect(command.parts[2] == Array("\r\n$32767\r\n".utf8) + small + Array("\r\n".utf8))
    }
}
