import DiffSessions
import HTTPCore

/// A command in RESP, or several sent together: then the last answer counts. Its maker encodes it, perhaps off the
/// loop. A class, since commands are passed on often.
final class RedisCommand: Sendable {
    /// The bytes to send, in order. A large argument is a separate part, so that it is not copied.
    let parts: [[UInt8]]
    /// How many answers come before the one that counts. If any of them is an error, the first error is the answer.
    let precedingAnswers: Int
    /// Whether the last answer is that of `EXEC`: an array whose last element counts.
    let isTransaction: Bool
    /// The script named in a part, and the byte offset of the name; nil without a script, or with its whole source.
    private let named: (script: RedisScript.Text, part: Int, start: Int)?

    /// Arguments of this size or more are copied by neither the encoder nor a connection.
    static let largeArgument = 32 << 10

    private init(
        _ parts: [[UInt8]], precedingAnswers: Int, isTransaction: Bool = false,
        named: (script: RedisScript.Text, part: Int, start: Int)? = nil
    ) {
        (self.parts, self.precedingAnswers, self.isTransaction) = (parts, precedingAnswers, isTransaction)
        self.named = named
    }

    convenience init(_ arguments: RedisArgument...) { self.init(arguments) }

    convenience init(_ arguments: [RedisArgument]) { self.init(pipeline: [arguments]) }

    convenience init(pipeline commands: [[RedisArgument]]) {
        let room = commands.reduce(0) { $0 + Self.room(for: $1) }
        let parts = Self.encoded(room) { encoder in commands.forEach { encoder.append(command: $0) } }
        self.init(parts, precedingAnswers: commands.count - 1)
    }

    /// Runs a script, named by its SHA-1, with `count` arguments that `write` appends, just after `staging`.
    ///
    /// - Parameter room: an upper bound for the bytes of the small arguments, with the framing of each.
    convenience init(
        _ script: RedisScript.Text, keys: [RedisArgument], count: Int, room: Int, staging: [RedisArgument]? = nil,
        _ write: (inout Encoder) -> Void
    ) {
        let small = room + script.name.count + Self.room(for: keys) + (staging.map { Self.room(for: $0) } ?? 0) + 64
        var position = (part: 0, start: 0)
        let parts = Self.encoded(small) { encoder in
            if let staging {
                encoder.append(command: ["MULTI"])
                encoder.append(command: staging)
            }
            encoder.append("*", 3 + keys.count + count)
            position = encoder.position
            encoder.append(script.name)
            encoder.append(.number(keys.count))
            encoder.append(keys)
            write(&encoder)
            if staging != nil { encoder.append(command: ["EXEC"]) }
        }
        self.init(
            parts, precedingAnswers: staging == nil ? 0 : 3, isTransaction: staging != nil,
            named: (script, position.part, position.start))
    }

    /// The command with the script's source, for a server that does not know it; nil if it names no script.
    var whole: RedisCommand? {
        guard let (script, part, start) = named else { return nil }
        var parts = parts
        parts[part].replaceSubrange(start..<start + script.name.count, with: script.source)
        return RedisCommand(parts, precedingAnswers: precedingAnswers, isTransaction: isTransaction)
    }

    /// The command for a node that is importing the key's slot: without `ASKING` it would redirect it.
    var asking: RedisCommand {
        RedisCommand(
            [Array("*1\r\n$6\r\nASKING\r\n".utf8)] + parts, precedingAnswers: precedingAnswers + 1,
            isTransaction: isTransaction)
    }

    // MARK: Encoding

    /// - Parameter room: an upper bound for the bytes of everything but the large arguments.
    fileprivate static func encoded(_ room: Int, _ write: (inout Encoder) -> Void) -> [[UInt8]] {
        var large: [(at: Int, bytes: [UInt8])] = []
        let small = [UInt8](unsafeUninitializedCapacity: room) { room, count in
            var encoder = Encoder(room: UnsafeMutableRawBufferPointer(room))
            write(&encoder)
            (count, large) = (encoder.small, encoder.large)
        }
        var (parts, start): ([[UInt8]], Int) = ([], 0)
        for (at, bytes) in large {
            parts += [Array(small[start..<at]), bytes]
            start = at
        }
        return parts.isEmpty ? [small] : parts + [Array(small[start...])]
    }

    /// An upper bound for the bytes of a command's small arguments, with the framing of each.
    static func room(for arguments: [RedisArgument]) -> Int {
        arguments.withUnsafeBufferPointer { arguments in
            var room = 24
            for index in arguments.indices { room += 24 + min(arguments[index].count, largeArgument) }
            return room
        }
    }

    /// Encodes argument by argument into memory that is large enough: a commit has sixteen, most of a few bytes.
    struct Encoder {
        private let room: UnsafeMutableRawBufferPointer
        /// Bytes so far, without the large arguments.
        fileprivate private(set) var small = 0
        fileprivate private(set) var large: [(at: Int, bytes: [UInt8])] = []

        fileprivate init(room: UnsafeMutableRawBufferPointer) { self.room = room }

        fileprivate var position: (part: Int, start: Int) { (2 * large.count, small - (large.last?.at ?? 0)) }

        fileprivate mutating func append(command arguments: [RedisArgument]) {
            append("*", arguments.count)
            append(arguments)
        }

