/// An answer of Redis (RESP2).
enum RedisReply: Sendable, Hashable {
    /// A bulk string or a simple string.
    case bytes([UInt8])
    case integer(Int64)
    case array([RedisReply])
    case null
    /// Only within an array: a command answered by an error fails with a `RedisFailure`.
    case error(RedisError)
}

/// An error as Redis words it: `CODE and then text`.
struct RedisError: Error, Sendable, Hashable {
    let text: String

    /// Its first word, such as `NOSCRIPT`.
    var code: Substring { text.prefix { $0 != " " } }

    /// Whether another server may take the command, or this one later: it is a replica, loading, or lacks its primary.
    var isUnready: Bool { ["READONLY", "LOADING", "MASTERDOWN"].contains(code) }
}

/// Why a command has no answer.
enum RedisFailure: Error, Sendable, Hashable {
    /// Not executed: there is no connection, or the server cannot take the command now.
    case unavailable(String)
    /// Sent, but the connection was lost: whether the command was executed is unknown.
    case lost(String)
    case refused(RedisError)
    /// Redis rejects our credentials, or has no such database: no retry can succeed.
    case denied(String)
    /// Executed, but too few replicas had it in time.
    case unreplicated(String)

    /// Whether a script failed because of what it found: a key of another type, or a field that is not a number.
    var isOfOneRecord: Bool {
        if case .refused(let error) = self { ["ERR", "WRONGTYPE"].contains(error.code) } else { false }
    }
}

/// An answer, or why there is none.
typealias RedisResult = Result<RedisReply, RedisFailure>

extension RedisReply {
    /// A script's answer about a record that it cannot use.
    static let damage = RedisReply.array([.text("damaged")])

    static func text(_ text: String) -> RedisReply { .bytes(Array(text.utf8)) }

    var text: String? { if case .bytes(let bytes) = self { String(validating: bytes, as: UTF8.self) } else { nil } }

    var elements: [RedisReply]? { if case .array(let elements) = self { elements } else { nil } }
}

extension RedisFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .unavailable(let reason), .lost(let reason), .denied(let reason), .unreplicated(let reason): reason
        case .refused(let error): error.text
        }
    }

    /// In the words in which a link reports its own outage, so that the log has it only once.
    var outage: String {
        switch self {
        case .unavailable, .denied: "redis: no connection: \(self)"
        case .lost: "redis: connection lost: \(self)"
        // Without the script that met it, which others meet as well.
        case .refused(let error): "redis: \(error.text.split(separator: " script: ", maxSplits: 1).first ?? "")"
        case .unreplicated: "redis: \(self)"
        }
    }
}

// MARK: - Parsing
//
// RESP2 as a server speaks it (https://redis.io/docs/latest/develop/reference/protocol-spec/):
//
//     reply = "+" text CRLF / "-" text CRLF / ":" integer CRLF
//           / "$" length CRLF octets CRLF / "$-1" CRLF
//           / "*" count CRLF *reply / "*-1" CRLF
//
// The state is the position in this grammar, so the bytes may be split anywhere. After an error the start of the next
// reply is unknown: the connection has to be closed. Memory grows with the bytes received, not with the size announced,
// and has a limit; a count or length that would exceed it is refused at once.

/// Parses replies in a stream of bytes.
struct RedisReplyParser: Sendable {
    enum Violation: Error, Hashable {
        case unexpected(UInt8)
        /// Not a number, beyond 64 bits, or a length or count below -1.
        case badNumber
        /// More than `maxBytes`, or a line of more than `maxLineBytes`.
        case tooLong
        case tooDeep
    }

    private enum State {
        case line, lineLF
        case octets(missing: Int)
        case octetsCR, octetsLF
    }

    /// The most bytes of one reply. Redis has the same limit for a string.
    private let maxBytes: Int
    private var state = State.line
    /// The current line or string so far.
    private var text: [UInt8] = []
    /// Arrays that still lack elements.
    private var open: [(elements: [RedisReply], missing: Int)] = []
    private var used = 0

    static let maxLineBytes = 64 << 10
    static let maxDepth = 8
    /// The most that an element takes besides its bytes: its slot in an array that grew, and an array of its own.
    private static let elementBytes = 64
    /// The most to reserve for a string before it arrives: a growing array takes up to three times its content.
    private static let maxReserved = 64 << 20

    init(maxBytes: Int = 512 << 20) { self.maxBytes = maxBytes }

