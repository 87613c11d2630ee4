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
    /// Whether the session is awake, and was used since it was last asked whether it may rest.
    fileprivate(set) var isAwake = false
    fileprivate var wasUsed = false
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
        slot.recency.wasUsed = true
        guard newest !== slot else { return }
        remove(slot)
        add(slot)
    }
}

/// Slots whose sessions are awake, in the order in which they woke. Whoever was used since stays for another round, as in the CLOCK algorithm
/// (Corbató 1968). One that has left the table goes when its turn comes.
struct AwakeSlots {
    private var slots: [SessionSlot] = []
    private var next = 0
    /// As many are awake.
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Takes in a slot whose session woke. Amortised O(1).
    ///
    /// - Returns: the one that is to be laid to rest for it.
    mutating func wake(_ slot: SessionSlot) -> SessionSlot? {
        guard !slot.recency.isAwake else { return nil }
        slot.recency.isAwake = true
        slot.recency.wasUsed = false
        if slots.count < limit {
            slots.append(slot)
            return nil
        }
        while slots[next].recency.wasUsed {
            slots[next].recency.wasUsed = false
            next = (next + 1) % limit
        }
        let tired = slots[next]
        tired.recency.isAwake = false
        slots[next] = slot
        next = (next + 1) % limit
        return tired
    }
}
