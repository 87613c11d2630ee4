/// Commands as they go over the wire: one, or some that leave together and have one answer that counts, that of the
/// last. Encoded where it is made, so that a large one can be made off the loop.
struct RedisCommand: Sendable {
    /// What leaves, in order. A large argument is a part of its own, so that it is not copied.
    private(set) var parts: [[UInt8]] = []
    /// Answers before the one that counts. If one of them is an error, the first such is the answer.
    private(set) var precedingAnswers: Int
    /// Whether the last answer is an array of answers, of which the last one counts.
    let isTransaction: Bool

    /// From here on an argument is not copied; nor does a connection copy it.
    static let largeArgument = 32 << 10

    init(_ arguments: RedisArgument...) { self.init([arguments]) }

    init(_ arguments: [RedisArgument]) { self.init([arguments]) }

    /// Each is executed for itself.
    init(pipeline commands: [[RedisArgument]]) { self.init(commands) }

    /// Commands that are executed together, or not at all.
    init(transaction commands: [[RedisArgument]]) {
        self.init([["MULTI"]] + commands + [["EXEC"]], isTransaction: true)
    }

    /// The same to a node that has the key's slot not yet, or not any more, and says so of anything else.
    var asking: RedisCommand {
        var command = self
        command.parts[0] = Array("*1\r\n$6\r\nASKING\r\n".utf8) + parts[0]
        command.precedingAnswers += 1
        return command
    }

    private init(_ commands: [[RedisArgument]], isTransaction: Bool = false) {
        precedingAnswers = commands.count - 1
        self.isTransaction = isTransaction
        var run: [UInt8] = []
        run.reserveCapacity(Self.room(commands))
        for arguments in commands {
            Self.append(UInt8(ascii: "*"), arguments.count, to: &run)
            for argument in arguments {
                let bytes = argument.bytes
                Self.append(UInt8(ascii: "$"), bytes.count, to: &run)
                if bytes.count < Self.largeArgument {
                    run.append(contentsOf: bytes)
                } else {
                    parts += [run, bytes]
                    run.removeAll()
                }
                Self.endLine(&run)
            }
        }
        parts.append(run)
    }

    private static func append(_ kind: UInt8, _ count: Int, to run: inout [UInt8]) {
        run.append(kind)
        run.append(contentsOf: String(count).utf8)
        endLine(&run)
    }

    private static func endLine(_ run: inout [UInt8]) {
        run.append(UInt8(ascii: "\r"))
        run.append(UInt8(ascii: "\n"))
    }

    /// What the small arguments take; their heads have ten bytes at most.
    private static func room(_ commands: [[RedisArgument]]) -> Int {
        commands.reduce(0) { room, arguments in
            arguments.reduce(room + 10) { $0 + 12 + ($1.bytes.count < largeArgument ? $1.bytes.count : 0) }
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
