import DiffSessions
import HTTPCore

/// The secrets of tokens. The first one signs and all verify, which allows a rotation without refusing anyone: the new
/// one is added after the old one on all nodes, then moved before it, and the old one is removed when its tokens have
/// expired.
package final class TokenSecrets: Sendable {
    /// Of a secret, as HS256 requires (RFC 7518 §3.2).
    package static let minBytes = 32
    /// Limited, since an invalid token is checked against each.
    package static let maxCount = 16

    private let secrets: Locked<[[UInt8]]>

    /// - Parameter secrets: at least one.
    package init(_ secrets: [[UInt8]]) {
        precondition(!secrets.isEmpty, "without a secret nothing can be signed")
        self.secrets = Locked(secrets)
    }

    private var all: [[UInt8]] { secrets.withLock { $0 } }

    package func replace(by others: [[UInt8]]) {
        precondition(!others.isEmpty, "without a secret nothing can be signed")
        secrets.withLock { $0 = others }
    }

    func signed(_ token: Token) -> String { token.signed(by: all[0]) }

    /// Reads a token; nil unless one of the secrets signed it and it is valid at `now`.
    package func token(_ text: String, at now: WallTime) -> Token? { Token(text, secrets: all, at: now) }

    /// The lines of a text, without empty ones; nil if one is too short or there are too many.
    package static func read(_ text: some Sequence<UInt8>) -> [[UInt8]]? {
        let lines = Array(text).split(separator: UInt8(ascii: "\n")).compactMap { line -> [UInt8]? in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return line.isEmpty ? nil : Array(line)
        }
        return (1...maxCount).contains(lines.count) && lines.allSatisfy { $0.count >= minBytes } ? lines : nil
    }

    /// The requirements of `read`, for error messages.
    package static let rule = "up to \(maxCount) secrets of at least \(minBytes) bytes each, one per line"
}
