// All sessions of this process: by name, in order of use, within a budget.
//
// One lock guards the map, the order of use and the sums, for a look-up and a few pointers at a time. States are values
// in slots with locks of their own, so a reader of one session never waits for the writer of another.

import HTTPCore
import SnapshotKit

/// Sessions in memory.
final class SessionTable: Sendable {
    struct Bounds: Sendable {
        /// Of snapshots and history.
        var bytes = 512 << 20
        var sessions = 100_000
        var history = History.Bounds()
        /// Sessions that are ready for use. The states of others are packed, which saves some 60 bytes per item.
        var awake = 4096
        /// Streams and held requests per session.
        var readers = 10_000

        /// Requests that may wait for workers, and as many for loads. One takes as much memory as a connection, even
        /// after its client has given up; so an eighth of the memory is enough for all that wait.
        var waiting: Int { max(256, bytes / 8 / MessageMemory.connection) }
    }

    let bounds: Bounds
    let counters = SessionCounters()
    let revocations = Revocations()
    let registry: Locked<Registry>
    /// Makes digests if the table is the store; nil if it is the cache of one.
    let ownHash: KeyedHash?
    /// Answers that readers share.
    let answers: AnswerCaches

    private let freed: EvictedMemory
    /// Messages on their way take room from sessions.
    let messages: MessageMemory

    /// - Parameter hash: nil if the table is the cache of a store.
    init(bounds: Bounds, messages: MessageMemory, hash: KeyedHash?) {
        self.bounds = bounds
        ownHash = hash
        freed = EvictedMemory(worth: bounds.bytes / 16)
        self.messages = messages
        answers = AnswerCaches(budget: messages.outgoing, views: messages.views, mostKept: bounds.bytes / 32)
        registry = Locked(Registry(awake: AwakeSlots(limit: bounds.awake)))
    }

    /// Whether the session of a name fetches itself. Set before there are sessions.
    nonisolated(unsafe) var isFetched: (@Sendable (String) -> Bool)?

    /// Whether the table is the cache of a store: then a session that leaves memory has not ended.
    var isCache: Bool { ownHash == nil }

    /// The names of all sessions that are in memory, away or awaited. O(sessions).
    var names: [String] { registry.withLock { Array($0.slots.keys) + $0.away.keys } }

    /// Sessions, and the bytes they hold.
    var size: (sessions: Int, bytes: Int) { registry.withLock { ($0.slots.count, $0.bytes) } }

    // MARK: Reading

    /// The slot of a live session. Counts as use: it becomes the latest, and its time to live starts anew.
    func slot(_ name: String, at now: Instant = .now) -> SessionSlot? {
        let (found, expired) = registry.withLock { registry -> (SessionSlot?, SessionSlot?) in
            guard let slot = registry.slots[name] else { return (nil, nil) }
            if slot.recency.expires <= now, slot.readerCount == 0 {
                registry.remove(slot)
                return (nil, slot)
            }
            registry.use(slot, at: now, isCache: isCache)
            return (slot, nil)
        }
        if let expired { expire(expired) }
        return found
    }

    /// Removes a reader, which was a use of the session for as long as it was there.
    func remove(_ reader: any SessionReader, from slot: SessionSlot) {
        registry.withLock { registry in
            slot.remove(reader)
            guard slot.recency.isListed else { return }
            registry.use(slot, at: .now, isCache: isCache)
        }
    }

    /// A live session in the table; counts as use.
    func view(_ name: String, isHead: Bool = true) -> SessionView? {
        slot(name).flatMap { SessionView($0, of: self, isHead: isHead) }
    }

    /// The slot of a session, expired or not, and the bytes of its newest state when it is awake. Does not count as
    /// use.
    func peek(_ name: String) -> (slot: SessionSlot, bytes: Int)? {
        registry.withLock { $0.slots[name].map { ($0, $0.recency.stateBytes) } }
    }

