// All sessions of this process: by name, in order of use, within a budget.
//
// One lock guards the map, the order of use and the sums, for a look-up and a few pointers at a time. States are values
// in slots with locks of their own, so a reader of one session never waits for the writer of another.

import DiffClock
import DiffSessions
import SnapshotKit
import Synchronization

/// Sessions in memory.
public final class SessionTable: Sendable {
    public struct Bounds: Sendable {
        /// Bytes of snapshots and history.
        public var bytes = 512 << 20
        public var sessions = 100_000
        public var history = History.Bounds()
        /// Sessions ready for use. The states of others are packed, which saves some 60 bytes per item.
        var awake = 4096
        /// Streams and held requests per session.
        public var readers = 10_000

        public init() {}
    }

    public let bounds: Bounds
    public let counters = SessionCounters()
    public let revocations = Revocations()
    /// Times of the store that the table caches.
    public let storeTimes = StoreTimes()
    let registry: Locked<Registry>
    /// Makes digests if the table is the store; nil if it is a cache of one.
    private let ownHash: KeyedHash?
    /// What readers keep of heads.
    public let caches: any HeadCaches
    public let account: MemoryAccount
    private let onEviction: @Sendable (_ bytes: Int) -> Void

    /// - Parameters:
    ///   - account: of all memory; sessions have what is left of it.
    ///   - hash: nil if the table is the cache of a store.
    ///   - onEviction: called with the bytes of a session that has left memory.
    public init(
        bounds: Bounds, account: MemoryAccount, hash: KeyedHash?, caches: any HeadCaches,
        onEviction: @escaping @Sendable (_ bytes: Int) -> Void = { _ in }
    ) {
        self.bounds = bounds
        ownHash = hash
        (self.account, self.caches, self.onEviction) = (account, caches, onEviction)
        registry = Locked(Registry(awake: AwakeSlots(limit: bounds.awake)))
    }

    /// Whether the session of a name fetches itself. Set before there are sessions.
    public nonisolated(unsafe) var isFetched: (@Sendable (String) -> Bool)?

    /// Whether the table is a cache of a store: then a session that leaves memory has not ended.
    public var isCache: Bool { ownHash == nil }

    /// The names of all sessions that are in memory, away or awaited. O(sessions).
    public var names: [String] { registry.withLock { Array($0.slots.keys) + $0.away.keys } }

    /// Sessions, and the bytes they hold.
    public var size: (sessions: Int, bytes: Int) { registry.withLock { ($0.slots.count, $0.bytes) } }

    // MARK: Reading

    /// The slot of a live session. Counts as use: it becomes the latest, and its time to live starts anew.
    public func slot(_ name: String, at now: Instant = .now) -> SessionSlot? {
        let (found, expired) = registry.withLock { registry -> (SessionSlot?, SessionSlot?) in
            guard let slot = registry.slots[name] else { return (nil, nil) }
            if slot.recency.expires <= now, slot.readerCount == 0 {
                registry.remove(slot)
                return (nil, slot)
            }
            registry.use(slot, at: now)
            return (slot, nil)
        }
        if let expired { expire(expired) }
        return found
    }

    /// Removes a reader, which counts as a use until now.
    public func remove(_ reader: any SessionReader, from slot: SessionSlot) {
        registry.withLock { registry in
            slot.remove(reader)
            guard slot.recency.isListed else { return }
            registry.use(slot, at: .now)
        }
    }

    /// A live session in the table; counts as use.
    public func view(_ name: String, isHead: Bool = true) -> SessionView? {
        slot(name).flatMap { SessionView($0, of: self, isHead: isHead) }
    }

    /// The slot of a session, expired or not, and the bytes of its newest state while awake. Does not count as use.
    public func peek(_ name: String) -> (slot: SessionSlot, bytes: Int)? {
        registry.withLock { $0.slots[name].map { ($0, $0.recency.stateBytes) } }
    }

    /// Whether a session is in the table, expired or not.
    public func holds(_ name: String) -> Bool { registry.withLock { $0.slots[name] != nil } }

    /// When a session will end unless it is used again.
    public func expiry(of slot: SessionSlot) -> WallTime {
        let left = registry.withLock { _ in slot.recency.expires } - .now
        return WallTime.after(left)
    }

