import HTTPCore

/// When slots end: a hashed timing wheel (Varghese and Lauck 1987) with a list for each second. A slot that is used
/// does not move. The wheel looks at it in the second in which it would have ended, and moves it to the second in which
/// it ends now. So a use costs nothing, and a second costs what ends in it.
struct ExpiryWheel {
    private static let size = 1024
    private var seconds = [SlotList](repeating: SlotList(.end), count: size)
    /// The second that was looked at last.
    private var second: Int64

    init(at now: Instant = .now) { second = now.wholeSeconds }

    mutating func add(_ slot: SessionSlot) {
        slot.recency.dueSecond = max(slot.recency.expires.wholeSeconds, second) + 1
        seconds[Self.index(slot.recency.dueSecond)].add(slot)
    }

    mutating func remove(_ slot: SessionSlot) { seconds[Self.index(slot.recency.dueSecond)].remove(slot) }

    /// Moves a slot that ends sooner than was known.
    mutating func update(_ slot: SessionSlot) {
        guard slot.recency.expires.wholeSeconds + 1 < slot.recency.dueSecond else { return }
        remove(slot)
        add(slot)
    }

    /// The slots that have ended by `now`; they stay in the wheel.
    mutating func ended(by now: Instant) -> [SessionSlot] {
        var ended: [SessionSlot] = []
        let end = now.wholeSeconds
        // A wheel that was not looked at for long goes around once.
        for past in max(second + 1, end - Int64(Self.size) + 1)...max(second + 1, end) where past <= end {
            second = past
            let index = Self.index(past)
            var next = seconds[index].oldest
            while let slot = next {
                next = seconds[index].newer(than: slot)
                if slot.recency.expires <= now {
                    ended.append(slot)
                } else if Self.index(slot.recency.expires.wholeSeconds + 1) != index {
                    remove(slot)
                    add(slot)
                } else {
                    slot.recency.dueSecond = slot.recency.expires.wholeSeconds + 1
                }
            }
        }
        return ended
    }

    private static func index(_ second: Int64) -> Int { Int(second & Int64(size - 1)) }
}
