/// An answer of Redis (RESP2).
enum RedisReply: Sendable, Hashable {
    /// A bulk string or a simple string.
    case bytes([UInt8])
    case integer(Int64)
    case array([RedisReply])
    case null
    /// Only within an array: a command that is answered by an error fails with a `RedisFailure`.
    case error(RedisError)
}

/// An error as Redis words it: `CODE and then text`.
struct RedisError: Error, Sendable, Hashable {
    let text: String

    /// Its first word, such as `NOSCRIPT`.
    var code: Substring { text.prefix { $0 != " " } }

    /// Whether this server cannot take the command now, while another one or the same one later can: it is a replica,
    /// still loads its data, or has lost its primary. The command was not executed.
    var isMisplaced: Bool { ["READONLY", "LOADING", "MASTERDOWN"].contains(code) }
}

/// Why a command has no answer.
enum RedisFailure: Error, Sendable, Hashable {
    /// It was not executed: there is no connection, or the server cannot take it now.
    case unavailable(String)
    /// It was sent, and the connection was lost: whether it was executed is not known.
    case lost(String)
    /// Redis answered with an error.
    case refused(RedisError)
    /// Redis rejects our credentials, or has no such database: no retry will succeed.
    case denied(String)
}

extension RedisReply {
    static func text(_ text: String) -> RedisReply { .bytes(Array(text.utf8)) }

    /// Bytes as UTF-8.
    var text: String? {
        guard case .bytes(let bytes) = self else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    var elements: [RedisReply]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}

extension RedisFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .unavailable(let reason), .lost(let reason), .denied(let reason): reason
        case .refused(let error): error.text
        }
    }
}