    /// The next reply, if `input` completes it. Removes what it has read.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(Violation) -> RedisReply? {
        while !input.isEmpty {
            var whole: RedisReply?
            switch state {
            case .line: try takeLine(&input)
            case .lineLF:
                try take("\n", &input)
                state = .line
                whole = try meaning()
            case .octets(let missing):
                let part = input.take(missing)
                text.append(contentsOf: part)
                state = part.count == missing ? .octetsCR : .octets(missing: missing - part.count)
            case .octetsCR:
                try take("\r", &input)
                state = .octetsLF
            case .octetsLF:
                try take("\n", &input)
                state = .line
                whole = .bytes(text)
                text = []
            }
            if let whole, let reply = finish(whole) { return reply }
        }
        return nil
    }

    private func take(_ wanted: Unicode.Scalar, _ input: inout UnsafeRawBufferPointer) throws(Violation) {
        guard input[0] == UInt8(ascii: wanted) else { throw .unexpected(input[0]) }
        _ = input.take(1)
    }

    /// Takes the rest of a line as far as it has arrived, and its CR.
    private mutating func takeLine(_ input: inout UnsafeRawBufferPointer) throws(Violation) {
        let part = input.take(input.firstIndex { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") } ?? input.count)
        if text.isEmpty, let kind = part.first ?? input.first, !Self.isKind(kind) { throw .unexpected(kind) }
        guard text.count + part.count <= Self.maxLineBytes else { throw .tooLong }
        text.append(contentsOf: part)
        if input.isEmpty { return }
        try take("\r", &input)
        state = .lineLF
    }

    private static func isKind(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "$"), UInt8(ascii: "*"): true
        default: false
        }
    }

    /// The reply in a line; nil if the line only starts one.
    private mutating func meaning() throws(Violation) -> RedisReply? {
        let content = text.dropFirst()
        defer { text.removeAll(keepingCapacity: true) }
        switch text[0] {
        case UInt8(ascii: "+"):
            try use(content.count)
            return .bytes(Array(content))
        case UInt8(ascii: "-"):
            try use(content.count)
            return .error(RedisError(text: String(decoding: content, as: UTF8.self)))
        case UInt8(ascii: ":"): return .integer(try number(content))
        case UInt8(ascii: "$"):
            guard let length = try size(content) else { return .null }
            try use(length)
            text = []
            text.reserveCapacity(min(length, Self.maxReserved))
            state = length > 0 ? .octets(missing: length) : .octetsCR
        default:
            guard let count = try size(content) else { return .null }
            guard count <= maxBytes / Self.elementBytes else { throw .tooLong }
            try use(count * Self.elementBytes)
            guard open.count < Self.maxDepth else { throw .tooDeep }
            if count == 0 { return .array([]) }
            open.append(([], missing: count))
        }
        return nil
    }

    private func number(_ digits: ArraySlice<UInt8>) throws(Violation) -> Int64 {
        // A fast path: most of these are answers to commits.
        if digits.count == 1, let digit = digits.first, digit &- UInt8(ascii: "0") < 10 {
            return Int64(digit &- UInt8(ascii: "0"))
        }
        guard let number = Int64(String(decoding: digits, as: UTF8.self)) else { throw .badNumber }
        return number
    }

    /// A length or a count; nil for -1, which means no value.
    private func size(_ digits: ArraySlice<UInt8>) throws(Violation) -> Int? {
        let number = try number(digits)
        guard number >= -1 else { throw .badNumber }
        return number < 0 ? nil : Int(number)
    }

    private mutating func use(_ bytes: Int) throws(Violation) {
        guard bytes <= maxBytes - used else { throw .tooLong }
        used += bytes
    }

    /// Appends a whole value to the open array; returns the reply if it is complete.
    private mutating func finish(_ whole: RedisReply) -> RedisReply? {
        var whole = whole
        while var array = open.popLast() {
            array.elements.append(whole)
            array.missing -= 1
            guard array.missing == 0 else {
                open.append(array)
                return nil
            }
            whole = .array(array.elements)
        }
        used = 0
        return whole
    }
}

extension UnsafeRawBufferPointer {
    /// Removes and returns the first `count` bytes, or all if there are fewer.
    fileprivate mutating func take(_ count: Int) -> UnsafeRawBufferPointer {
        let length = Swift.min(count, self.count)
        defer { self = UnsafeRawBufferPointer(start: baseAddress.map { $0 + length }, count: self.count - length) }
        return UnsafeRawBufferPointer(start: baseAddress, count: length)
    }
}