    // MARK: Writing

    /// Adds a session, unless there is one of its name.
    public func create(_ name: String, _ session: Session) -> Result<SessionSlot, StoreFailure> {
        guard hasRoom(for: session) else { return .failure(.capacity) }
        guard let slot = insert(name, session) else { return .failure(.conflict) }
        counters.created()
        return .success(slot)
    }

    /// Adds a session; nil if there is one of its name, or others have come or gone in its absence.
    private func insert(_ name: String, _ session: Session, in absence: Absence? = nil) -> SessionSlot? {
        var readers: [any SessionReader] = []
        var demoted: SessionSlot?
        let isFetched = isFetched?(name) ?? false
        let (slot, evicted) = registry.withLock { registry -> (SessionSlot?, [Evicted]) in
            if let absence, !registry.holds(absence) { return (nil, []) }
            guard registry.slots[name] == nil else { return (nil, []) }
            let slot: SessionSlot
            if let away = registry.away[name]?.slot {
                guard let woken = away.bringBack(session) else { return (nil, []) }
                (slot, readers) = (away, woken)
                slot.recency.begin(session.settings.timeToLive)
            } else {
                slot = SessionSlot(name: name, session)
            }
            registry.away[name] = nil
            slot.recency.isFetched = isFetched
            registry.add(slot)
            demoted = registry.awake.wake(slot)
            registry.take(session, in: slot, bounds.history)
            return (slot, registry.evict(from: self, sparing: slot))
        }
        if let demoted { compact(demoted) }
        evict(evicted)
        for reader in readers { reader.sessionChanged() }
        return slot
    }

    /// Puts `next` in place of the session it was made from, if that is still there.
    public func commit(_ next: Session, to slot: SessionSlot, after before: Session) -> Result<Void, StoreFailure> {
        var next = next
        // What is kept for its grace time alone refuses no write.
        if !hasRoom(for: next), next.history.isOversize(bounds.history) { next = next.with(history: History()) }
        guard hasRoom(for: next) else { return .failure(.capacity) }
        guard replace(slot, before, by: next, keepsReplays: true) else { return .failure(.conflict) }
        count(next, after: before)
        return .success(())
    }

    /// Takes over a session that a store has written. This brings back one that was evicted meanwhile. If the slot has
    /// changed otherwise, it has a newer version, or the next request loads it; the commit counts nevertheless.
    func took(_ next: Session, in slot: SessionSlot, after before: Session) {
        if hasRoom(for: next) { _ = replace(slot, before, by: next, keepsReplays: true) }
        count(next, after: before)
    }

    private func count(_ next: Session, after before: Session) {
        if next.head.revision != before.head.revision { counters.committed() }
    }

    private func replace(_ slot: SessionSlot, _ before: Session, by next: Session, keepsReplays: Bool) -> Bool {
        guard slot.replace(before, by: next, keepsReplays: keepsReplays) else { return false }
        var demoted: SessionSlot?
        let evicted = registry.withLock { registry -> [Evicted]? in
            // It may have been sent away since it was replaced.
            guard slot.recency.isListed || slot.isInMemory && registry.takeBack(slot) else { return [] }
            demoted = registry.awake.wake(slot)
            slot.recency.begin(next.settings.timeToLive)
            registry.take(next, in: slot, bounds.history)
            if registry.bytes > account.room, !registry.oversize.isEmpty { return nil }
            return registry.evict(from: self, sparing: slot)
        }
        if let demoted { compact(demoted) }
        // What is kept for its grace time alone goes before any session does.
        if evicted == nil { forgetOversize(at: .never) }
        evict(evicted ?? registry.withLock { $0.evict(from: self, sparing: slot) })
        return true
    }

    /// What the table has of a session.
    public enum Known: Sendable {
        case session(SessionView)
        case nothing(Absence)

        public var view: SessionView? { if case .session(let view) = self { view } else { nil } }
    }

    /// What the table has of a session before a store is asked; counts as use.
    public func known(_ name: String) -> Known {
        if let view = view(name) { return .session(view) }
        let absence = Absence(of: name, in: self)
        // One may have come in between.
        return view(name).map { .session($0) } ?? .nothing(absence)
    }

