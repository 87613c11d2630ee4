import DiffClock
import DiffSessions

extension SessionTable {
    /// The state that the table's lock guards.
    public struct Registry {
        var slots: [String: SessionSlot] = [:]
        /// Held slots of evicted sessions, see below.
        var evicted: [String: EvictedSlot] = [:]
        var slotArray = SlotArray()
        var order = RecencyOrder()
        /// When the store was last told of uses.
        var told = Instant.now
        var awake: AwakeSlots
        var bytes = 0
        /// By how many a store is being asked about a name, and how often sessions of it have come or gone meanwhile.
        var generations: [String: (askers: Int, count: Int)] = [:]
        /// Slots of sessions whose newest past revision is only kept for its grace time, and until when, in order.
        var oversize: [(slot: SessionSlot, until: Instant)] = []
    }

    func forgetOversize(at now: Instant) {
        let due = registry.withLock { registry in
            let due = registry.oversize.prefix { $0.until <= now }
            registry.oversize.removeFirst(due.count)
            return Array(due)
        }
        for (slot, _) in due {
            guard let session = self.session(in: slot), session.history.isOversize(bounds.history),
                let next = slot.trimHistory(of: session, at: now, bounds: bounds.history)
            else { continue }
            registry.withLock { if slot.recency.isListed, slot.awakeSession === next { $0.charge(slot, next) } }
        }
    }
}

extension SessionTable.Registry {
    mutating func take(_ session: Session, in slot: SessionSlot, _ bounds: History.Bounds) {
        charge(slot, session)
        if session.history.isOversize(bounds) { oversize.append((slot, .now + History.Bounds.graceTime)) }
    }

    mutating func charge(_ slot: SessionSlot, _ session: Session) {
        charge(slot, session.footprint)
        slot.recency.stateBytes = session.head.footprint
    }

    mutating func charge(_ slot: SessionSlot, _ bytes: Int) {
        self.bytes += bytes - slot.recency.bytes
        slot.recency.bytes = bytes
    }

    mutating func add(_ slot: SessionSlot) {
        advanceGeneration(of: slot.name)
        slots[slot.name] = slot
        slotArray.add(slot)
        order.add(slot)
    }

    mutating func use(_ slot: SessionSlot, at now: Instant) {
        slot.recency.renew(at: now)
        order.touch(slot)
    }

    mutating func remove(_ slot: SessionSlot) {
        guard slot.recency.isListed else { return }
        slots[slot.name] = nil
        slotArray.remove(slot)
        order.remove(slot)
        bytes -= slot.recency.bytes
        slot.recency.bytes = 0
    }

    /// Evicts the least recently used slots until the rest fits; slots with readers go last, `spared` never.
    mutating func evict(from table: SessionTable, sparing spared: SessionSlot?) -> [SessionTable.Evicted] {
        let (room, most) = (table.account.room, table.bounds.sessions)
        var evicted: [SessionTable.Evicted] = []
        let evict = { (registry: inout Self, slot: SessionSlot) in
            let bytes = slot.recency.bytes
            registry.remove(slot)
            evicted.append((slot, bytes, table.isCache ? registry.evict(slot) : nil))
        }
        // Sessions that can be fetched again must not evict those that cannot.
        while order.fetchedCount > max(1, most / 2), let slot = order.next(of: .fetched, sparing: spared) {
            evict(&self, slot)
        }
        while bytes > room || slots.count > most, let slot = order.next(sparing: spared) { evict(&self, slot) }
        return evicted
    }
}

// MARK: - Names without a session

/// A miss in the table. If sessions of the name come or go before the store answers, the answer may be older than what
/// others have seen. Must not be released under the table's lock.
public final class MissToken: Sendable {
    fileprivate let name: String
    fileprivate let generation: Int
    private let table: SessionTable

    init(of name: String, in table: SessionTable) {
        (self.name, self.table) = (name, table)
        generation = table.registry.withLock { registry in
            registry.generations[name, default: (0, 0)].askers += 1
            return registry.generations[name]?.count ?? 0
        }
    }

