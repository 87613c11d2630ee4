// A token is good until it ends, unless all that were made for one of its sessions up to some moment are refused
// before. Each process holds all such moments in memory, so that a request with a token costs a look-up and no round
// trip, and one of many sessions no more than that. A store writes them down, and tells other processes of them.
//
// Tokens are refused by when they say that they were made. So this is as good as the clocks of those who make them: one
// that is ahead makes tokens that outlive a revocation within that time, by a minute at most.

import HTTPCore
import Synchronization

/// Up to when tokens of sessions were made that are refused; and the readers that came with tokens, which end then.
final class Revocations: Sendable {
    /// For how long one is kept, in milliseconds: as long as tokens live that are minted here.
    static let life = Options.maxTimeToLive * 1000
    /// Sessions at most. Who has a key may take all of them; with one key each they take some 15 MB together.
    static let limit = 100_000

    private struct Content {
        /// Milliseconds since 1970, by session.
        var moments: [String: Int] = [:]
        /// Of all sessions, where it is not known of which.
        var momentOfAll: Int?
        /// Who waits for something, by each session of the token that they came with.
        var readers: [String: [ObjectIdentifier: Reader]] = [:]
    }

    private struct Reader {
        let token: Token
        let reader: any SessionReader
    }

    private let content = Locked(Content())
    /// So that a look-up costs no lock where nothing was ever revoked.
    private let isEmpty = Atomic<Bool>(true)

    // MARK: Tokens

    /// Whether a token was revoked. O(its sessions).
    func refuse(_ token: Token) -> Bool {
        if isEmpty.load(ordering: .acquiring) { return false }
        return content.withLock { Self.refuse(token, $0) }
    }

    /// Refuses whoever came with a token that was revoked.
    ///
    /// - Parameter identity: is not asked for where nothing was ever revoked.
    func check(_ identity: @autoclosure () -> Identity) throws(Problem) {
        if isEmpty.load(ordering: .acquiring) { return }
        if case .client(let token, _) = identity(), refuse(token) { throw .revoked }
    }

    private static func refuse(_ token: Token, _ content: Content) -> Bool {
        if let moment = content.momentOfAll, token.wasMade(by: moment) { return true }
        return token.sessions.contains { content.moments[$0].map { token.wasMade(by: $0) } ?? false }
    }

    // MARK: Revoking

    /// Refuses tokens of a session that were made up to a moment from now on, and ends their readers.
    func add(_ session: String, upTo moment: Int) {
        let ended = content.withLock { content -> [any SessionReader] in
            guard content.moments[session] ?? .min < moment else { return [] }
            content.moments[session] = moment
            isEmpty.store(false, ordering: .releasing)
            let readers = content.readers[session].map { Array($0.values) } ?? []
            return readers.filter { $0.token.wasMade(by: moment) }.map(\.reader)
        }
        for reader in ended { reader.sessionEnded(.revoked) }
    }

    /// Refuses all tokens that were made up to a moment: nobody knows any more which of them were revoked. Readers that
    /// are there stay.
    func addAll(upTo moment: Int) {
        content.withLock {
            $0.momentOfAll = moment
            isEmpty.store(false, ordering: .releasing)
        }
    }

    /// Whether one more session has room. Makes some by forgetting those of which no token can be left: O(sessions)
    /// where there is none, else O(1).
    func hasRoom(for session: String, at now: Int = WallTime.milliseconds) -> Bool {
        content.withLock { content in
            if content.moments.count < Self.limit || content.moments[session] != nil { return true }
            content.moments = content.moments.filter { $0.value > now - Self.life }
            return content.moments.count < Self.limit
        }
    }

    /// How many sessions there are.
    var count: Int { content.withLock { $0.moments.count } }

    // MARK: Readers

    /// Has a reader told when the token that it came with is revoked: at once if it was already. O(its sessions).
    func follow(_ token: Token, _ reader: any SessionReader) {
        let isRefused = content.withLock { content in
            for session in token.sessions {
                content.readers[session, default: [:]][ObjectIdentifier(reader)] = Reader(token: token, reader: reader)
            }
            return Self.refuse(token, content)
        }
        if isRefused { reader.sessionEnded(.revoked) }
    }

    func leave(_ token: Token, _ reader: any SessionReader) {
        content.withLock { content in
            for session in token.sessions {
                content.readers[session]?[ObjectIdentifier(reader)] = nil
                if content.readers[session]?.isEmpty == true { content.readers[session] = nil }
            }
        }
    }
}

extension Token {
    /// Whether it was made by then; one that does not say was.
    func wasMade(by moment: Int) -> Bool { made ?? .min <= moment }
}

extension Problem {
    static let revoked = Problem(.unauthenticated, "the token was revoked")
}