    /// Adopts a session from a store, in place of what was known when the store was asked.
    ///
    /// - Parameter known: nil if there was nothing, and nobody else can have changed that.
    /// - Returns: its slot; nil if the table has changed meanwhile.
    public func adopt(_ session: Session, as name: String, inPlaceOf known: Known?) -> SessionSlot? {
        switch known {
        case .session(let view):
            replace(view.slot, view.session, by: session, keepsReplays: false) ? view.slot : nil
        case .nothing(let absence): insert(name, session, in: absence)
        case nil: insert(name, session)
        }
    }

    /// Notes that a store has no session of a name. Drops what the table has, if that is the version that it had when
    /// the store was asked.
    ///
    /// - Returns: whether the table has nothing now. Otherwise another version has come meanwhile, and the store must
    ///   be asked again.
    public func foundNothing(of name: String, at version: UInt64?) -> Bool {
        let slot = registry.withLock { registry in
            registry.noteTurnover(of: name)
            return registry.slots[name] ?? registry.away[name]?.slot
        }
        guard let slot, let now = slot.version else { return true }
        guard now == version, case .success = drop(slot, .version(now)) else { return false }
        return true
    }

    /// Notes the end of a session that the store has recorded.
    public func stored(_ slot: SessionSlot, until end: Instant) {
        registry.withLock { _ in slot.recency.stored = end }
    }

    /// Removes a session, if it is at `revision` (nil: at any).
    public func drop(_ slot: SessionSlot, at revision: Revision?) -> Result<Void, StoreFailure> {
        drop(slot, revision.map(ExpectedSession.revision) ?? .any)
    }

    /// Removes a session, if it is the expected one.
    public func drop(_ slot: SessionSlot, _ expected: ExpectedSession) -> Result<Void, StoreFailure> {
        // Under both locks: an empty slot that still had its name would block the next session of that name.
        let readers = registry.withLock { registry in
            let readers = slot.emptied(of: expected)
            if readers != nil {
                registry.noteTurnover(of: slot.name)
                registry.remove(slot)
                if registry.away[slot.name]?.slot === slot { registry.away[slot.name] = nil }
            }
            return readers
        }
        guard let readers else { return .failure(.conflict) }
        for reader in readers { reader.sessionEnded(.deleted) }
        return .success(())
    }

    /// Evicts sessions that do not fit beside everything else in use.
    public func makeRoom() {
        evict(registry.withLock { $0.evict(from: self, sparing: nil) })
    }

    /// Whether a session would fit if everything else were evicted. In a cache only the newest state has to fit: the
    /// history leaves memory, and is loaded when needed.
    public func hasRoom(for session: Session) -> Bool {
        (isCache ? session.head.footprint : session.footprint) <= bounds.bytes
    }

    /// The session in a slot, which is awake from now on; nil once it is gone. O(1), or O(items) if it was compact.
    public func session(in slot: SessionSlot) -> Session? {
        if let session = slot.awakeSession { return session }
        guard let session = slot.session else { return nil }
        charge(slot, session)
        return session
    }

    /// Counts the bytes of a session that was woken.
    private func charge(_ slot: SessionSlot, _ session: Session) {
        let demoted = registry.withLock { registry -> SessionSlot? in
            guard slot.recency.isListed else { return nil }
            registry.charge(slot, session)
            return registry.awake.wake(slot)
        }
        if let demoted { compact(demoted) }
    }

    private func compact(_ slot: SessionSlot) {
        guard let footprint = slot.compact() else { return }
        registry.withLock { registry in
            // It may have been woken and charged since.
            if slot.recency.isListed, !slot.recency.isAwake { registry.charge(slot, footprint) }
        }
    }

    // MARK: Leaving

    private func evict(_ evicted: [Evicted]) {
        for (slot, bytes, content) in evicted {
            content?.free()
            if !isCache { finish(slot, because: .evicted) }
            counters.evicted()
            onEviction(bytes)
        }
    }

    /// Ends the readers of a slot that has left the table.
    private func finish(_ slot: SessionSlot, because end: SessionEnd) {
        for reader in slot.emptied(of: .any) ?? [] { reader.sessionEnded(end) }
    }

    private func expire(_ slot: SessionSlot) {
        finish(slot, because: .expired)
        counters.expired()
    }

