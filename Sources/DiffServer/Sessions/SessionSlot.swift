import HTTPCore

/// Where a session lives in memory: its value, and who wants to hear of the next one.
///
/// The value is replaced as a whole, by whoever names the revision that is there; nobody computes anything under the lock.
final class SessionSlot: Sendable {
    let name: String
    private let content: Locked<Content>
    /// Encoded answers to the head, shared by all who have the same base.
    let answers: AnswerCache

    private struct Content {
        /// Nil once the session is gone; the slot is then never used again.
        var session: Session?
        var readers: [ObjectIdentifier: any SessionReader] = [:]
    }

    /// Place in the table's order of use; the table's lock guards it.
    nonisolated(unsafe) var recency = Recency()

    init(name: String, _ session: Session, answersIn room: AnswerRoom) {
        self.name = name
        answers = AnswerCache(in: room)
        content = Locked(Content(session: session))
    }

    /// The session as it is now; nil once it is gone.
    var session: Session? { content.withLock { $0.session } }

    /// Puts `next` in place of the session if that is still at `revision`; returns whether it was.
    ///
    /// - Parameter keepsReplays: whether answered keys are kept of which `next` does not know: a write that changed nothing remembered them
    ///   while `next` was computed, and left the revision as it was.
    func replace(at revision: Revision, by next: Session, keepsReplays: Bool) -> Bool {
        let readers: [any SessionReader]? = content.withLock { content in
            guard let session = content.session, session.head.revision == revision else { return nil }
            content.session = keepsReplays ? next.keepingReplays(of: session) : next
            let isNews = next.head.revision != revision
            return isNews ? Array(content.readers.values) : []
        }
        guard let readers else { return false }
        for reader in readers { reader.sessionChanged() }
        return true
    }

    /// Changes what is remembered beside the state; nil once the session is gone.
    func amend(_ change: (Session) -> Session) -> Session? {
        content.withLock { content in
            content.session = content.session.map(change)
            return content.session
        }
    }

    /// Takes the session away, if it is at `revision` (nil: whichever it is at).
    ///
    /// - Returns: its readers, who have to be told; nil if there was nothing to take.
    func emptied(at revision: Revision? = nil) -> [any SessionReader]? {
        content.withLock { content in
            guard let session = content.session, revision == nil || session.head.revision == revision else { return nil }
            content.session = nil
            defer { content.readers = [:] }
            return Array(content.readers.values)
        }
    }

    // MARK: Readers

    /// Registers a reader unless there are `limit` already or the session is gone.
    func add(_ reader: any SessionReader, limit: Int) -> Admission {
        content.withLock { content in
            guard content.session != nil else { return .gone }
            guard content.readers.count < limit else { return .tooMany }
            content.readers[ObjectIdentifier(reader)] = reader
            return .added
        }
    }

    func remove(_ reader: any SessionReader) { content.withLock { $0.readers[ObjectIdentifier(reader)] = nil } }

    var readerCount: Int { content.withLock { $0.readers.count } }

    /// What became of a reader that wanted in.
    enum Admission { case added, tooMany, gone }
}

/// Someone who waits for a session to change: a held request or a stream. Both calls come on any thread, and return at once.
protocol SessionReader: AnyObject, Sendable {
    func sessionChanged()
    func sessionEnded(_ problem: Problem)
}

extension SessionSlot {
    /// Ends the readers of a session that stays.
    func endReaders(because problem: Problem) {
        let readers = content.withLock { content in
            defer { content.readers = [:] }
            return Array(content.readers.values)
        }
        for reader in readers { reader.sessionEnded(problem) }
    }
}

extension Session {
    /// With the answered keys of another value of the same session.
    fileprivate func keepingReplays(of other: Session) -> Session {
        if other.replays.entries.isEmpty { return self }
        var replays = replays
        replays.formUnion(other.replays, at: .now)
        return with(replays: replays)
    }
}
