// One lock guards the map, the order of use and the sums. It is held for a look-up and a few pointers. States are
// values in slots with their own locks, so a reader of one session never waits for the writer of another.

import DiffClock
import DiffSessions
import SnapshotKit
import Synchronization

/// The sessions in memory, with their readers: by name, in order of use, within a memory budget.
public final class SessionTable: Sendable {
    public struct Bounds: Sendable {
        /// The most bytes of snapshots and histories.
        public var bytes = 512 << 20
        public var sessions = 100_000
        public var history = History.Bounds()
        /// The most sessions ready for use. The states of others are packed, which saves some 60 bytes per item.
        var awake = 4096
        /// The most streams and held requests per session.
        public var readers = 10_000

        public init() {}
    }

    public let bounds: Bounds
    public let counters = SessionCounters()
    public let revocations = Revocations()
    public let storeTimes = StoreTimes()
    let registry: Locked<Registry>
    /// Makes digests if the table is the store; nil if it is a cache.
    private let ownHash: KeyedHash?
    public let caches: any HeadCaches
    public let account: MemoryAccount
    private let onEviction: @Sendable (_ bytes: Int) -> Void

    /// - Parameters:
    ///   - hash: nil if the table is the cache of a store.
    ///   - onEviction: called with the bytes of a session that has left memory.
    public init(
        bounds: Bounds, account: MemoryAccount, hash: KeyedHash?, caches: any HeadCaches,
        onEviction: @escaping @Sendable (_ bytes: Int) -> Void = { _ in }
    ) {
        (self.bounds, ownHash, self.account) = (bounds, hash, account)
        (self.caches, self.onEviction) = (caches, onEviction)
        registry = Locked(Registry(awake: AwakeSlots(limit: bounds.awake)))
    }

    /// Whether a session is fetched from a source. Set before there are sessions.
    public nonisolated(unsafe) var isFetched: (@Sendable (String) -> Bool)?

    /// Whether a session that leaves the table lives on in a store.
    public var isCache: Bool { ownHash == nil }

    /// The names of all sessions in memory, evicted but held, or awaited. O(sessions).
    public var names: [String] { registry.withLock { Array($0.slots.keys) + $0.evicted.keys } }

    public var size: (sessions: Int, bytes: Int) { registry.withLock { ($0.slots.count, $0.bytes) } }

    // MARK: Reading

    /// The slot of a live session. Counts as use, which restarts the time to live.
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

    /// Removes a reader. The session counts as used until now.
    public func remove(_ reader: any SessionReader, from slot: SessionSlot) {
        registry.withLock { registry in
            slot.remove(reader)
            guard slot.recency.isListed else { return }
            registry.use(slot, at: .now)
        }
    }

    /// A live session. Counts as use.
    public func view(_ name: String, isHead: Bool = true) -> SessionView? {
        slot(name).flatMap { SessionView($0, of: self, isHead: isHead) }
    }

    /// The slot of a session, expired or not, and the bytes of its newest state when last awake. Does not count as use.
    public func peek(_ name: String) -> (slot: SessionSlot, bytes: Int)? {
        registry.withLock { $0.slots[name].map { ($0, $0.recency.stateBytes) } }
    }

    public func holds(_ name: String) -> Bool { registry.withLock { $0.slots[name] != nil } }

    public func expiry(of slot: SessionSlot) -> WallTime {
        WallTime.after(registry.withLock { _ in slot.recency.expires } - .now)
    }

    // MARK: Writing

    /// Adds a session, unless there is one with its name.
    public func create(_ name: String, _ session: Session) -> Result<SessionSlot, StoreFailure> {
        guard hasRoom(for: session) else { return .failure(.capacity) }
        guard let slot = insert(name, session) else { return .failure(.conflict) }
        counters.creations.wrappingAdd(1, ordering: .relaxed)
        return .success(slot)
    }

