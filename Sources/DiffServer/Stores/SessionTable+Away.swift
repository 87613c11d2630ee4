import HTTPCore

// A table in front of a store is a cache, so a session that leaves it has not ended: its slot only drops the value.
// While a reader or a request holds the slot, the table finds it by name, and the session comes back into it. So a name
// has one slot at a time, a reader stays registered wherever its session is, and a commit finds the readers to wake.
//
// A session that does not exist yet is awaited in the same way: its readers hold the slot in which it will appear.

/// A slot whose session is away, while somebody holds it.
struct AwaySlot {
    private(set) weak var slot: SessionSlot?

    init(_ slot: SessionSlot) { self.slot = slot }
}

extension SessionTable {
    /// A slot that was evicted, the bytes that it held, and what it held if it was sent away.
    typealias Evicted = (slot: SessionSlot, bytes: Int, held: SessionSlot.Held?)

    /// The slot of a session that is away.
    func awaySlot(_ name: String) -> SessionSlot? { registry.withLock { $0.away[name]?.slot } }

    /// The slot of a session, here or away. Does not count as use.
    func anySlot(_ name: String) -> SessionSlot? { registry.withLock { $0.slots[name] ?? $0.away[name]?.slot } }

    /// The slot in which a session is, or will appear; nil if too many are awaited. Whoever waits there has to hold it.
    /// Does not count as use.
    func slotToAwait(_ name: String) -> SessionSlot? {
        registry.withLock { registry in
            if let slot = registry.slots[name] ?? registry.away[name]?.slot { return slot }
            if registry.away.count >= bounds.sessions { registry.forgetAway() }
            guard registry.away.count < bounds.sessions else { return nil }
            let slot = SessionSlot(awaiting: name)
            registry.away[name] = AwaySlot(slot)
            return slot
        }
    }

    /// Whether a session is here, or is away but has readers.
    func isInUse(_ name: String) -> Bool {
        registry.withLock { registry in
            if registry.slots[name] != nil { return true }
            guard let slot = registry.away[name]?.slot else { return false }
            return slot.readerCount > 0 && !slot.isAwaited
        }
    }

    /// Sends all sessions away: none of them is what the store holds.
    func sendAllAway() {
        let held = registry.withLock { registry in
            Array(registry.slots.values).map { slot in
                registry.remove(slot)
                return registry.sendAway(slot)
            }
        }
        for held in held { held.free() }
    }

    /// Sessions that are away but read, whose use the store should write down. O(sessions away).
    func readWhileAway(at now: Instant = .now) -> [(slot: SessionSlot, left: Duration)] {
        registry.withLock { registry in
            registry.away.values.compactMap { away in
                guard let slot = away.slot, slot.readerCount > 0, !slot.isAwaited else { return nil }
                slot.recency.renew(at: now)
                guard slot.recency.isNews else { return nil }
                slot.recency.stored = slot.recency.expires
                return (slot, slot.recency.timeToLive)
            }
        }
    }
}

extension SessionTable.Registry {
    /// Has a slot that left the table drop its session.
    mutating func sendAway(_ slot: SessionSlot) -> SessionSlot.Held {
        away[slot.name] = AwaySlot(slot)
        return slot.sendAway()
    }

    /// Forgets slots that nobody holds. O(sessions away).
    mutating func forgetAway() {
        if !away.isEmpty { away = away.filter { $0.value.slot != nil } }
    }

    /// Takes back a slot that was away; false if another one has its name by now.
    mutating func takeBack(_ slot: SessionSlot) -> Bool {
        guard away[slot.name]?.slot === slot else { return false }
        away[slot.name] = nil
        add(slot)
        return true
    }
}
