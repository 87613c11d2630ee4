import DiffSessions
import HTTPCore

/// One command in RESP, or several that are sent together, of which the last one's answer counts. It is encoded where
/// it is made, so that a large one can be encoded off the loop.
struct RedisCommand: Sendable {
    /// What is sent, in order. A large argument is a part of its own, so that it is not copied.
    private(set) var parts: [[UInt8]] = []
    /// How many answers come before the one that counts. If any of them is an error, the first error is the answer.
    private(set) var precedingAnswers: Int
    /// Whether the last answer is an array of answers, of which the last one counts.
    let isTransaction: Bool

    /// An argument of this size or more is not copied, nor does a connection copy it.
    static let largeArgument = 32 << 10

    init(_ arguments: RedisArgument...) { self.init([arguments]) }

    init(_ arguments: [RedisArgument]) { self.init([arguments]) }

    /// Commands that are sent together.
    init(pipeline commands: [[RedisArgument]]) { self.init(commands) }

    /// Commands that are executed together, or not at all.
    init(transaction commands: [[RedisArgument]]) {
        self.init([["MULTI"]] + commands + [["EXEC"]], isTransaction: true)
    }

    /// The command for a node that is taking over the key's slot, and would redirect it without `ASKING`.
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
        run.reserveCapacity(Self.smallBytes(commands))
        for arguments in commands {
            Self.append("*", arguments.count, to: &run)
            for argument in arguments {
                Self.append("$", argument.count, to: &run)
                switch argument {
                case .bytes(let bytes) where bytes.count >= Self.largeArgument:
                    parts += [exchange(&run, with: []), bytes]
                case .bytes(let bytes): run.append(contentsOf: bytes)
                case .text(let text): run.append(contentsOf: text.utf8)
                }
                run.append(contentsOf: "\r\n".utf8)
            }
        }
        parts.append(run)
    }

    private static func append(_ kind: Unicode.Scalar, _ count: Int, to run: inout [UInt8]) {
        run.append(UInt8(ascii: kind))
        run.append(contentsOf: String(count).utf8)
        run.append(contentsOf: "\r\n".utf8)
    }

    /// Bytes of the small arguments, and of what stands before each, which is at most ten bytes.
    private static func smallBytes(_ commands: [[RedisArgument]]) -> Int {
        commands.reduce(0) { sum, arguments in
            arguments.reduce(sum + 10) { $0 + 12 + ($1.count < largeArgument ? $1.count : 0) }
        }
    }
}

/// An argument of a command. Short texts, such as numbers, are written without an array of their own.
enum RedisArgument: Sendable {
    case bytes([UInt8])
    case text(String)

    init(_ bytes: [UInt8]) { self = .bytes(bytes) }
    init(_ text: some StringProtocol) { self = .text(String(text)) }
    init(_ number: some BinaryInteger) { self = .text(String(number)) }

    /// A session's version, as Redis has it; empty for none.
    static func version(_ version: UInt64) -> RedisArgument { .text(Session.text(version)) }

    /// How many bytes it has.
    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .text(let text): text.utf8.count
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .bytes(let bytes): bytes
        case .text(let text): Array(text.utf8)
        }
    }
}

extension RedisArgument: ExpressibleByStringLiteral {
    init(stringLiteral text: String) { self = .text(text) }
}
