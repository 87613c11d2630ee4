import HTTPCore
import Synchronization

/// Where a session lives in memory: its value, and the readers who wait for the next one.
///
/// The value is replaced as a whole, by whoever names the revision that is there; nothing is computed under the lock.
final class SessionSlot: Sendable {
    let name: String
    private let content: Locked<Content>
    /// The number of readers, to be read without the lock.
    private let readers = Atomic<Int>(0)

    private struct Content {
        /// Nil once the session is gone; the slot is never used again then.
        var value: Value?
        /// Encoded answers to the head, shared by all readers with the same base; made when there is one.
        var answers: AnswerCache?
        var readers: [ObjectIdentifier: any SessionReader] = [:]
    }

    fileprivate enum Value {
        /// There is no session yet, but somebody waits for it.
        case awaited
        case awake(Session)
        case resting(RestingSession)
        /// Only the store has it.
        case away(revision: Revision, version: UInt64)

        /// The session; nil if it is not in memory.
        var session: (any SessionInMemory)? {
            switch self {
            case .awake(let session): session
            case .resting(let session): session
            case .awaited, .away: nil
            }
        }

        /// Whether it is this very session.
        func isAwake(_ session: Session) -> Bool { if case .awake(let own) = self { own === session } else { false } }

        /// Nil if there is no session yet.
        var revision: Revision? { if case .away(let revision, _) = self { revision } else { session?.revision } }

        var version: UInt64? { if case .away(_, let version) = self { version } else { session?.version } }
    }

    /// The table's lock guards it.
    nonisolated(unsafe) var recency = Recency()

    init(name: String, _ session: Session) {
        self.name = name
        content = Locked(Content(value: .awake(session)))
    }

    /// A slot for readers of a session that does not exist yet.
    init(awaiting name: String) {
        self.name = name
        content = Locked(Content(value: .awaited))
    }

    /// Whether the session has not been made yet.
    var isAwaited: Bool {
        if case .awaited = content.withLock({ $0.value }) { true } else { false }
    }

    /// The session as it is now, awake from now on; nil once it is gone or away. O(1), and O(items) if it was resting.
    var session: Session? {
        while true {
            switch content.withLock({ $0.value }) {
            case nil, .awaited, .away: return nil
            case .awake(let session): return session
            case .resting(let resting):
                let session = resting.woken()
                let isDone = content.withLock { content in
                    guard case .resting(let now) = content.value, now === resting else { return false }
                    content.value = .awake(session)
                    return true
                }
                if isDone { return session }
            }
        }
    }

    /// The session as it is now, if it is awake.
    var awakeSession: Session? {
        guard case .awake(let session) = content.withLock({ $0.value }) else { return nil }
        return session
    }

    /// What a store calls the value that is here; nil while there is no session.
    var version: UInt64? { content.withLock { $0.value }?.version }

    /// The revision of the session, be it here or away; nil while there is none.
    var revision: Revision? { content.withLock { $0.value }?.revision }

    var isInMemory: Bool { sessionInMemory != nil }

    /// The session as it is now, awake or not; nil once it is gone or away.
    var sessionInMemory: (any SessionInMemory)? { content.withLock { $0.value }?.session }

    /// Packs the session until it is used again. O(items).
    ///
    /// - Returns: the bytes that it holds now; nil if it was not awake, or has changed meanwhile.
    func rest() -> Int? {
        guard let session = awakeSession else { return nil }
        let resting = RestingSession(session)
        let (isDone, answers) = content.withLock { content -> (Bool, AnswerCache?) in
            guard case .awake(let now) = content.value, now === session else { return (false, nil) }
            content.value = .resting(resting)
            return (true, exchange(&content.answers, with: nil))
        }
        answers?.forget()
        return isDone ? resting.footprint : nil
    }

    /// The answers to the head.
    func answers(in caches: AnswerCaches) -> AnswerCache {
        content.withLock { content in
            if let answers = content.answers { return answers }
            let answers = AnswerCache(in: caches)
            content.answers = answers
            return answers
        }
    }

