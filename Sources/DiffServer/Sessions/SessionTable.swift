// All sessions of this process: by name, in order of use, within a budget.
//
// One lock guards the map, the order of use and the sums; what is done under it is a look-up and a few pointers. States are values in
// slots with locks of their own, so a reader of one session never waits for the writer of another.

import HTTPCore

/// Sessions in memory.
final class SessionTable: Sendable {
    /// How much may be kept.
    struct Bounds: Sendable {
        /// Of snapshots and history, in bytes.
        var bytes = 512 << 20
        /// Sessions.
        var sessions = 100_000
        var history = History.Bounds()
        /// Streams and held requests of one session.
        var readers = 10_000
    }

    /// Why a session could not be put in.
    enum Refusal: Error {
        /// It is there already, or no longer at the revision that was named.
        case conflict
        /// It alone is larger than the budget.
        case capacity
    }

    let bounds: Bounds
    let counters = SessionCounters()
    private let registry: Locked<Registry>

    fileprivate struct Registry {
        var slots: [String: SessionSlot] = [:]
        var order = RecencyOrder()
        var bytes = 0
    }

    /// Bodies on their way take room from sessions.
    private let bodies: BodyBudget

    init(bounds: Bounds, bodies: BodyBudget) {
        self.bounds = bounds
        self.bodies = bodies
        registry = Locked(Registry())
    }

    /// Sessions, and the bytes they hold.
    var size: (sessions: Int, bytes: Int) { registry.withLock { ($0.slots.count, $0.bytes) } }

    // MARK: Reading

    /// The slot of a session that is alive. Counts as use: it becomes the latest, and its time to live starts anew.
    func slot(_ name: String, at now: Moment = .now) -> SessionSlot? {
        let (found, expired) = registry.withLock { registry -> (SessionSlot?, SessionSlot?) in
            guard let slot = registry.slots[name] else { return (nil, nil) }
            if slot.recency.expires <= now, slot.readerCount == 0 {
                registry.remove(slot)
                return (nil, slot)
            }
            slot.recency.expires = now + slot.recency.timeToLive
            registry.order.touch(slot)
            return (slot, nil)
        }
        if let expired { finish(expired, because: .expired(expired.name)) }
        return found
    }

    /// When a session will be gone unless it is used again.
    func expiry(of slot: SessionSlot) -> WallTime {
        let left = registry.withLock { _ in slot.recency.expires } - .now
        return WallTime.now.adding(left)
    }

    // MARK: Writing

    /// Puts in a session under a name that has none.
    func create(_ name: String, _ session: Session) throws(Refusal) -> SessionSlot {
        try checkRoom(for: session)
        let slot = SessionSlot(name: name, session)
        let (isNew, evicted) = registry.withLock { registry -> (Bool, [SessionSlot]) in
            guard registry.slots[name] == nil else { return (false, []) }
            registry.slots[name] = slot
            slot.recency.timeToLive = session.settings.timeToLive
            slot.recency.expires = .now + session.settings.timeToLive
            registry.order.add(slot)
            registry.charge(slot, session.footprint)
            return (true, registry.evict(within: room, sparing: slot))
        }
        evict(evicted)
        guard isNew else { throw .conflict }
        counters.created()
        return slot
    }

    /// Puts `next` in place of a session that is still at `revision`.
    func commit(_ slot: SessionSlot, at revision: Revision, _ next: Session) throws(Refusal) {
        try checkRoom(for: next)
        guard slot.replace(at: revision, by: next) else { throw .conflict }
        let evicted = registry.withLock { registry -> [SessionSlot] in
            guard registry.slots[slot.name] === slot else { return [] }
            slot.recency.timeToLive = next.settings.timeToLive
            slot.recency.expires = .now + next.settings.timeToLive
            registry.charge(slot, next.footprint)
            return registry.evict(within: room, sparing: slot)
        }
        evict(evicted)
        if next.head.revision != revision { counters.committed() }
    }

    /// Takes a session away, if it is at `revision` (nil: whichever it is at).
    func delete(_ slot: SessionSlot, at revision: Revision?) throws(Refusal) {
        guard slot.end(at: revision, because: .deleted(slot.name)) else { throw .conflict }
        registry.withLock { $0.remove(slot) }
    }

    /// What sessions may hold at the moment.
    private var room: Bounds {
        var room = bounds
        room.bytes -= min(bodies.inUse, room.bytes / 4)
        return room
    }

    private func checkRoom(for session: Session) throws(Refusal) {
        if session.footprint > bounds.bytes { throw .capacity }
    }

    // MARK: Leaving

    private func evict(_ slots: [SessionSlot]) {
        for slot in slots {
            finish(slot, because: .evicted(slot.name))
            counters.evicted()
        }
    }

    /// Tells the readers of a slot that is no longer in the table.
    private func finish(_ slot: SessionSlot, because problem: Problem) { _ = slot.end(because: problem) }

    /// Takes away sessions whose time has run out and that nobody reads. O(sessions).
    func sweep(at now: Moment = .now) {
        let expired = registry.withLock { registry in
            let expired = registry.slots.values.filter { slot in
                guard slot.recency.expires <= now else { return false }
                guard slot.readerCount > 0 else { return true }
                slot.recency.expires = now + slot.recency.timeToLive
                return false
            }
            for slot in expired { registry.remove(slot) }
            return expired
        }
        for slot in expired {
            finish(slot, because: .expired(slot.name))
            counters.expired()
        }
    }

    /// Ends all sessions' readers, as the server goes down.
    func endReaders(because problem: Problem) {
        let slots = registry.withLock { Array($0.slots.values) }
        for slot in slots { slot.endReaders(because: problem) }
    }
}

extension SessionTable.Registry {
    mutating func charge(_ slot: SessionSlot, _ bytes: Int) {
        self.bytes += bytes - slot.recency.bytes
        slot.recency.bytes = bytes
    }

    mutating func remove(_ slot: SessionSlot) {
        guard slots[slot.name] === slot else { return }
        slots[slot.name] = nil
        order.remove(slot)
        bytes -= slot.recency.bytes
    }

    /// Takes out the least recently used until the rest is within bounds; those with readers last, `spared` never.
    mutating func evict(within bounds: SessionTable.Bounds, sparing spared: SessionSlot) -> [SessionSlot] {
        guard bytes > bounds.bytes || slots.count > bounds.sessions else { return [] }
        var evicted: [SessionSlot] = []
        for takesRead in [false, true] {
            var next = order.oldest
            while let slot = next, bytes > bounds.bytes || slots.count > bounds.sessions {
                next = slot.recency.newer
                guard slot !== spared, takesRead || slot.readerCount == 0 else { continue }
                remove(slot)
                evicted.append(slot)
            }
        }
        return evicted
    }
}
