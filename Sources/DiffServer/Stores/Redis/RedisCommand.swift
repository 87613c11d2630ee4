import CHiredis

/// A command as it goes over the wire. Encoded where it is made, so that a large one can be made off the loop.
struct RedisCommand: Sendable {
    let bytes: [UInt8]

    init(_ arguments: RedisArgument...) { self.init(arguments) }

    init(_ arguments: [RedisArgument]) {
        bytes = Self.encoded(arguments[...], [], [])
    }

    /// hiredis wants all arguments' addresses at once, so each argument is a frame of the stack.
    private static func encoded(
        _ rest: ArraySlice<RedisArgument>, _ starts: [UnsafePointer<CChar>?], _ lengths: [Int]
    ) -> [UInt8] {
        guard let first = rest.first else { return encoded(starts, lengths) }
        return first.bytes.withUnsafeBufferPointer { argument in
            argument.withMemoryRebound(to: CChar.self) {
                encoded(rest.dropFirst(), starts + [$0.baseAddress], lengths + [$0.count])
            }
        }
    }

    private static func encoded(_ starts: [UnsafePointer<CChar>?], _ lengths: [Int]) -> [UInt8] {
        var starts = starts
        var text: UnsafeMutablePointer<CChar>?
        let count = redisFormatCommandArgv(&text, Int32(starts.count), &starts, lengths)
        guard count > 0, let text else { preconditionFailure("out of memory") }
        defer { redisFreeCommand(text) }
        return Array(UnsafeRawBufferPointer(start: text, count: Int(count)))
    }
}

/// One argument of a command: bytes, a text or a number.
struct RedisArgument: Sendable, Hashable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }
    init(_ text: some StringProtocol) { bytes = Array(text.utf8) }
    init(_ number: some BinaryInteger) { self.init(String(number)) }
}

extension RedisArgument: ExpressibleByStringLiteral {
    init(stringLiteral text: String) { self.init(text) }
}