    deinit {
        table.registry.withLock { registry in
            registry.generations[name]?.askers -= 1
            if registry.generations[name]?.askers == 0 { registry.generations[name] = nil }
        }
    }
}

extension SessionTable.Registry {
    mutating func advanceGeneration(of name: String) {
        // Usually no store is being asked.
        if !generations.isEmpty { generations[name]?.count += 1 }
    }

    /// Whether no session of the name has come or gone since.
    func holds(_ miss: MissToken) -> Bool { generations[miss.name]?.count == miss.generation }
}

// MARK: - Slots without a session
//
// In a cache the slot of an evicted session only drops the value. While somebody holds it, the table finds it by name,
// and the session comes back into it: a name has one slot at a time, and a commit finds the readers to wake. Readers of
// a session that does not exist yet hold a placeholder, in which it will appear.

/// A slot that is held although its session was evicted.
struct EvictedSlot {
    private(set) weak var slot: SessionSlot?

    init(_ slot: SessionSlot) { self.slot = slot }

    /// The slot, if a session has readers there.
    fileprivate var readSlot: SessionSlot? { slot.flatMap { $0.readerCount > 0 && !$0.isPlaceholder ? $0 : nil } }
}

extension SessionTable {
    /// An evicted slot, the bytes charged for it, and its content if a store still has the session.
    typealias Evicted = (slot: SessionSlot, bytes: Int, content: SessionSlot.EvictedContent?)

    public func evictedSlot(_ name: String) -> SessionSlot? { registry.withLock { $0.evicted[name]?.slot } }

    /// The slot of a session, in memory or evicted. Does not count as use.
    public func anySlot(_ name: String) -> SessionSlot? {
        registry.withLock { $0.slots[name] ?? $0.evicted[name]?.slot }
    }

    /// The slot in which a session is, or will appear; nil if too many are awaited (half as many anonymously). Readers
    /// must hold it. Does not count as use.
    public func slotToAwait(_ name: String, isAnonymous: Bool = false) -> SessionSlot? {
        let most = isAnonymous ? bounds.sessions / 2 : bounds.sessions
        return registry.withLock { registry in
            if let slot = registry.slots[name] ?? registry.evicted[name]?.slot { return slot }
            if registry.evicted.count >= most { registry.forgetEvicted() }
            guard registry.evicted.count < most else { return nil }
            let slot = SessionSlot(awaiting: name)
            registry.evicted[name] = EvictedSlot(slot)
            return slot
        }
    }

    /// Whether a session is in memory, or is evicted but has readers.
    public func isInUse(_ name: String) -> Bool {
        registry.withLock { $0.slots[name] != nil || $0.evicted[name]?.readSlot != nil }
    }

    /// Evicted sessions with readers whose use the store should record. O(evicted sessions).
    public func readWhileAway(at now: Instant = .now) -> [(slot: SessionSlot, left: Duration)] {
        registry.withLock { registry in
            registry.evicted.values.compactMap { evicted in
                guard let slot = evicted.readSlot else { return nil }
                slot.recency.renew(at: now)
                guard slot.recency.needsStoring else { return nil }
                slot.recency.stored = slot.recency.expires
                return (slot, slot.recency.timeToLive)
            }
        }
    }
}

extension SessionTable.Registry {
    /// Drops the session of a slot that left the table.
    mutating func evict(_ slot: SessionSlot) -> SessionSlot.EvictedContent {
        evicted[slot.name] = EvictedSlot(slot)
        return slot.evict()
    }

    /// Forgets slots that nothing holds any more. O(evicted sessions).
    mutating func forgetEvicted() { if !evicted.isEmpty { evicted = evicted.filter { $0.value.slot != nil } } }

    /// Lists an evicted slot again; false if another slot has its name by now.
    mutating func takeBack(_ slot: SessionSlot) -> Bool {
        guard evicted[slot.name]?.slot === slot else { return false }
        evicted[slot.name] = nil
        add(slot)
        return true
    }
}
