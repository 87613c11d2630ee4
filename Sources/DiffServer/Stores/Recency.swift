import DiffClock

/// What the table knows of a slot: its position in the lists, and when it expires. Guarded by the table's lock.
public struct Recency {
    /// The neighbours in a list of `RecencyOrder`. Not retained: the table holds its slots, and a slot leaves all lists
    /// when it leaves the table.
    var newer, older: Unmanaged<SessionSlot>?
    var expires = Instant.now
    /// The value of `expires` that the store last heard of.
    var stored = Instant.now
    /// Bytes charged to the table's budget.
    var bytes = 0
    /// Bytes of the newest state when the session was last awake.
    var stateBytes = 0
    /// In `SlotArray`.
    var index: UInt32 = 0
    /// The time to live in milliseconds.
    private var lifetime: UInt32 = 0
    /// Whether the slot is in the table.
    var isListed = false
    var rank = EvictionRank.unread
    /// Whether the session can be fetched again, so that its eviction loses nothing.
    var isFetched = false
    var isAwake = false
    /// Whether the session was used since `AwakeSlots` last looked.
    var wasUsed = false

    /// Begins a life that the store knows of.
    mutating func begin(_ timeToLive: Duration) {
        let (seconds, attoseconds) = timeToLive.components
        lifetime = UInt32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        renew(at: .now)
        stored = expires
    }

    public var timeToLive: Duration { .milliseconds(lifetime) }

    /// Restarts the time to live. In nanoseconds, since a `Duration` has 128 bits, and this is done at each use.
    mutating func renew(at now: Instant) {
        expires = Instant(nanoseconds: now.nanoseconds + Int64(lifetime) * 1_000_000)
    }

    fileprivate var lastUse: Instant { Instant(nanoseconds: expires.nanoseconds - Int64(lifetime) * 1_000_000) }

    /// Whether a store should record the use: the expiry has moved by over a thirty-second of the time to live since.
    var needsStoring: Bool { expires - stored > timeToLive / 32 }
}

/// Slots whose sessions are awake, in the order in which they woke. As in the CLOCK algorithm (Corbató 1968), slots
/// used since then stay for another round. Slots removed from the table are dropped when the hand reaches them.
struct AwakeSlots {
    private var slots: [SessionSlot] = []
    private var next = 0
    private let limit: Int

    /// - Parameter limit: the most sessions that are awake.
    init(limit: Int) { self.limit = limit }

    /// Adds a slot whose session woke. Returns the slot whose session must be packed to make room. Amortised O(1).
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
        let demoted = exchange(&slots[next], with: slot)
        demoted.recency.isAwake = false
        next = (next + 1) % limit
        return demoted
    }
}

// MARK: - Order

/// A doubly linked list of slots: adding and removing one costs O(1), and no reference counting.
private struct SlotList {
    private var first: Unmanaged<SessionSlot>?
    private var last: Unmanaged<SessionSlot>?

    var oldest: SessionSlot? { first?.takeUnretainedValue() }
    var newest: SessionSlot? { last?.takeUnretainedValue() }

    func newer(than slot: SessionSlot) -> SessionSlot? { slot.recency.newer?.takeUnretainedValue() }

    func older(than slot: SessionSlot) -> SessionSlot? { slot.recency.older?.takeUnretainedValue() }

    mutating func add(_ slot: SessionSlot) {
        let added = Unmanaged.passUnretained(slot)
        (slot.recency.newer, slot.recency.older) = (nil, last)
        if let newest { newest.recency.newer = added } else { first = added }
        last = added
    }

    mutating func remove(_ slot: SessionSlot) {
        let (newer, older) = (newer(than: slot), older(than: slot))
        if let older { older.recency.newer = slot.recency.newer } else { first = slot.recency.newer }
        if let newer { newer.recency.older = slot.recency.older } else { last = slot.recency.older }
        (slot.recency.newer, slot.recency.older) = (nil, nil)
    }
}

/// The order of eviction: rank by rank, and within a rank the least recently used first.
enum EvictionRank: Int {
    /// Can be fetched again, and has no readers.
    case fetched
    case unread
    case read

    init(_ slot: SessionSlot) { self = slot.readerCount > 0 ? .read : slot.recency.isFetched ? .fetched : .unread }
}

/// Slots in order of use, with a list for each rank. All operations are amortised O(1). A slot that gets its first
/// reader keeps its rank until it is used or about to be evicted.
struct RecencyOrder {
    private var lists = [SlotList](repeating: SlotList(), count: 3)
    private(set) var fetchedCount = 0

    /// Adds a slot as the most recently used.
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

    mutating func touch(_ slot: SessionSlot) {
        slot.recency.wasUsed = true
        let rank = slot.recency.rank
        guard lists[rank.rawValue].newest !== slot || rank != EvictionRank(slot) else { return }
        remove(slot)
        add(slot)
    }

    /// The slots used since a moment. O(result).
    func used(since moment: Instant) -> [SessionSlot] {
        var used: [SessionSlot] = []
        for list in lists {
            var next = list.newest
            while let slot = next, slot.recency.lastUse >= moment {
                used.append(slot)
                next = list.older(than: slot)
            }
        }
        return used
    }

    /// The slot to evict next, other than `spared`.
    mutating func next(sparing spared: SessionSlot?) -> SessionSlot? {
        next(of: .fetched, sparing: spared) ?? next(of: .unread, sparing: spared) ?? oldest(of: .read, sparing: spared)
    }

    /// The slot of a rank to evict next. Slots that have gained readers move to the last rank.
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
