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
        run.reserveCapacity(Self.room(commands))
        for arguments in commands {
            Self.append(UInt8(ascii: "*"), arguments.count, to: &run)
            for argument in arguments {
                Self.append(UInt8(ascii: "$"), argument.count, to: &run)
                if argument.count < Self.largeArgument {
                    argument.append(to: &run)
                } else {
                    parts += [exchange(&run, with: []), argument.bytes]
                }
                Self.endLine(&run)
            }
        }
        parts.append(run)
    }

    private static func append(_ kind: UInt8, _ count: Int, to run: inout [UInt8]) {
        run.append(kind)
        RedisArgument.number(count).append(to: &run)
        endLine(&run)
    }

    private static func endLine(_ run: inout [UInt8]) {
        run.append(UInt8(ascii: "\r"))
        run.append(UInt8(ascii: "\n"))
    }

    /// What the small arguments take; their heads have ten bytes at most.
    private static func room(_ commands: [[RedisArgument]]) -> Int {
        commands.reduce(0) { room, arguments in
            arguments.reduce(room + 10) { $0 + 12 + ($1.count < largeArgument ? $1.count : 0) }
        }
    }
}

/// An argument of a command. Short texts, such as numbers, are written without an array of their own.
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
        case .number(let number): Self.digits(number.magnitude) + (number < 0 ? 1 : 0)
        case .version(let version): (67 - version.leadingZeroBitCount) / 4
        }
    }

    var bytes: [UInt8] {
        if case .bytes(let bytes) = self { return bytes }
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    fileprivate func append(to run: inout [UInt8]) {
        switch self {
        case .bytes(let bytes): run.append(contentsOf: bytes)
        case .literal(let text): run.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: count))
        case .number(let number):
            if number < 0 { run.append(UInt8(ascii: "-")) }
            Self.append(number.magnitude, to: &run)
        case .version(let version):
            for place in (0..<count).reversed() { run.append(Self.digit(version >> (4 * UInt64(place)) & 15)) }
        }
    }

    private static func digits(_ number: UInt) -> Int { number < 10 ? 1 : 1 + digits(number / 10) }

    private static func append(_ number: UInt, to run: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &run) }
        run.append(digit(UInt64(number % 10)))
    }

    private static func digit(_ value: UInt64) -> UInt8 {
        UInt8(truncatingIfNeeded: value) + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
}

extension RedisArgument: ExpressibleByStringLiteral {
    init(stringLiteral text: StaticString) { self = .literal(text) }
}