        mutating func append(_ arguments: [RedisArgument]) {
            // Iterating over the array would count references to each argument.
            arguments.withUnsafeBufferPointer { for index in $0.indices { append($0[index]) } }
        }

        /// Inlined, since the case of each argument is known where a commit is encoded.
        @inline(__always)
        mutating func append(_ argument: RedisArgument) {
            let count = argument.count
            // 32 exceeds the framing.
            precondition(count >= largeArgument || count + 32 <= room.count - small, "there is no room for it")
            append("$", count)
            append(contentOf: argument, count)
            appendLineEnd()
        }

        @inline(__always)
        fileprivate mutating func append(contentOf argument: RedisArgument, _ count: Int) {
            switch argument {
            case .bytes(let bytes) where count >= largeArgument: large.append((small, bytes))
            case .bytes(let bytes): append(bytes)
            case .text(let text): append(text)
            case .number(let number): append(number)
            case .version(let version): append(hex: version, digits: count)
            case .revision(let revision):
                append(Int(clamping: revision.sequence))
                append(UInt8(ascii: "-"))
                append(hex: revision.digest, digits: 16)
            case .key(let session, let keys):
                append(keys.start)
                append(session)
                append(UInt8(ascii: "}"))
            }
        }

        fileprivate mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

        /// Appends the number of arguments or of bytes that follow.
        fileprivate mutating func append(_ kind: Unicode.Scalar, _ count: Int) {
            append(UInt8(ascii: kind))
            append(count)
            appendLineEnd()
        }

        private mutating func append(_ text: String) {
            var text = text
            text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
        }

        private mutating func append(_ bytes: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: room[small...]).copyMemory(from: bytes)
            small += bytes.count
        }

        private mutating func append(_ number: Int) {
            if 0..<10 ~= number { return append(UInt8(ascii: "0") + UInt8(number)) }
            if number < 0 { append(UInt8(ascii: "-")) }
            var rest = number.magnitude
            let count = RedisArgument.digits(rest)
            for offset in (small..<small + count).reversed() {
                room[offset] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            small += count
        }

        private mutating func append(hex number: UInt64, digits count: Int) {
            var (rest, offset) = (number, small + count)
            while offset > small {
                offset -= 1
                let digit = UInt8(truncatingIfNeeded: rest & 15)
                room[offset] = digit &+ (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                rest >>= 4
            }
            small += count
        }

        private mutating func append(_ byte: UInt8) {
            room[small] = byte
            small += 1
        }

        private mutating func appendLineEnd() {
            append(UInt8(ascii: "\r"))
            append(UInt8(ascii: "\n"))
        }
    }
}

/// An argument of a command. Texts and numbers are written without intermediate arrays.
enum RedisArgument: Sendable {
    case bytes([UInt8])
    case text(String)
    case number(Int)
    /// A session's version in hexadecimal digits; empty for 0, which stands for none.
    case version(UInt64)
    case key(String, RedisKeys)
    case revision(Revision)

    /// The id of a log entry, of which none exceeds an `Int`.
    init(_ id: UInt64) { self = .number(Int(clamping: id)) }
    init(milliseconds time: Duration) { self = .number(Int(time.wholeNanoseconds / 1_000_000)) }

    @inline(__always)
    var count: Int {
        switch self {
        case .bytes(let bytes): return bytes.count
        case .text(let text): return text.utf8.count
        case .number(let number): return Self.digits(number.magnitude) + (number < 0 ? 1 : 0)
        case .version(let version): return (67 - version.leadingZeroBitCount) / 4
        case .key(let session, let keys): return keys.start.utf8.count + session.utf8.count + 1
        case .revision(let revision): return Self.digits(UInt(clamping: revision.sequence)) + 17
        }
    }

    fileprivate static func digits(_ number: UInt) -> Int {
        var (count, rest) = (1, number)
        while rest > 9 {
            rest /= 10
            count += 1
        }
        return count
    }

    var bytes: [UInt8] {
        let parts = RedisCommand.encoded(count + 24) { $0.append(contentOf: self, count) }
        return Array(parts.joined())
    }
}

extension RedisArgument: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    init(stringLiteral text: String) { self = .text(text) }
    init(integerLiteral number: Int) { self = .number(number) }
}

// MARK: - Scripts

/// A Lua script. Its source is sent only to a server that does not know its SHA-1 yet. In a cluster `SPUBLISH` replaces
/// `PUBLISH`, which would pass each message on to every node.
struct RedisScript: Sendable, ExpressibleByStringInterpolation {
    /// The first two arguments of a command, encoded: for a server that knows the script, and for one that does not.
    final class Text: Sendable {
        let name, source: [UInt8]

        fileprivate init(_ source: String) {
            func encoded(_ arguments: RedisArgument...) -> [UInt8] {
                RedisCommand.encoded(RedisCommand.room(for: arguments)) { $0.append(arguments) }[0]
            }
            name = encoded("EVALSHA", .text(Hex.encode(Digests.sha1(Array(source.utf8)))))
            self.source = encoded("EVAL", .text(source))
        }
    }

    private let plain, sharded: Text

    init(stringLiteral source: String) {
        (plain, sharded) = (Text(source), Text(source.replacing("'PUBLISH'", with: "'SPUBLISH'")))
    }

    func text(inCluster: Bool) -> Text { inCluster ? sharded : plain }
}