    /// Removes sessions whose time has run out and that have no readers. O(all), though nobody waits for more than a
    /// stride of them.
    ///
    /// - Returns: the slots of the sessions that were removed.
    public func sweep(at now: Instant) -> [SessionSlot] {
        forgetOversize(at: now)
        makeRoom()
        registry.withLock { $0.forgetAway() }
        var expired: [SessionSlot] = []
        eachStride { registry, slots in
            slots.filter { slot in
                guard slot.recency.expires <= now else { return false }
                if slot.readerCount > 0 { slot.recency.renew(at: now) } else { registry.remove(slot) }
                return !slot.recency.isListed
            }
        } then: { ended in
            for slot in ended { expire(slot) }
            expired += ended
        }
        return expired
    }

    /// Sessions whose use a store should record. O(sessions used).
    public func usedSinceStored(at now: Instant = .now) -> [(slot: SessionSlot, left: Duration)] {
        registry.withLock { registry in
            // A use may be noted a little later than its time.
            let used = registry.order.used(since: exchange(&registry.told, with: now) + .seconds(-1))
            return used.compactMap { slot in
                guard slot.recency.needsStoring else { return nil }
                slot.recency.stored = slot.recency.expires
                return (slot, slot.recency.expires - now)
            }
        }
    }

    /// All readers. O(sessions + readers).
    public var readers: [any SessionReader] {
        let slots = registry.withLock { Array($0.slots.values) + $0.away.values.compactMap(\.slot) }
        return slots.flatMap(\.currentReaders)
    }

    /// Makes all readers leave as the server closes: one after another, within `window`.
    ///
    /// - Returns: when the last one leaves.
    public func dismissReaders(within window: Duration) -> Duration {
        let readers = readers
        let departures = Departures(of: readers.count, within: window)
        for (index, reader) in readers.enumerated() { reader.serverEnds(after: departures.time(of: index)) }
        return departures.span
    }
}

// MARK: - As a store

/// Sessions that live in this process and end with it: every call is done at once.
extension SessionTable: SessionStore {
    public var table: SessionTable { self }

    public var hash: KeyedHash {
        guard let ownHash else { preconditionFailure("a store makes the digests of what it keeps") }
        return ownHash
    }

    public var isSole: Bool { true }
    public var availability: StoreAvailability { .whole }

    public func pending(_ name: String) -> Session? { nil }

    public func expected(_ name: String) -> SessionView? { nil }

    public func load(_ name: String, again: Bool, on executor: any WorkExecutor) -> Stored<SessionView?> {
        .done(.success(view(name)))
    }

    public func swap(_ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor)
        -> Stored<SessionSlot>
    {
        guard let before else { return .done(create(name, next)) }
        return .done(commit(next, to: before.slot, after: before.session).map { before.slot })
    }

    public func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void> {
        .done(drop(session.slot, at: revision))
    }

    /// Nothing to do: every session in memory can be read.
    public func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void> { .done(.success(())) }

    public func list(_ range: SessionRange) -> Stored<SessionPage> { .done(.success(page(range))) }

    public func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void> {
        revocations.add(name, upTo: moment)
        return .done(.success(()))
    }

    public func watch(_ slot: SessionSlot) {}

    public func sweep() { _ = sweep(at: .now) }

    public func close() {}
}

// MARK: - Counters

/// Events of sessions since the start.
public final class SessionCounters: Sendable {
    private let creations = Atomic<Int>(0)
    private let commits = Atomic<Int>(0)
    private let evictions = Atomic<Int>(0)
    private let expirations = Atomic<Int>(0)

    func created() { creations.wrappingAdd(1, ordering: .relaxed) }
    func committed() { commits.wrappingAdd(1, ordering: .relaxed) }
    func evicted() { evictions.wrappingAdd(1, ordering: .relaxed) }
    func expired() { expirations.wrappingAdd(1, ordering: .relaxed) }

    public var values: (creations: Int, commits: Int, evictions: Int, expirations: Int) {
        (
            creations.load(ordering: .relaxed), commits.load(ordering: .relaxed), evictions.load(ordering: .relaxed),
            expirations.load(ordering: .relaxed)
        )
    }
}
