import DiffClock
import DiffSessions
import SnapshotKit
import Synchronization

/// Where a session lives in memory, and readers wait for the next value. That is replaced as a whole, and not computed
/// under the lock.
public final class SessionSlot: Sendable {
    public let name: String
    private let content: Locked<Content>
    /// The number of readers, without the lock.
    private let readers = Atomic<Int>(0)

    private struct Content {
        /// Nil once the session is gone; the slot is never used again then.
        var value: Value?
        var cache: (any HeadCache)?
        var readers: [ObjectIdentifier: any SessionReader] = [:]
        var anonymousReaders = 0

        /// Those without credentials are at most half.
        func isFull(_ limit: Int, isAnonymous: Bool) -> Bool {
            readers.count >= limit || isAnonymous && anonymousReaders >= limit / 2
        }
    }

    fileprivate enum Value {
        /// There is no session yet, but somebody waits for it.
        case placeholder
        case awake(Session)
        case compact(CompactSession)
        /// Only the store has it.
        case evicted(revision: Revision, version: UInt64, Session.FetchGround, isPublic: Bool)

        /// The session; nil if it is not in memory.
        var session: (any SessionInMemory)? {
            switch self {
            case .awake(let session): session
            case .compact(let session): session
            case .placeholder, .evicted: nil
            }
        }

        var fetchGround: Session.FetchGround? {
            if case .evicted(_, _, let ground, _) = self { ground } else { session?.fetchGround }
        }

        func isAwake(_ session: Session) -> Bool { if case .awake(let own) = self { own === session } else { false } }

        var revision: Revision? {
            if case .evicted(let revision, _, _, _) = self { revision } else { session?.revision }
        }

        var version: UInt64? { if case .evicted(_, let version, _, _) = self { version } else { session?.version } }

        var isPublic: Bool? {
            if case .evicted(_, _, _, let isPublic) = self { isPublic } else { session?.settings.isPublic }
        }
    }

    /// Guarded by the table's lock.
    public nonisolated(unsafe) var recency = Recency()

    init(name: String, _ session: Session) {
        self.name = name
        content = Locked(Content(value: .awake(session)))
        recency.begin(session.settings.timeToLive)
    }

    /// A slot for readers of a session that does not exist yet.
    init(awaiting name: String) {
        self.name = name
        content = Locked(Content(value: .placeholder))
    }

    /// A detached slot that only reports the expiry. It is empty, so readers and writers look again.
    public init(outsideOf name: String, _ session: Session) {
        self.name = name
        content = Locked(Content())
        recency.begin(session.settings.timeToLive)
    }

    /// Whether the session has not been made yet.
    public var isPlaceholder: Bool { if case .placeholder = content.withLock({ $0.value }) { true } else { false } }

    /// The session, awake from now on; nil once it is gone or evicted. O(1), or O(items) if it was compact.
    var session: Session? {
        while true {
            switch content.withLock({ $0.value }) {
            case nil, .placeholder, .evicted: return nil
            case .awake(let session): return session
            case .compact(let compact):
                let session = compact.woken()
                let isDone = content.withLock { content in
                    guard case .compact(let now) = content.value, now === compact else { return false }
                    content.value = .awake(session)
                    return true
                }
                if isDone { return session }
            }
        }
    }

    public var awakeSession: Session? { if case .awake(let own) = content.withLock({ $0.value }) { own } else { nil } }

    /// A store's name for the value here; nil while there is no session.
    public var version: UInt64? { content.withLock { $0.value }?.version }

    /// The revision of the session, here or evicted; nil while there is none.
    public var revision: Revision? { content.withLock { $0.value }?.revision }

    /// Whether the session, here or evicted, is public; nil while there is none.
    public var isPublic: Bool? { content.withLock { $0.value }?.isPublic }

    /// The revision, and what fetches of the session's sections build on.
    public var fetchBase: (revision: Revision, ground: Session.FetchGround)? {
        let value = content.withLock { $0.value }
        guard let value, let revision = value.revision, let ground = value.fetchGround else { return nil }
        return (revision, ground)
    }

    /// The session, awake or not; nil once it is gone or evicted.
    var sessionInMemory: (any SessionInMemory)? { content.withLock { $0.value }?.session }

