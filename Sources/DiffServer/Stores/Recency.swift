import HTTPCore

/// What the table must know of a slot without asking it: its places in the table's lists, and when it ends. The table's
/// lock guards it.
struct Recency {
    fileprivate var use = SlotLinks()
    fileprivate var end = SlotLinks()
    /// Whether the slot is in the order of use, and so in the table.
    fileprivate(set) var isListed = false
    /// Among which it leaves.
    fileprivate var rank = Rank.unread
    /// Whether the session fetches itself: then it is no loss.
    var isFetched = false
    /// The second, on the clock of moments, in which the wheel looks at it next.
    fileprivate var dueSecond: Int64 = 0
    var expires = Instant.now
    /// What `expires` was when a store last heard of it.
    var stored = Instant.now
    /// Whether it waits for the store to hear of its use.
    fileprivate var isNews = false
    /// Where it is among `SlotPlaces`.
    var place = 0
    var timeToLive = Duration.seconds(3600)
    /// Charged to the table's budget.
    var bytes = 0
    /// Those of the newest state, awake.
    var stateBytes = 0
    /// Whether the session is awake, and was used since it was last asked whether it may rest.
    fileprivate(set) var isAwake = false
    fileprivate var wasUsed = false

    /// A commit has put it there, which every store has heard of.
    mutating func begin(_ timeToLive: Duration) {
        self.timeToLive = timeToLive
        expires = .now + timeToLive
        stored = expires
    }
}

/// Who leaves before whom.
private enum Rank {
    /// What can be fetched again, and nobody waits on.
    case fetched
    case unread
    case read

    init(_ slot: SessionSlot) {
        self = slot.readerCount > 0 ? .read : slot.recency.isFetched ? .fetched : .unread
    }
}

/// A slot's neighbours in a list. The table holds on to them: a slot leaves all lists when it leaves the table.
private struct SlotLinks {
    var newer: Unmanaged<SessionSlot>?
    var older: Unmanaged<SessionSlot>?
}

/// Which of its links a list goes by.
private protocol SlotOrder {
    static subscript(_ slot: SessionSlot) -> SlotLinks { get set }
}

private enum ByUse: SlotOrder {
    static subscript(_ slot: SessionSlot) -> SlotLinks {
        get { slot.recency.use }
        set { slot.recency.use = newValue }
    }
}

private enum ByEnd: SlotOrder {
    static subscript(_ slot: SessionSlot) -> SlotLinks {
        get { slot.recency.end }
        set { slot.recency.end = newValue }
    }
}

/// Slots as a doubly linked list: adding and removing one costs O(1), and counts no references.
private struct SlotList<Order: SlotOrder> {
    private var first: Unmanaged<SessionSlot>?
    private var last: Unmanaged<SessionSlot>?

    var oldest: SessionSlot? { first?.takeUnretainedValue() }
    var newest: SessionSlot? { last?.takeUnretainedValue() }

    func newer(than slot: SessionSlot) -> SessionSlot? { Order[slot].newer?.takeUnretainedValue() }

    /// Puts in a slot as the newest.
    mutating func add(_ slot: SessionSlot) {
        let added = Unmanaged.passUnretained(slot)
        Order[slot] = SlotLinks(newer: nil, older: last)
        if let last { Order[last.takeUnretainedValue()].newer = added } else { first = added }
        last = added
    }

    mutating func remove(_ slot: SessionSlot) {
        let links = Order[slot]
        if let older = links.older {
            Order[older.takeUnretainedValue()].newer = links.newer
        } else {
            first = links.newer
        }
        if let newer = links.newer {
            Order[newer.takeUnretainedValue()].older = links.older
        } else {
            last = links.older
        }
        Order[slot] = SlotLinks()
    }
}

/// Slots in order of use: those that can be fetched again, which leave first, those that nobody waits on, and those
/// that are read, which leave last. All is O(1), amortised.
///
/// A slot whose first reader came stays where it is until it is used or its turn to leave comes; either puts it among
/// those that are read.
struct RecencyOrder {
    private var fetched = SlotList<ByUse>()
    private var unread = SlotList<ByUse>()
    private var read = SlotList<ByUse>()
    /// Slots of sessions that fetch themselves.
    private(set) var fetchedCount = 0

    /// The list of a rank.
    private subscript(_ rank: Rank) -> SlotList<ByUse> {
        get {
            switch rank {
            case .fetched: fetched
            case .unread: unread
            case .read: read
            }
        }
        set {
            switch rank {
            case .fetched: fetched = newValue
            case .unread: unread = newValue
            case .read: read = newValue
            }
        }
    }

