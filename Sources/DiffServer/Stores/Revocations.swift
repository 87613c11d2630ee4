// Each process has in memory what is revoked, so that a check costs no round trip. It goes by the time at which a token
// says it was made, so tokens of a clock that is ahead outlive a revocation, by a minute at most.

import DiffClock
import DiffSessions
import Synchronization

/// The moments up to which tokens are revoked, by session, or by session and token, as `name/jti`: no name has a slash.
/// And the readers that were admitted by credentials, each of which ends when its own is revoked or withdrawn.
public final class Revocations: Sendable {
    /// A session, or a token of one, and the moment in milliseconds since 1970.
    public typealias Moment = (session: String, moment: Int)

    /// How long a revocation is kept, in milliseconds: the longest life of tokens made here.
    public static let life = Session.Settings.maxTimeToLive * 1000
    /// The most sessions, which take some 15 MB. Any holder of a key may use up all of them.
    public static let limit = 100_000

    private struct Content {
        /// Milliseconds since 1970, by session.
        var moments: [String: Int] = [:]
        /// For all sessions, if it is unknown which were revoked.
        var momentOfAll: Int?
        var readers: [ObjectIdentifier: any SessionReader] = [:]
        /// Those with tokens, by each session of theirs.
        var readersOf: [String: [ObjectIdentifier: (reader: any SessionReader, token: any RevocableToken)]] = [:]
    }

    private let content = Locked(Content())
    /// Saves the lock if nothing was ever revoked.
    private let isEmpty = Atomic<Bool>(true)

    // MARK: Tokens

    public var areNone: Bool { isEmpty.load(ordering: .acquiring) }

    /// Whether a token was revoked. O(its sessions).
    public func refuse(_ token: any RevocableToken) -> Bool { !areNone && content.withLock { Self.refuse(token, $0) } }

    private static func refuse(_ token: any RevocableToken, _ content: Content) -> Bool {
        if let moment = content.momentOfAll, token.wasMade(by: moment) { return true }
        return token.sessions.contains { session in
            if let id = token.id, content.moments["\(session)/\(id)"] != nil { return true }
            return content.moments[session].map { token.wasMade(by: $0) } ?? false
        }
    }

    // MARK: Revoking

    /// Revokes tokens of a session made up to a moment, or one token, and ends their readers. O(such readers).
    public func add(_ session: String, upTo moment: Int) {
        let parts = session.split(separator: "/", maxSplits: 1)
        let id = parts.count > 1 ? parts[1] : nil
        let ended = content.withLock { content -> [any SessionReader] in
            guard content.moments[session] ?? .min < moment else { return [] }
            content.moments[session] = moment
            isEmpty.store(false, ordering: .releasing)
            let readers = content.readersOf[String(parts.first ?? "")] ?? [:]
            return readers.values.compactMap { reader, token in
                (id.map { token.id == String($0) } ?? token.wasMade(by: moment)) ? reader : nil
            }
        }
        for reader in ended { reader.sessionEnded(.revoked) }
    }

    /// Revokes all tokens made up to a moment, since it is no longer known which were revoked. Readers stay.
    public func addAll(upTo moment: Int) {
        content.withLock {
            $0.momentOfAll = moment
            isEmpty.store(false, ordering: .releasing)
        }
    }

    /// Whether there is room for a session. If not, forgets revocations older than any living token, in O(sessions).
    public func hasRoom(for session: String, at now: Int = WallTime.milliseconds) -> Bool {
        content.withLock { content in
            if content.moments.count < Self.limit || content.moments[session] != nil { return true }
            content.moments = content.moments.filter { $0.value > now - Self.life }
            return content.moments.count < Self.limit
        }
    }

    var count: Int { content.withLock { $0.moments.count } }

    // MARK: Readers

    /// Ends a reader once its token (nil: it has a key) is revoked, or it is no longer admitted, which may be at once.
    /// Lasts until `leave`. O(its sessions).
    public func follow(_ token: (any RevocableToken)?, _ reader: any SessionReader) {
        let isRefused = content.withLock { content in
            content.readers[ObjectIdentifier(reader)] = reader
            guard let token else { return false }
            for session in token.sessions {
                content.readersOf[session, default: [:]][ObjectIdentifier(reader)] = (reader, token)
            }
            return Self.refuse(token, content)
        }
        if isRefused || !reader.isAdmitted { reader.sessionEnded(.revoked) }
    }

    public func leave(_ token: (any RevocableToken)?, _ reader: any SessionReader) {
        content.withLock { content in
            content.readers[ObjectIdentifier(reader)] = nil
            for session in token?.sessions ?? [] {
                content.readersOf[session]?[ObjectIdentifier(reader)] = nil
                if content.readersOf[session]?.isEmpty == true { content.readersOf[session] = nil }
            }
        }
    }

    /// Ends the readers that are no longer admitted, since keys or secrets were replaced. O(readers).
    public func endWithdrawn() { content.withLock { Array($0.readers.values) }.endWithdrawn() }
}

/// What a revocation must know of a token.
public protocol RevocableToken: Sendable {
    var sessions: [String] { get }
    /// When it was made, in milliseconds since 1970.
    var made: Int? { get }
    /// What tells it from others (`jti`).
    var id: String? { get }
}

extension RevocableToken {
    /// Whether it was made by then. A token without a time counts as old.
    fileprivate func wasMade(by moment: Int) -> Bool { made ?? .min <= moment }
}
