import CHiredis

/// A command as it goes over the wire. Encoded where it is made, so that a large one can be made off the loop.
struct RedisCommand: Sendable {
    private(set) var bytes: [UInt8] = []
    /// Answers before the one that counts: those of a transaction's commands, which only say that they wait for its
    /// end.
    private(set) var precedingAnswers = 0

    init(_ arguments: RedisArgument...) { self.init(arguments) }

    init(_ arguments: [RedisArgument]) { append(arguments) }

    /// Commands that are executed together, or not at all; the answer is that of the last one.
    init(transaction commands: [[RedisArgument]]) {
        append(["MULTI"])
        for command in commands { append(command) }
        append(["EXEC"])
        precedingAnswers = commands.count + 1
    }

    /// hiredis wants the addresses of all arguments at once, so they are put side by side first.
    private mutating func append(_ arguments: [RedisArgument]) {
        var flat: [CChar] = []
        flat.reserveCapacity(arguments.reduce(0) { $0 + $1.bytes.count })
        for argument in arguments {
            argument.bytes.withUnsafeBytes { flat.append(contentsOf: $0.bindMemory(to: CChar.self)) }
        }
        let lengths = arguments.map(\.bytes.count)
        flat.withUnsafeBufferPointer { flat in
            var end = 0
            var starts: [UnsafePointer<CChar>?] = lengths.map { length in
                defer { end += length }
                return flat.baseAddress.map { $0 + end }
            }
            var text: UnsafeMutablePointer<CChar>?
            let count = redisFormatCommandArgv(&text, Int32(starts.count), &starts, lengths)
            guard count > 0, let text else { preconditionFailure("out of memory") }
            defer { redisFreeCommand(text) }
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: text, count: Int(count)))
        }
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
