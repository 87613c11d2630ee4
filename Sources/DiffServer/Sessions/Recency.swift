/// A slot's place in the order of use, and what the table must know of it without asking it.
struct Recency {
    /// Neighbours in the order of use. The table holds on to them: a slot leaves this list when it leaves the table.
    fileprivate var newer: Unmanaged<SessionSlot>?
    fileprivate var older: Unmanaged<SessionSlot>?
    /// Whether the slot is in the list, and so in the table.
    fileprivate(set) var isListed = false
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

/// Slots in order of use, as a doubly linked list: touching one costs O(1), and counts no references.
struct RecencyOrder {
    private var first: Unmanaged<SessionSlot>?
    private var last: Unmanaged<SessionSlot>?

    /// The least recently used one.
    var oldest: SessionSlot? { first?.takeUnretainedValue() }

    /// The one that was used next after another.
    func newer(than slot: SessionSlot) -> SessionSlot? { slot.recency.newer?.takeUnretainedValue() }

    /// Puts in a slot as the latest.
    mutating func add(_ slot: SessionSlot) {
        let added = Unmanaged.passUnretained(slot)
        slot.recency.older = last
        slot.recency.newer = nil
        slot.recency.isListed = true
        if let last { last.takeUnretainedValue().recency.newer = added } else { first = added }
        last = added
    }

    mutating func remove(_ slot: SessionSlot) {
        let (older, newer) = (slot.recency.older, slot.recency.newer)
        if let older { older.takeUnretainedValue().recency.newer = newer } else { first = newer }
        if let newer { newer.takeUnretainedValue().recency.older = older } else { last = older }
        slot.recency.older = nil
        slot.recency.newer = nil
        slot.recency.isListed = false
    }

    mutating func touch(_ slot: SessionSlot) {
        slot.recency.wasUsed = true
        guard slot.recency.newer != nil else { return }
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
