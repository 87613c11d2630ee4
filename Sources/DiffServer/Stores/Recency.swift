import HTTPCore

/// What the table has to know of a slot without asking it: where it is in the table's lists, and when it ends. The
/// table's lock guards it.
struct Recency {
    /// Neighbours in the lists of `RecencyOrder` and of `ExpiryWheel`.
    var links = InlineArray<2, SlotLinks>(repeating: SlotLinks())
    /// The second of the monotonic clock in which the wheel looks at it next.
    var dueSecond: Int64 = 0
    var expires = Instant.now
    /// What `expires` was when the store last heard of it.
    var stored = Instant.now
    /// Charged to the table's budget.
    var bytes = 0
    /// Bytes of the newest state when it is awake.
    var stateBytes = 0
    /// Its index in `SlotPlaces`.
    var place: UInt32 = 0
    /// In milliseconds.
    private var lifetime: UInt32 = 0
    /// Whether the slot is in the table.
    var isListed = false
    /// Which list of `RecencyOrder` it is in.
    var rank = EvictionRank.unread
    /// Whether the session fetches itself, so that its eviction loses nothing.
    var isFetched = false
    /// Whether it is in `UsedSlots`.
    var isNoted = false
    /// Whether the session is awake.
    var isAwake = false
    /// Whether it was used since `AwakeSlots` last looked.
    var wasUsed = false

    /// Begins a life that the store knows of.
    mutating func begin(_ timeToLive: Duration) {
        let (seconds, attoseconds) = timeToLive.components
        lifetime = UInt32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        renew(at: .now)
        stored = expires
    }

    var timeToLive: Duration { .milliseconds(lifetime) }

    /// Starts the time to live anew. By nanoseconds, since a duration is of 128 bits, and this is done for each use.
    mutating func renew(at now: Instant) {
        expires = Instant(nanoseconds: now.nanoseconds + Int64(lifetime) * 1_000_000)
    }

    /// Whether a store should write down that the session was used: its end has moved by more than a thirty-second of
    /// its time to live since the store last heard of it.
    var isNews: Bool { expires - stored > timeToLive / 32 }
}

/// Slots whose use a store should write down, each once.
struct UsedSlots {
    private var slots: [SessionSlot] = []

    /// Takes in a slot if its use is news. O(1).
    mutating func note(_ slot: SessionSlot) {
        guard !slot.recency.isNoted, slot.recency.isNews else { return }
        slot.recency.isNoted = true
        slots.append(slot)
    }

    /// Removes all slots, and returns those that are still in the table; the store is about to hear of them. O(slots).
    mutating func taken() -> [SessionSlot] {
        let taken = exchange(&slots, with: [])
        for slot in taken {
            slot.recency.isNoted = false
            slot.recency.stored = slot.recency.expires
        }
        return taken.filter(\.recency.isListed)
    }
}

/// Slots whose sessions are awake, in the order in which they woke. Whichever was used since then stays for another
/// round, as in the CLOCK algorithm (Corbató 1968). One that has left the table goes when its turn comes.
struct AwakeSlots {
    private var slots: [SessionSlot] = []
    private var next = 0
    private let limit: Int

    /// - Parameter limit: how many are awake at most.
    init(limit: Int) { self.limit = limit }

    /// Takes in a slot whose session woke. Amortised O(1).
    ///
    /// - Returns: the one that has to rest in its place.
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
        let tired = exchange(&slots[next], with: slot)
        tired.recency.isAwake = false
        next = (next + 1) % limit
        return tired
    }
}
