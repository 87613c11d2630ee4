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
        /// There is no session yet, but somebody waits for it.
        case awaited
        case awake(Session)
        case resting(RestingSession)
        /// Only the store has it.
        case away(revision: Revision, version: UInt64)

        /// Nil if there is no session yet.
        var revision: Revision? {
            switch self {
            case .awaited: nil
            case .awake(let session): session.head.revision
            case .resting(let session): session.revision
            case .away(let revision, _): revision
            }
        }

        var version: UInt64? {
            switch self {
            case .awaited: nil
            case .awake(let session): session.version
            case .resting(let session): session.version
            case .away(_, let version): version
            }
        }

        /// Nil while it is not here.
        var settings: Session.Settings? {
            switch self {
            case .awake(let session): session.settings
            case .resting(let session): session.settings
            case .awaited, .away: nil
            }
        }

        var replays: ReplayWindow {
            switch self {
            case .awake(let session): session.replays
            case .resting(let session): session.replays
            case .awaited, .away: ReplayWindow()
            }
        }

        /// Whether there is a session, and it is in memory.
        var isHere: Bool {
            switch self {
            case .awaited, .away: false
            case .awake, .resting: true
            }
        }
    }

    /// Place in the table's order of use; the table's lock guards it.
    nonisolated(unsafe) var recency = Recency()

    init(name: String, _ session: Session) {
        self.name = name
        content = Locked(Content(value: .awake(session)))
    }

    /// One for those who wait for a session that does not exist.
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

    /// What is told of the session without waking it; nil once it is gone or away.
    var summary: (revision: Revision, rows: Int)? {
        switch content.withLock({ $0.value }) {
        case nil, .awaited, .away: nil
        case .awake(let session): (session.head.revision, session.head.snapshot.rowCount)
        case .resting(let session): (session.revision, session.rows)
        }
    }

    /// Lays the session to rest, which any use ends. O(items).
    ///
    /// - Returns: the bytes that it holds now; nil if it was not awake, or somebody else was faster.
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

    /// Puts `next` in place of a session that is still at the same revision, with the same settings; returns whether it
    /// was.
    ///
    /// - Parameter keepsReplays: whether answered keys are kept of which `next` does not know: a write that changed
    ///   nothing remembered them while `next` was computed, and left the revision as it was.
    func replace(_ before: Session, by next: Session, keepsReplays: Bool) -> Bool {
        var answers: AnswerCache?
        let isNews = next.head.revision != before.head.revision
        let readers: [any SessionReader]? = content.withLock { content in
            guard let value = content.value, value.revision == before.head.revision,
                (value.settings ?? before.settings) == before.settings
            else { return nil }
            content.value = .awake(keepsReplays ? next.keepingReplays(of: value.replays) : next)
            answers = content.answers
            // Answers to the same head leave out what is ignored.
            if next.settings != before.settings { content.answers = nil }
            return isNews ? Array(content.readers.values) : []
        }
        guard let readers else { return false }
        if next.settings != before.settings { answers?.forget() } else if isNews { answers?.moved(to: next.head) }
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
    struct Held {
        fileprivate let value: Value?
        fileprivate let answers: AnswerCache?

        /// Frees it, but for what others hold.
        func free() { answers?.forget() }
    }

    /// Lets go of the session, which a store keeps. Its readers stay, and hear of the next revision.
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
    /// - Returns: the readers to whom it is news; nil if it was neither.
    func bringBack(_ session: Session) -> [any SessionReader]? {
        content.withLock { content in
            guard let value = content.value, !value.isHere else { return nil }
            content.value = .awake(session)
            return session.head.revision == value.revision ? [] : Array(content.readers.values)
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

/// Someone who waits for a session to change: a held request or a stream. All calls come on any thread, and return at
/// once.
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
    /// Tells the readers that the source of the session is silent, or heard again.
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
    /// With the answered keys of another value of the same session.
    fileprivate func keepingReplays(of other: ReplayWindow) -> Session {
        if other.entries.isEmpty { return self }
        var replays = replays
        replays.formUnion(other, at: .now)
        return with(replays: replays)
    }
}
