import HTTPCore
import Synchronization

/// Where a session lives in memory: its value, and who wants to hear of the next one.
///
/// The value is replaced as a whole, by whoever names the revision that is there; nobody computes anything under the
/// lock.
final class SessionSlot: Sendable {
    let name: String
    private let content: Locked<Content>
    /// How many readers there are; changed with them, and read without the lock.
    private let readers = Atomic<Int>(0)

    private struct Content {
        /// Nil once the session is gone; the slot is then never used again.
        var value: Value?
        /// Encoded answers to the head, shared by all who have the same base; made when there is one.
        var answers: AnswerCache?
        var readers: [ObjectIdentifier: any SessionReader] = [:]
    }

    fileprivate enum Value {
        case awake(Session)
        case resting(RestingSession)
        /// Only the store has it.
        case away(revision: Revision, version: UInt64)

        var revision: Revision {
            switch self {
            case .awake(let session): session.head.revision
            case .resting(let session): session.revision
            case .away(let revision, _): revision
            }
        }

        var version: UInt64 {
            switch self {
            case .awake(let session): session.version
            case .resting(let session): session.version
            case .away(_, let version): version
            }
        }

        var replays: ReplayWindow {
            switch self {
            case .awake(let session): session.replays
            case .resting(let session): session.replays
            case .away: ReplayWindow()
            }
        }

        /// The session, which costs O(items) if it rests; nil while it is away.
        var session: Session? {
            switch self {
            case .awake(let session): session
            case .resting(let session): session.woken()
            case .away: nil
            }
        }
    }

    /// Place in the table's order of use; the table's lock guards it.
    nonisolated(unsafe) var recency = Recency()

    init(name: String, _ session: Session) {
        self.name = name
        content = Locked(Content(value: .awake(session)))
    }

    /// The session as it is now, awake from now on; nil once it is gone or away. O(1), and O(items) if it was resting.
    var session: Session? {
        while true {
            switch content.withLock({ $0.value }) {
            case nil, .away: return nil
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

    /// What a store calls the value that is here; nil once the session is gone.
    var version: UInt64? { content.withLock { $0.value }?.version }

    /// The revision of the session, be it here or away; nil once it is gone.
    var revision: Revision? { content.withLock { $0.value }?.revision }

    /// Lays the session to rest, which any use ends. O(items).
    ///
    /// - Returns: the bytes that it holds now; nil if it was not awake, or somebody else was faster.
    func rest() -> Int? {
        guard let session = awakeSession else { return nil }
        let resting = RestingSession(session)
        let isDone = content.withLock { content in
            guard case .awake(let now) = content.value, now === session else { return false }
            content.value = .resting(resting)
            content.answers = nil
            return true
        }
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

    /// Puts `next` in place of the session if that is still at `revision`; returns whether it was.
    ///
    /// - Parameter keepsReplays: whether answered keys are kept of which `next` does not know: a write that changed
    ///   nothing remembered them while `next` was computed, and left the revision as it was.
    func replace(at revision: Revision, by next: Session, keepsReplays: Bool) -> Bool {
        let readers: [any SessionReader]? = content.withLock { content in
            guard let value = content.value, value.revision == revision else { return nil }
            content.value = .awake(keepsReplays ? next.keepingReplays(of: value.replays) : next)
            let isNews = next.head.revision != revision
            return isNews ? Array(content.readers.values) : []
        }
        guard let readers else { return false }
        for reader in readers { reader.sessionChanged() }
        return true
    }

    /// Takes the session away, if it is at `revision` (nil: whichever it is at).
    ///
    /// - Returns: its readers, who have to be told; nil if there was nothing to take.
    func emptied(at revision: Revision? = nil) -> [any SessionReader]? {
        content.withLock { content in
            guard let value = content.value, revision == nil || value.revision == revision else { return nil }
            content.value = nil
            defer { forgetReaders(&content) }
            return Array(content.readers.values)
        }
    }

    // MARK: Leaving memory

    /// What a slot held in memory, to be freed where no lock is held.
    struct Held { fileprivate let value: Value?, answers: AnswerCache? }

    /// Lets go of the session, which a store keeps. Its readers stay, and hear of the next revision.
    func sendAway() -> Held {
        content.withLock { content in
            let held = Held(value: content.value, answers: content.answers)
            content.value = content.value.map { .away(revision: $0.revision, version: $0.version) }
            content.answers = nil
            return held
        }
    }

    /// Puts back a session that was away.
    ///
    /// - Returns: the readers to whom it is news; nil if it was not away.
    func bringBack(_ session: Session) -> [any SessionReader]? {
        content.withLock { content in
            guard case .away(let revision, _) = content.value else { return nil }
            content.value = .awake(session)
            return session.head.revision == revision ? [] : Array(content.readers.values)
        }
    }

    // MARK: Readers

    /// Registers a reader unless there are `limit` already or the session is gone.
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

    /// What became of a reader that wanted in.
    enum Admission { case added, tooMany, gone }
}

/// Someone who waits for a session to change: a held request or a stream. Both calls come on any thread, and return at
/// once.
protocol SessionReader: AnyObject, Sendable {
    func sessionChanged()
    func sessionEnded(_ problem: Problem)
}

extension SessionSlot {
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
    /// With the answered keys of another value of the same session.
    fileprivate func keepingReplays(of other: ReplayWindow) -> Session {
        if other.entries.isEmpty { return self }
        var replays = replays
        replays.formUnion(other, at: .now)
        return with(replays: replays)
    }
}
