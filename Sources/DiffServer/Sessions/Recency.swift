/// A slot's place in the order of use, and what the table must know of it without asking it.
struct Recency {
    fileprivate(set) var newer: SessionSlot?
    fileprivate unowned(unsafe) var older: SessionSlot?
    var expires = Moment.now
    /// What `expires` was when a store last heard of it.
    var stored = Moment.now
    var timeToLive = Duration.seconds(3600)
    /// Charged to the table's budget.
    var bytes = 0
}

/// Slots in order of use, as a doubly linked list: touching one costs O(1).
struct RecencyOrder {
    private(set) var oldest: SessionSlot?
    private unowned(unsafe) var newest: SessionSlot?

    mutating func add(_ slot: SessionSlot) {
        slot.recency.older = newest
        slot.recency.newer = nil
        if let newest { newest.recency.newer = slot } else { oldest = slot }
        newest = slot
    }

    mutating func remove(_ slot: SessionSlot) {
        let (older, newer) = (slot.recency.older, slot.recency.newer)
        if let older { older.recency.newer = newer } else { oldest = newer }
        if let newer { newer.recency.older = older } else { newest = older }
        slot.recency.older = nil
        slot.recency.newer = nil
    }

    mutating func touch(_ slot: SessionSlot) {
        guard newest !== slot else { return }
        remove(slot)
        add(slot)
    }
}
