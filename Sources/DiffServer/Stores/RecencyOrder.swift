import HTTPCore

/// A slot's neighbours in a list. They are not retained: the table holds its slots, and a slot leaves all lists when it
/// leaves the table.
struct SlotLinks {
    var newer: Unmanaged<SessionSlot>?
    var older: Unmanaged<SessionSlot>?
}

/// Slots as a doubly linked list: adding and removing one costs O(1), and counts no references.
struct SlotList {
    /// Which of a slot's links the list uses.
    enum Kind: Int { case use, end }

    private let kind: Kind
    private var first: Unmanaged<SessionSlot>?
    private var last: Unmanaged<SessionSlot>?

    init(_ kind: Kind) { self.kind = kind }

    var oldest: SessionSlot? { first?.takeUnretainedValue() }
    var newest: SessionSlot? { last?.takeUnretainedValue() }

    func newer(than slot: SessionSlot) -> SessionSlot? {
        slot.recency.links[kind.rawValue].newer?.takeUnretainedValue()
    }

    /// Adds a slot as the newest.
    mutating func add(_ slot: SessionSlot) {
        let added = Unmanaged.passUnretained(slot)
        slot.recency.links[kind.rawValue] = SlotLinks(newer: nil, older: last)
        if let newest { newest.recency.links[kind.rawValue].newer = added } else { first = added }
        last = added
    }

    mutating func remove(_ slot: SessionSlot) {
        let links = exchange(&slot.recency.links[kind.rawValue], with: SlotLinks())
        if let older = links.older?.takeUnretainedValue() {
            older.recency.links[kind.rawValue].newer = links.newer
        } else {
            first = links.newer
        }
        if let newer = links.newer?.takeUnretainedValue() {
            newer.recency.links[kind.rawValue].older = links.older
        } else {
            last = links.older
        }
    }
}

/// The order of eviction; within a rank the least recently used slot leaves first.
enum EvictionRank: Int {
    /// Can be fetched again, and has no readers.
    case fetched
    case unread
    case read

    init(_ slot: SessionSlot) {
        self = slot.readerCount > 0 ? .read : slot.recency.isFetched ? .fetched : .unread
    }
}

/// Slots in order of use, a list for each rank. Everything is O(1), amortised.
///
/// A slot whose first reader came keeps its rank until it is used, or until it would be evicted.
struct RecencyOrder {
    private var lists = [SlotList](repeating: SlotList(.use), count: 3)
    /// Slots of sessions that fetch themselves.
    private(set) var fetchedCount = 0

    /// Adds a slot as the latest.
    mutating func add(_ slot: SessionSlot) {
        slot.recency.isListed = true
        slot.recency.rank = EvictionRank(slot)
        lists[slot.recency.rank.rawValue].add(slot)
        if slot.recency.isFetched { fetchedCount += 1 }
    }

    mutating func remove(_ slot: SessionSlot) {
        lists[slot.recency.rank.rawValue].remove(slot)
        slot.recency.isListed = false
        if slot.recency.isFetched { fetchedCount -= 1 }
    }

    /// Makes a slot the latest.
    mutating func touch(_ slot: SessionSlot) {
        slot.recency.wasUsed = true
        let rank = slot.recency.rank
        guard lists[rank.rawValue].newest !== slot || rank != EvictionRank(slot) else { return }
        remove(slot)
        add(slot)
    }

    /// The slot to evict next, other than `spared`.
    mutating func next(sparing spared: SessionSlot?) -> SessionSlot? {
        next(of: .fetched, sparing: spared) ?? next(of: .unread, sparing: spared) ?? oldest(of: .read, sparing: spared)
    }

    /// The slot of a rank to evict next; those that have readers by now move to the last rank.
    mutating func next(of rank: EvictionRank, sparing spared: SessionSlot?) -> SessionSlot? {
        while let slot = oldest(of: rank, sparing: spared) {
            if slot.readerCount == 0 { return slot }
            remove(slot)
            add(slot)
        }
        return nil
    }

    private func oldest(of rank: EvictionRank, sparing spared: SessionSlot?) -> SessionSlot? {
        let list = lists[rank.rawValue]
        guard let oldest = list.oldest, oldest === spared else { return list.oldest }
        return list.newer(than: oldest)
    }
}