    /// Whether a session is in the table, expired or not.
    func holds(_ name: String) -> Bool { registry.withLock { $0.slots[name] != nil } }

    /// When a session will end unless it is used again.
    func expiry(of slot: SessionSlot) -> WallTime {
        let left = registry.withLock { _ in slot.recency.expires } - .now
        return WallTime.after(left)
    }

    // MARK: Writing

    /// Adds a session, unless there is one of its name.
    func create(_ name: String, _ session: Session) -> Result<SessionSlot, StoreFailure> {
        guard hasRoom(for: session) else { return .failure(.capacity) }
        guard let slot = insert(name, session) else { return .failure(.conflict) }
        counters.created()
        return .success(slot)
    }

    /// Adds a session; nil if there is one of its name.
    private func insert(_ name: String, _ session: Session) -> SessionSlot? {
        var readers: [any SessionReader] = []
        var tired: SessionSlot?
        let isFetched = isFetched?(name) ?? false
        let (slot, evicted) = registry.withLock { registry -> (SessionSlot?, [Evicted]) in
            guard registry.slots[name] == nil else { return (nil, []) }
            let slot: SessionSlot
            if let away = registry.away[name]?.slot {
                guard let woken = away.bringBack(session) else { return (nil, []) }
                (slot, readers) = (away, woken)
            } else {
                slot = SessionSlot(name: name, session)
            }
            registry.away[name] = nil
            slot.recency.isFetched = isFetched
            slot.recency.begin(session.settings.timeToLive)
            registry.add(slot)
            tired = registry.awake.wake(slot)
            registry.charge(slot, session)
            return (slot, registry.evict(within: room, sparing: slot, isCache: isCache))
        }
        if let tired { rest(tired) }
        evict(evicted)
        for reader in readers { reader.sessionChanged() }
        return slot
    }

    /// Puts `next` in place of the session that it was made of, if that is still there.
    func commit(_ next: Session, to slot: SessionSlot, after before: Session) -> Result<Void, StoreFailure> {
        guard hasRoom(for: next) else { return .failure(.capacity) }
        guard replace(slot, before, by: next, keepsReplays: true) else { return .failure(.conflict) }
        if next.head.revision != before.head.revision { counters.committed() }
        return .success(())
    }

    private func replace(_ slot: SessionSlot, _ before: Session, by next: Session, keepsReplays: Bool) -> Bool {
        guard slot.replace(before, by: next, keepsReplays: keepsReplays) else { return false }
        var tired: SessionSlot?
        let evicted = registry.withLock { registry -> [Evicted] in
            // It may have been sent away since it was replaced.
            guard slot.recency.isListed || slot.isInMemory && registry.takeBack(slot) else { return [] }
            tired = registry.awake.wake(slot)
            slot.recency.begin(next.settings.timeToLive)
            registry.ends.update(slot)
            registry.charge(slot, next)
            return registry.evict(within: room, sparing: slot, isCache: isCache)
        }
        if let tired { rest(tired) }
        evict(evicted)
        return true
    }

    /// Takes in a session from a store, as a new one or in place of the known one.
    ///
    /// - Returns: its slot; nil if the table has changed meanwhile.
    func adopt(_ session: Session, as name: String, inPlaceOf known: SessionView?) -> SessionSlot? {
        guard let known else { return insert(name, session) }
        return replace(known.slot, known.session, by: session, keepsReplays: false) ? known.slot : nil
    }

    /// Notes the end of a session that the store has written down.
    func stored(_ slot: SessionSlot, until end: Instant) {
        registry.withLock { registry in
            slot.recency.stored = end
            registry.used.note(slot)
        }
    }

