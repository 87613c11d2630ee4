import HTTPCore

extension SessionTable {
    /// What the table's lock guards.
    struct Registry {
        var slots: [String: SessionSlot] = [:]
        /// Slots that are still held though their sessions have left memory, see `SessionTable+Away`.
        var away: [String: AwaySlot] = [:]
        var places = SlotPlaces()
        var order = RecencyOrder()
        var ends = ExpiryWheel()
        var used = UsedSlots()
        var awake: AwakeSlots
        var bytes = 0
    }
}

extension SessionTable.Registry {
    mutating func charge(_ slot: SessionSlot, _ session: Session) {
        charge(slot, session.footprint)
        slot.recency.stateBytes = session.head.footprint
    }

    mutating func charge(_ slot: SessionSlot, _ bytes: Int) {
        self.bytes += bytes - slot.recency.bytes
        slot.recency.bytes = bytes
    }

    /// Adds a slot to all lists.
    mutating func add(_ slot: SessionSlot) {
        slots[slot.name] = slot
        places.add(slot)
        order.add(slot)
        ends.add(slot)
    }

    /// Notes the use of a slot: it becomes the latest, and its time to live starts anew.
    mutating func use(_ slot: SessionSlot, at now: Instant, isCache: Bool) {
        slot.recency.renew(at: now)
        order.touch(slot)
        if isCache { used.note(slot) }
    }

    mutating func remove(_ slot: SessionSlot) {
        guard slot.recency.isListed else { return }
        slots[slot.name] = nil
        places.remove(slot)
        order.remove(slot)
        ends.remove(slot)
        bytes -= slot.recency.bytes
        slot.recency.bytes = 0
    }

    /// Evicts the least recently used slots until the rest is within bounds; those with readers last, `spared` never.
    mutating func evict(
        within bounds: SessionTable.Bounds, sparing spared: SessionSlot?, isCache: Bool
    ) -> [SessionTable.Evicted] {
        var evicted: [SessionTable.Evicted] = []
        let evict = { (registry: inout Self, slot: SessionSlot) in
            let bytes = slot.recency.bytes
            registry.remove(slot)
            evicted.append((slot, bytes, isCache ? registry.sendAway(slot) : nil))
        }
        // Whoever may read sessions that can be fetched must not be able to evict those that cannot.
        while order.fetchedCount > max(1, bounds.sessions / 2), let slot = order.next(of: .fetched, sparing: spared) {
            evict(&self, slot)
        }
        while bytes > bounds.bytes || slots.count > bounds.sessions, let slot = order.next(sparing: spared) {
            evict(&self, slot)
        }
        return evicted
    }
}