    /// Packs the session; returns its bytes, or nil if it was not awake or has changed. O(items).
    func compact() -> Int? {
        guard let session = awakeSession else { return nil }
        let compact = CompactSession(session)
        let (isDone, cache) = content.withLock { content -> (Bool, (any HeadCache)?) in
            guard content.value?.isAwake(session) == true else { return (false, nil) }
            content.value = .compact(compact)
            return (true, content.cache.take())
        }
        cache?.forget()
        return isDone ? compact.footprint : nil
    }

    /// Forgets what its history has no more room for, unless somebody writes it meanwhile; returns the new session.
    func trimHistory(of session: Session, at now: Instant, bounds: History.Bounds) -> Session? {
        var history = session.history
        history.trim(at: now, bounds: bounds)
        let next = session.with(history: history)
        return content.withLock { content in
            guard content.value?.isAwake(session) == true else { return nil }
            content.value = .awake(next)
            return next
        }
    }

    /// What readers keep of the head; made when there is one.
    public func cache(in caches: any HeadCaches) -> any HeadCache {
        content.withLock { content in
            if let cache = content.cache { return cache }
            let cache = caches.make()
            content.cache = cache
            return cache
        }
    }

    /// Puts `next` in place of a session, if that is still there: in a store the version says so, otherwise the
    /// revision and the settings.
    ///
    /// - Parameter keepsReplays: whether to keep answered keys that `next` does not know: writes that left the revision
    ///   unchanged may have added them while `next` was computed.
    func replace(_ before: Session, by next: Session, keepsReplays: Bool) -> Bool {
        var (cache, change, isWithdrawn): ((any HeadCache)?, Changeset?, Bool) = (nil, nil, false)
        let isNewRevision = next.head.revision != before.head.revision
        let isReset = next.settings != before.settings
        let readers: [any SessionReader]? = content.withLock { content in
            guard let value = content.value else { return nil }
            var next = next
            if !value.isAwake(before) {
                // A session made again may have the same revision.
                let isSame =
                    before.version != 0
                    ? value.version == before.version
                    : value.revision == before.head.revision
                        && (value.session?.settings ?? before.settings) == before.settings
                guard isSame else { return nil }
                if keepsReplays, let replays = value.session?.replays { next = next.keepingReplays(of: replays) }
            }
            isWithdrawn = value.isPublic == true && !next.settings.isPublic
            content.value = .awake(next)
            (cache, change) = (content.cache, next.head.takeChange())
            // The cache for the same head leaves out what is ignored.
            if isReset { content.cache = nil }
            return isNewRevision || isWithdrawn ? Array(content.readers.values) : []
        }
        guard let readers else { return false }
        if isReset { cache?.forget() } else if isNewRevision { cache?.moved(to: next.head.revision, over: change) }
        if isWithdrawn { readers.endWithdrawn() }
        for reader in readers { reader.sessionChanged() }
        return true
    }

    /// Removes the session, if it is the expected one. Returns its readers, to be told; nil if nothing was removed.
    func emptied(of expected: ExpectedSession) -> [any SessionReader]? {
        content.withLock { content in
            guard let value = content.value else { return nil }
            switch expected {
            case .any: break
            case .revision(let revision): guard value.revision == revision else { return nil }
            case .version(let version): guard value.version == version else { return nil }
            }
            content.value = nil
            content.anonymousReaders = 0
            readers.store(0, ordering: .relaxed)
            return Array(exchange(&content.readers, with: [:]).values)
        }
    }

    // MARK: Leaving memory

    /// What a slot had in memory, to be freed outside any lock, except for what others hold.
    struct EvictedContent {
        fileprivate let value: Value?
        fileprivate let cache: (any HeadCache)?

        func free() { cache?.forget() }
    }

    /// Drops the session, which a store keeps. Its readers stay, and hear of the next revision.
    func evict() -> EvictedContent {
        content.withLock { content in
            let evicted = EvictedContent(value: content.value, cache: content.cache)
            if let value = evicted.value, let revision = value.revision, let version = value.version,
                let ground = value.fetchGround
            {
                content.value = .evicted(revision: revision, version: version, ground, isPublic: value.isPublic == true)
            }
            content.cache = nil
            return evicted
        }
    }