    /// Removes a session, if it is at `revision` (nil: at any).
    func drop(_ slot: SessionSlot, at revision: Revision?) -> Result<Void, StoreFailure> {
        // Under both locks: an empty slot that still had its name would block the next session of that name.
        let readers = registry.withLock { registry in
            let readers = slot.emptied(at: revision)
            if readers != nil {
                registry.remove(slot)
                if registry.away[slot.name]?.slot === slot { registry.away[slot.name] = nil }
            }
            return readers
        }
        guard let readers else { return .failure(.conflict) }
        for reader in readers { reader.sessionEnded(.deleted(slot.name)) }
        return .success(())
    }

    /// The current bounds of sessions: what messages leave, and at least a quarter of the bytes.
    private var room: Bounds {
        var room = bounds
        room.bytes -= min(messages.inUse, room.bytes / 4 * 3)
        return room
    }

    /// Evicts what does not fit beside the messages on their way.
    func makeRoom() {
        let room = room
        evict(registry.withLock { $0.evict(within: room, sparing: nil, isCache: isCache) })
    }

    /// Whether a session fits at all, if everything else were evicted. In a cache only the newest state has to fit: the
    /// history leaves memory, and is loaded when it is needed.
    func hasRoom(for session: Session) -> Bool {
        (isCache ? session.head.footprint : session.footprint) <= bounds.bytes
    }

    /// The session in a slot, which is awake from now on; nil once it is gone. O(1), or O(items) if it was resting.
    func session(in slot: SessionSlot) -> Session? {
        if let session = slot.awakeSession { return session }
        guard let session = slot.session else { return nil }
        charge(slot, session)
        return session
    }

    /// Counts the bytes of a session that was woken.
    private func charge(_ slot: SessionSlot, _ session: Session) {
        let tired = registry.withLock { registry -> SessionSlot? in
            guard slot.recency.isListed else { return nil }
            registry.charge(slot, session)
            return registry.awake.wake(slot)
        }
        if let tired { rest(tired) }
    }

    private func rest(_ slot: SessionSlot) {
        guard let footprint = slot.rest() else { return }
        registry.withLock { registry in
            // It may have been woken and charged since.
            if slot.recency.isListed, !slot.recency.isAwake { registry.charge(slot, footprint) }
        }
    }

    // MARK: Leaving

    private func evict(_ evicted: [Evicted]) {
        for (slot, bytes, held) in evicted {
            held?.free()
            if !isCache { finish(slot, because: .evicted(slot.name)) }
            counters.evicted()
            freed.add(bytes)
        }
    }

    /// Ends the readers of a slot that has left the table.
    private func finish(_ slot: SessionSlot, because problem: Problem) {
        for reader in slot.emptied() ?? [] { reader.sessionEnded(problem) }
    }

    private func expire(_ slot: SessionSlot) {
        finish(slot, because: .expired(slot.name))
        counters.expired()
    }

    /// Removes sessions whose time has run out and that have no readers, and all answers that were kept.
    /// O(removed + away).
    ///
    /// - Returns: the slots of the sessions that were removed.
    func sweep(at now: Instant) -> [SessionSlot] {
        answers.release()
        makeRoom()
        let expired = registry.withLock { registry in
            registry.forgetAway()
            return registry.ends.ended(by: now).filter { slot in
                guard slot.readerCount > 0 else {
                    registry.remove(slot)
                    return true
                }
                registry.ends.remove(slot)
                slot.recency.renew(at: now)
                registry.ends.add(slot)
                return false
            }
        }
        for slot in expired { expire(slot) }
        return expired
    }

    /// Sessions whose use a store should write down. O(those used).
    func usedSinceStored(at now: Instant = .now) -> [(slot: SessionSlot, left: Duration)] {
        registry.withLock { $0.used.taken().map { (slot: $0, left: $0.recency.expires - now) } }
    }

    /// Ends all readers, as the server goes down.
    func endReaders(because problem: Problem) {
        let slots = registry.withLock { Array($0.slots.values) + $0.away.values.compactMap(\.slot) }
        for slot in slots { slot.endReaders(because: problem) }
    }
}