    /// Puts in a slot as the latest.
    mutating func add(_ slot: SessionSlot) {
        slot.recency.isListed = true
        slot.recency.rank = Rank(slot)
        self[slot.recency.rank].add(slot)
        if slot.recency.isFetched { fetchedCount += 1 }
    }

    mutating func remove(_ slot: SessionSlot) {
        self[slot.recency.rank].remove(slot)
        slot.recency.isListed = false
        if slot.recency.isFetched { fetchedCount -= 1 }
    }

    /// Makes a slot the latest.
    mutating func touch(_ slot: SessionSlot) {
        slot.recency.wasUsed = true
        guard self[slot.recency.rank].newest !== slot || slot.recency.rank != Rank(slot) else { return }
        remove(slot)
        add(slot)
    }

    /// The one that is to leave next, but for `spared`.
    mutating func next(sparing spared: SessionSlot?) -> SessionSlot? {
        nextFetched(sparing: spared) ?? next(of: .unread, sparing: spared) ?? Self.oldest(of: read, sparing: spared)
    }

    /// The one of those that can be fetched again, and nobody waits on.
    mutating func nextFetched(sparing spared: SessionSlot?) -> SessionSlot? { next(of: .fetched, sparing: spared) }

    private mutating func next(of rank: Rank, sparing spared: SessionSlot?) -> SessionSlot? {
        while let slot = Self.oldest(of: self[rank], sparing: spared) {
            if slot.readerCount == 0 { return slot }
            remove(slot)
            add(slot)
        }
        return nil
    }

    private static func oldest(of list: SlotList<ByUse>, sparing spared: SessionSlot?) -> SessionSlot? {
        guard let oldest = list.oldest, oldest === spared else { return list.oldest }
        return list.newer(than: oldest)
    }
}

/// When slots end: a hashed timing wheel (Varghese and Lauck 1987) with a place for each second. A slot that is used is
/// not moved; it is looked at in the second in which it would have ended, and then put where it ends now. So a use
/// costs nothing, and a second costs what ends in it.
struct ExpiryWheel {
    private static let size = 1024
    private var places = [SlotList<ByEnd>](repeating: SlotList(), count: size)
    private var second: Int64

    init(at now: Instant = .now) { second = now.wholeSeconds }

    /// Puts in a slot.
    mutating func add(_ slot: SessionSlot) {
        slot.recency.dueSecond = max(slot.recency.expires.wholeSeconds, second) + 1
        places[Self.place(slot.recency.dueSecond)].add(slot)
    }

    mutating func remove(_ slot: SessionSlot) { places[Self.place(slot.recency.dueSecond)].remove(slot) }

    /// Has a slot looked at sooner, if it ends sooner than was known.
    mutating func update(_ slot: SessionSlot) {
        guard slot.recency.expires.wholeSeconds + 1 < slot.recency.dueSecond else { return }
        remove(slot)
        add(slot)
    }

    /// Those that have ended by `now`; they stay in the wheel.
    mutating func ended(by now: Instant) -> [SessionSlot] {
        var ended: [SessionSlot] = []
        let end = now.wholeSeconds
        // A wheel that was not looked at for long goes around once.
        for past in max(second + 1, end - Int64(Self.size) + 1)...max(second + 1, end) where past <= end {
            second = past
            var next = places[Self.place(past)].oldest
            while let slot = next {
                next = places[Self.place(past)].newer(than: slot)
                if slot.recency.expires <= now {
                    ended.append(slot)
                } else if Self.place(slot.recency.expires.wholeSeconds + 1) != Self.place(past) {
                    remove(slot)
                    add(slot)
                } else {
                    slot.recency.dueSecond = slot.recency.expires.wholeSeconds + 1
                }
            }
        }
        return ended
    }

    private static func place(_ second: Int64) -> Int { Int(second & Int64(size - 1)) }
}

/// Slots whose use a store should write down, each once.
struct UsedSlots {
    private var slots: [SessionSlot] = []

    /// Takes in a slot if its end has moved by more than a thirty-second of its time since the store last heard of it.
    /// O(1).
    mutating func note(_ slot: SessionSlot) {
        guard !slot.recency.isNews, slot.recency.expires - slot.recency.stored > slot.recency.timeToLive / 32 else {
            return
        }
        slot.recency.isNews = true
        slots.append(slot)
    }

    /// Gives out all that are still in the table; the store is about to hear of them. O(slots).
    mutating func taken() -> [SessionSlot] {
        let taken = exchange(&slots, with: [])
        for slot in taken {
            slot.recency.isNews = false
            slot.recency.stored = slot.recency.expires
        }
        return taken.filter(\.recency.isListed)
    }
}

/// Slots whose sessions are awake, in the order in which they woke. Whoever was used since stays for another round, as
/// in the CLOCK algorithm (Corbató 1968). One that has left the table goes when its turn comes.
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