    /// Puts `next` in place of a session, if that still has the same revision and settings.
    ///
    /// - Parameter keepsReplays: whether to keep answered keys that `next` does not know: writes that changed nothing
    ///   may have added them while `next` was computed, and left the revision as it was.
    /// - Returns: whether it was replaced.
    func replace(_ before: Session, by next: Session, keepsReplays: Bool) -> Bool {
        var answers: AnswerCache?
        let isNews = next.head.revision != before.head.revision
        let isReset = next.settings != before.settings
        let readers: [any SessionReader]? = content.withLock { content in
            guard let value = content.value else { return nil }
            var next = next
            if !value.isAwake(before) {
                guard value.revision == before.head.revision,
                    (value.session?.settings ?? before.settings) == before.settings
                else { return nil }
                if keepsReplays, let replays = value.session?.replays { next = next.keepingReplays(of: replays) }
            }
            content.value = .awake(next)
            answers = content.answers
            // Answers to the same head leave out what is ignored.
            if isReset { content.answers = nil }
            return isNews ? Array(content.readers.values) : []
        }
        guard let readers else { return false }
        if isReset { answers?.forget() } else if isNews { answers?.moved(to: next.head) }
        for reader in readers { reader.sessionChanged() }
        return true
    }

    /// Removes the session, if it is at `revision` (nil: at any).
    ///
    /// - Returns: its readers, who have to be told; nil if nothing was removed.
    func emptied(at revision: Revision? = nil) -> [any SessionReader]? {
        content.withLock { content in
            guard let value = content.value, revision == nil || value.revision == revision else { return nil }
            content.value = nil
            defer { forgetReaders(&content) }
            return Array(content.readers.values)
        }
    }

    // MARK: Leaving memory

    /// What a slot held in memory, to be freed outside of any lock.
    struct Held {
        fileprivate let value: Value?
        fileprivate let answers: AnswerCache?

        /// Frees it, except for what others hold.
        func free() { answers?.forget() }
    }

    /// Drops the session, which a store keeps. Its readers stay, and hear of the next revision.
    func sendAway() -> Held {
        content.withLock { content in
            let held = Held(value: content.value, answers: content.answers)
            if let revision = held.value?.revision, let version = held.value?.version {
                content.value = .away(revision: revision, version: version)
            }
            content.answers = nil
            return held
        }
    }

    /// Puts in a session that was away or awaited.
    ///
    /// - Returns: the readers, if the revision is new to them; nil if the session was neither away nor awaited.
    func bringBack(_ session: Session) -> [any SessionReader]? {
        content.withLock { content in
            guard let value = content.value, value.session == nil else { return nil }
            content.value = .awake(session)
            return session.head.revision == value.revision ? [] : Array(content.readers.values)
        }
    }

    // MARK: Readers

    /// Registers a reader, unless there are `limit` already or the session is gone.
    func add(_ reader: any SessionReader, limit: Int) -> Admission {
        content.withLock { content in
            guard content.value != nil else { return .gone }
            guard content.readers.count < limit else { return .tooMany }
            content.readers[ObjectIdentifier(reader)] = reader
            readers.store(content.readers.count, ordering: .relaxed)
            return .added
        }
    }

    func remove(_ reader: any SessionReader) {
        content.withLock { content in
            content.readers[ObjectIdentifier(reader)] = nil
            readers.store(content.readers.count, ordering: .relaxed)
        }
    }

    private func forgetReaders(_ content: inout Content) {
        content.readers = [:]
        readers.store(0, ordering: .relaxed)
    }

    var readerCount: Int { readers.load(ordering: .relaxed) }

    /// Whether a reader was registered.
    enum Admission { case added, tooMany, gone }
}

/// A held request or a stream that waits for a session to change. It may be called on any thread, and returns at once.
protocol SessionReader: AnyObject, Sendable {
    func sessionChanged()
    func sessionEnded(_ problem: Problem)
    /// The session's source has been silent for too long, or is heard again.
    func sourceChanged()
}

extension SessionReader {
    func sourceChanged() {}
}

extension SessionSlot {
    /// Tells the readers that the session's source is silent, or heard again.
    func sourceChanged() { for reader in content.withLock({ Array($0.readers.values) }) { reader.sourceChanged() } }

    /// Ends the readers of a session that stays.
    func endReaders(because problem: Problem) {
        let readers = content.withLock { content in
            defer { forgetReaders(&content) }
            return Array(content.readers.values)
        }
        for reader in readers { reader.sessionEnded(problem) }
    }
}

extension Session {
    /// The session with the answered keys of another value of it.
    fileprivate func keepingReplays(of other: ReplayWindow) -> Session {
        if other.entries.isEmpty { return self }
        var replays = replays
        replays.formUnion(other, at: .now)
        return with(replays: replays)
    }
}