    /// Puts a session into a slot without one; nil if it has one. Returns the readers, if the revision is new to them.
    func bringBack(_ session: Session) -> [any SessionReader]? {
        content.withLock { content in
            guard let value = content.value, value.session == nil else { return nil }
            content.value = .awake(session)
            let isWithdrawn = value.isPublic == true && !session.settings.isPublic
            return session.head.revision == value.revision && !isWithdrawn ? [] : Array(content.readers.values)
        }
    }

    // MARK: Readers

    /// Registers a reader, unless there are `limit` already or the session is gone.
    public func add(_ reader: any SessionReader, limit: Int) -> Admission {
        content.withLock { content in
            guard content.value != nil else { return .gone }
            guard !content.isFull(limit, isAnonymous: reader.isAnonymous) else { return .tooMany }
            content.readers[ObjectIdentifier(reader)] = reader
            if reader.isAnonymous { content.anonymousReaders += 1 }
            readers.store(content.readers.count, ordering: .relaxed)
            return .added
        }
    }

    func remove(_ reader: any SessionReader) {
        content.withLock { content in
            let left = content.readers.removeValue(forKey: ObjectIdentifier(reader))
            if left?.isAnonymous == true { content.anonymousReaders -= 1 }
            readers.store(content.readers.count, ordering: .relaxed)
        }
    }

    public func isFull(_ limit: Int, isAnonymous: Bool) -> Bool {
        content.withLock { $0.isFull(limit, isAnonymous: isAnonymous) }
    }

    public var readerCount: Int { readers.load(ordering: .relaxed) }

    /// Whether a reader was registered.
    public enum Admission { case added, tooMany, gone }
}

/// What readers keep of a session's head: a slot only says when the head changes.
public protocol HeadCache: AnyObject, Sendable {
    /// A commit has made a new head, by this changeset if there is one.
    func moved(to head: Revision, over change: Changeset?)
    /// The session has changed otherwise, or leaves memory.
    func forget()
}

/// Makes the caches of all sessions.
public protocol HeadCaches: AnyObject, Sendable {
    func make() -> any HeadCache
}

/// Which session of a slot to remove.
public enum ExpectedSession {
    case any
    case revision(Revision)
    /// By the store's name for it: a session made again may have the same revision.
    case version(UInt64)
}

/// Why readers of a session hear nothing more.
public enum SessionEnd: Sendable {
    case deleted, expired, evicted
    /// The reader's token was revoked, or its key withdrawn.
    case revoked
}

/// A held request or a stream that waits for a session to change. It may be called on any thread, and returns at once.
public protocol SessionReader: AnyObject, Sendable {
    /// Whether the key that admitted it, or the secret of its token, is still there; or else the session still public.
    var isAdmitted: Bool { get }
    /// Whether it has no credentials, where they are needed.
    var isAnonymous: Bool { get }
    func sessionChanged()
    func sessionEnded(_ end: SessionEnd)
    /// The server is closing, and the reader must leave after this time. If called again, the new time holds.
    func serverEnds(after time: Duration)
    /// The session's source has been silent for too long, or answers again.
    func sourceChanged()
    /// The same of the store. A stream must leave after this time; nil: it may stay.
    func storeChanged(leavingAfter time: Duration?)
}

extension SessionReader {
    public var isAdmitted: Bool { true }
    public var isAnonymous: Bool { false }
    public func sourceChanged() {}
    public func storeChanged(leavingAfter time: Duration?) {}
}

extension [any SessionReader] {
    /// Ends those that are no longer admitted.
    public func endWithdrawn() {
        for reader in self where !reader.isAdmitted { reader.sessionEnded(.revoked) }
    }
}

extension SessionSlot {
    /// Tells the readers that the session's source is silent, or answers again.
    public func sourceChanged() { currentReaders.forEach { $0.sourceChanged() } }

    var currentReaders: [any SessionReader] { content.withLock { Array($0.readers.values) } }
}

extension Session {
    /// The session with the answered keys of another value of it.
    fileprivate func keepingReplays(of other: ReplayWindow) -> Session {
        if other.isEmpty { return self }
        var replays = replays
        replays.formUnion(other, at: .now)
        return with(replays: replays)
    }
}
