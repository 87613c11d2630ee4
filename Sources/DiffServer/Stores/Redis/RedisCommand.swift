import HTTPCore
import SnapshotKit

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
        var run = JSONWriter(capacity: Self.room(commands))
        for arguments in commands {
            run.append("*")
            run.append(arguments.count)
            run.append("\r\n")
            for argument in arguments {
                run.append("$")
                run.append(argument.count)
                run.append("\r\n")
                if argument.count < Self.largeArgument {
                    argument.write(into: &run)
                } else {
                    parts += [exchange(&run, with: JSONWriter()).bytes(), argument.bytes]
                }
                run.append("\r\n")
            }
        }
        parts.append(run.bytes())
    }

    /// What the small arguments take; their heads have ten bytes at most.
    private static func room(_ commands: [[RedisArgument]]) -> Int {
        commands.reduce(0) { room, arguments in
            arguments.reduce(room + 10) { $0 + 12 + ($1.count < largeArgument ? $1.count : 0) }
        }
    }
}

/// One argument of a command. What is not bytes becomes bytes where it is written: a command has a dozen of them.
enum RedisArgument: Sendable {
    case bytes([UInt8])
    case literal(StaticString)
    case number(Int)
    /// A session's version, as Redis holds it; empty for none.
    case version(UInt64)

    init(_ bytes: [UInt8]) { self = .bytes(bytes) }
    init(_ text: some StringProtocol) { self = .bytes(Array(text.utf8)) }
    init(_ number: some BinaryInteger) { self = .number(Int(number)) }

    /// How many bytes it has.
    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .literal(let text): text.utf8CodeUnitCount
        case .number(let number):
            Self.digits(number.magnitude) + (number < 0 ? 1 : 0)
        case .version(let version): (67 - version.leadingZeroBitCount) / 4
        }
    }

    private static func digits(_ number: UInt) -> Int {
        var (count, rest) = (1, number)
        while rest >= 10 { (count, rest) = (count + 1, rest / 10) }
        return count
    }

    /// The same as bytes.
    var bytes: [UInt8] {
        if case .bytes(let bytes) = self { return bytes }
        var writer = JSONWriter(capacity: count)
        write(into: &writer)
        return writer.bytes()
    }

    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .bytes(let bytes): writer.append(bytes)
        case .literal(let text): writer.append(text)
        case .number(let number): writer.append(number)
        case .version(let version): if version > 0 { writer.append(hex: version, digits: count) }
        }
    }
}

extension RedisArgument: ExpressibleByStringLiteral {
    init(stringLiteral text: StaticString) { self = .literal(text) }
}