    /// Adds a session; nil if there is one with its name, or if one has come or gone since `miss`.
    private func insert(_ name: String, _ session: Session, in miss: MissToken? = nil) -> SessionSlot? {
        var readers: [any SessionReader] = []
        var demoted: SessionSlot?
        let isFetched = isFetched?(name) ?? false
        let (slot, evicted) = registry.withLock { registry -> (SessionSlot?, [Evicted]) in
            if let miss, !registry.holds(miss) { return (nil, []) }
            guard registry.slots[name] == nil else { return (nil, []) }
            let slot: SessionSlot
            if let evicted = registry.evicted[name]?.slot {
                guard let woken = evicted.bringBack(session) else { return (nil, []) }
                (slot, readers) = (evicted, woken)
                slot.recency.begin(session.settings.timeToLive)
            } else {
                slot = SessionSlot(name: name, session)
            }
            registry.evicted[name] = nil
            // No view here has the state before, which the changes hold.
            _ = session.head.takeChange()
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

    public func commit(_ next: Session, to slot: SessionSlot, after before: Session) -> Result<Void, StoreFailure> {
        var next = next
        if !hasRoom(for: next) {
            // A past revision that is only kept for its grace time must not cause a write to be refused.
            if next.history.isOversize(bounds.history) { next = next.with(history: History()) }
            guard hasRoom(for: next) else { return .failure(.capacity) }
        }
        guard replace(slot, before, by: next, keepsReplays: true) else { return .failure(.conflict) }
        count(next, after: before)
        return .success(())
    }

    /// Adopts a session that a store has written, even if it was evicted meanwhile. A slot that has changed otherwise
    /// has a newer version, or the next request loads one.
    func took(_ next: Session, in slot: SessionSlot, after before: Session) {
        if hasRoom(for: next) { _ = replace(slot, before, by: next, keepsReplays: true) }
        count(next, after: before)
    }

    private func count(_ next: Session, after before: Session) {
        if next.head.revision != before.head.revision { counters.commits.wrappingAdd(1, ordering: .relaxed) }
    }

    private func replace(_ slot: SessionSlot, _ before: Session, by next: Session, keepsReplays: Bool) -> Bool {
        guard slot.replace(before, by: next, keepsReplays: keepsReplays) else { return false }
        var demoted: SessionSlot?
        let evicted = registry.withLock { registry -> [Evicted]? in
            // The slot may have been evicted since the replacement.
            guard slot.recency.isListed || slot.sessionInMemory != nil && registry.takeBack(slot) else { return [] }
            demoted = registry.awake.wake(slot)
            slot.recency.begin(next.settings.timeToLive)
            registry.take(next, in: slot, bounds.history)
            if registry.bytes > account.room, !registry.oversize.isEmpty { return nil }
            return registry.evict(from: self, sparing: slot)
        }
        if let demoted { compact(demoted) }
        // Past revisions that are only kept for their grace time are dropped before any session is evicted.
        if evicted == nil { forgetOversize(at: .never) }
        evict(evicted ?? registry.withLock { $0.evict(from: self, sparing: slot) })
        return true
    }

    /// What the table has of a session.
    public enum Known: Sendable {
        case session(SessionView)
        case nothing(MissToken)

        public var view: SessionView? { if case .session(let view) = self { view } else { nil } }
    }

    /// To be asked before the store is. Counts as use.
    public func known(_ name: String) -> Known {
        if let view = view(name) { return .session(view) }
        let miss = MissToken(of: name, in: self)
        // The session may have come in between.
        return view(name).map { .session($0) } ?? .nothing(miss)
    }

    /// Adopts a session from a store, in place of what the table had when the store was asked (nil: nothing, and no
    /// other thread can have changed that). Returns nil if the table has changed.
    public func adopt(_ session: Session, as name: String, inPlaceOf known: Known?) -> SessionSlot? {
        switch known {
        case .session(let view):
            replace(view.slot, view.session, by: session, keepsReplays: false) ? view.slot : nil
        case .nothing(let miss): insert(name, session, in: miss)
        case nil: insert(name, session)
        }
    }

    /// Drops a session that the store no longer has, if its version is still the one from when the store was asked.
    /// Returns false if the store must be asked again.
    public func foundNothing(of name: String, at version: UInt64?) -> Bool {
        let slot = registry.withLock { registry in
            registry.advanceGeneration(of: name)
            return registry.slots[name] ?? registry.evicted[name]?.slot
        }
        guard let slot, let now = slot.version else { return true }
        guard now == version, case .success = drop(slot, .version(now)) else { return false }
        return true
    }

    /// Notes the expiry that the store has recorded for a session.
    public func stored(_ slot: SessionSlot, until end: Instant) { registry.withLock { _ in slot.recency.stored = end } }

    /// Removes a session if it is at `revision` (nil: at any).
    public func drop(_ slot: SessionSlot, at revision: Revision?) -> Result<Void, StoreFailure> {
        drop(slot, revision.map(ExpectedSession.revision) ?? .any)
    }

    public func drop(_ slot: SessionSlot, _ expected: ExpectedSession) -> Result<Void, StoreFailure> {
        // Under both locks: an empty slot that kept its name would block the next session of that name.
        let readers = registry.withLock { registry in
            let readers = slot.emptied(of: expected)
            if readers != nil {
                registry.advanceGeneration(of: slot.name)
                registry.remove(slot)
                if registry.evicted[slot.name]?.slot === slot { registry.evicted[slot.name] = nil }
            }
            return readers
        }
        guard let readers else { return .failure(.conflict) }
        for reader in readers { reader.sessionEnded(.deleted) }
        return .success(())
    }

    /// Evicts sessions until the rest fits beside everything else in use.
    public func makeRoom() { evict(registry.withLock { $0.evict(from: self, sparing: nil) }) }

    /// Whether a session would fit if everything else were evicted. In a cache the history can leave memory.
    public func hasRoom(for session: Session) -> Bool {
        (isCache ? session.head.footprint : session.footprint) <= bounds.bytes
    }

    /// The session in a slot, which it wakes; nil once it is gone. O(1), or O(items) if it was packed.
    public func session(in slot: SessionSlot) -> Session? {
        if let session = slot.awakeSession { return session }
        guard let session = slot.session else { return nil }
        let demoted = registry.withLock { registry -> SessionSlot? in
            guard slot.recency.isListed else { return nil }
            registry.charge(slot, session)
            return registry.awake.wake(slot)
        }
        if let demoted { compact(demoted) }
        return session
    }

    private func compact(_ slot: SessionSlot) {
        guard let footprint = slot.compact() else { return }
        registry.withLock { registry in
            // The session may have been woken and charged meanwhile.
            if slot.recency.isListed, !slot.recency.isAwake { registry.charge(slot, footprint) }
        }
    }

    // MARK: Leaving

    private func evict(_ evicted: [Evicted]) {
        for (slot, bytes, content) in evicted {
            content?.free()
            if !isCache { finish(slot, because: .evicted) }
            counters.evictions.wrappingAdd(1, ordering: .relaxed)
            onEviction(bytes)
        }
    }

    /// Ends the readers of a slot that has left the table.
    private func finish(_ slot: SessionSlot, because end: SessionEnd) {
        for reader in slot.emptied(of: .any) ?? [] { reader.sessionEnded(end) }
    }

    private func expire(_ slot: SessionSlot) {
        finish(slot, because: .expired)
        counters.expirations.wrappingAdd(1, ordering: .relaxed)
    }

    /// Removes and returns expired sessions without readers. O(all), but no caller waits for more than one stride.
    public func sweep(at now: Instant) -> [SessionSlot] {
        forgetOversize(at: now)
        makeRoom()
        registry.withLock { $0.forgetEvicted() }
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

    /// Sessions whose use the store should record. O(sessions used).
    public func usedSinceStored(at now: Instant = .now) -> [(slot: SessionSlot, left: Duration)] {
        registry.withLock { registry in
            // A use may be recorded a little after its time.
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
        let slots = registry.withLock { Array($0.slots.values) + $0.evicted.values.compactMap(\.slot) }
        return slots.flatMap(\.currentReaders)
    }

    /// Dismisses all readers, one after another, within `window`; returns when the last one leaves.
    public func dismissReaders(within window: Duration) -> Duration {
        let readers = readers
        let schedule = DrainSchedule(of: readers.count, within: window)
        for (index, reader) in readers.enumerated() { reader.serverEnds(after: schedule.time(of: index)) }
        return schedule.span
    }
}

// MARK: - As a store

/// A store whose sessions live in this process and end with it. Every call completes at once.
extension SessionTable: SessionStore {
    public var table: SessionTable { self }

    public var hash: KeyedHash {
        guard let ownHash else { preconditionFailure("a store makes the digests of what it keeps") }
        return ownHash
    }

    public var isSole: Bool { true }
    public var availability: StoreAvailability { .whole }

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

    /// Nothing to do: every session in memory is readable.
    public func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void> { .done(.success(())) }

    public func list(_ range: SessionRange) -> Stored<SessionPage> { .done(.success(page(range))) }

    public func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void> {
        revocations.add(name, upTo: moment)
        return .done(.success(()))
    }

    public func sweep() { _ = sweep(at: .now) }

    public func close() {}
}

// MARK: - Counters

/// Counters of session events since the start.
public final class SessionCounters: Sendable {
    let creations = Atomic<Int>(0)
    let commits = Atomic<Int>(0)
    let evictions = Atomic<Int>(0)
    let expirations = Atomic<Int>(0)

    public var values: (creations: Int, commits: Int, evictions: Int, expirations: Int) {
        (
            creations.load(ordering: .relaxed), commits.load(ordering: .relaxed), evictions.load(ordering: .relaxed),
            expirations.load(ordering: .relaxed)
        )
    }
}
