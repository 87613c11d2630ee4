// A token is valid until it expires, unless all tokens made for one of its sessions up to some moment are revoked
// before. Each process has all such moments in memory, so that checking a token costs look-ups and no round trip. A
// store records them and tells other processes.
//
// A revocation goes by the time at which a token says it was made, and so depends on the clocks of those who make
// tokens: tokens of a clock that is ahead outlive a revocation within that time, by a minute at most.

import DiffClock
import DiffSessions
import Synchronization

/// The moments up to which tokens are revoked, by session; and the readers with tokens, which a revocation ends.
public final class Revocations: Sendable {
    /// How long a revocation is kept, in milliseconds: the longest life of tokens made here.
    public static let life = Session.Settings.maxTimeToLive * 1000
    /// The most sessions, which take some 15 MB. Any holder of a key may use up all of them.
    public static let limit = 100_000

    private struct Content {
        /// Milliseconds since 1970, by session.
        var moments: [String: Int] = [:]
        /// For all sessions, if it is unknown which were revoked.
        var momentOfAll: Int?
        /// By each session of a reader's token.
        var readers: [String: [ObjectIdentifier: Reader]] = [:]
    }

    private struct Reader {
        let token: any RevocableToken
        let reader: any SessionReader
    }

    private let content = Locked(Content())
    /// Saves the lock if nothing was ever revoked.
    private let isEmpty = Atomic<Bool>(true)

    // MARK: Tokens

    /// Whether a token was revoked. O(its sessions).
    public func refuse(_ token: any RevocableToken) -> Bool {
        if isEmpty.load(ordering: .acquiring) { return false }
        return content.withLock { Self.refuse(token, $0) }
    }

    /// Whether nothing was ever revoked.
    public var areNone: Bool { isEmpty.load(ordering: .acquiring) }

    private static func refuse(_ token: any RevocableToken, _ content: Content) -> Bool {
        if let moment = content.momentOfAll, token.wasMade(by: moment) { return true }
        return token.sessions.contains { content.moments[$0].map { token.wasMade(by: $0) } ?? false }
    }

    // MARK: Revoking

    /// Revokes tokens of a session that were made up to a moment, and ends their readers.
    public func add(_ session: String, upTo moment: Int) {
        let ended = content.withLock { content -> [any SessionReader] in
            guard content.moments[session] ?? .min < moment else { return [] }
            content.moments[session] = moment
            isEmpty.store(false, ordering: .releasing)
            let readers = content.readers[session].map { Array($0.values) } ?? []
            return readers.filter { $0.token.wasMade(by: moment) }.map(\.reader)
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

    /// Whether there is room for a session. If not, forgets revocations older than any living token, in O(sessions);
    /// else O(1).
    public func hasRoom(for session: String, at now: Int = WallTime.milliseconds) -> Bool {
        content.withLock { content in
            if content.moments.count < Self.limit || content.moments[session] != nil { return true }
            content.moments = content.moments.filter { $0.value > now - Self.life }
            return content.moments.count < Self.limit
        }
    }

    /// How many sessions there are.
    var count: Int { content.withLock { $0.moments.count } }

    // MARK: Readers

    /// Ends a reader when its token is revoked: at once if it was before. O(its sessions).
    public func follow(_ token: any RevocableToken, _ reader: any SessionReader) {
        let isRefused = content.withLock { content in
            for session in token.sessions {
                content.readers[session, default: [:]][ObjectIdentifier(reader)] = Reader(token: token, reader: reader)
            }
            return Self.refuse(token, content)
        }
        if isRefused { reader.sessionEnded(.revoked) }
    }

    public func leave(_ token: any RevocableToken, _ reader: any SessionReader) {
        content.withLock { content in
            for session in token.sessions {
                content.readers[session]?[ObjectIdentifier(reader)] = nil
                if content.readers[session]?.isEmpty == true { content.readers[session] = nil }
            }
        }
    }
}

/// What a revocation must know of a token.
public protocol RevocableToken: Sendable {
    var sessions: [String] { get }
    /// When it was made, in milliseconds since 1970.
    var made: Int? { get }
}

extension RevocableToken {
    /// Whether it was made by then. A token without a time counts as old.
    func wasMade(by moment: Int) -> Bool { made ?? .min <= moment }
}
