/// All deadlines of one loop: a hashed timing wheel (Varghese and Lauck 1987, scheme 6).
///
/// A ring of slots of 8 ms; an alarm hangs in the slot of its due tick in a doubly linked list, so arming and disarming
/// cost a few words whatever the number of connections. An alarm further away than one turn (33 s) is met early and
/// left hanging. A bitmap of the slots that hold anything tells how long the loop may sleep. Nothing fires early; late
/// by a tick at most.
///
/// A deadline that moves on with every request would still cost two list operations each. So an alarm that is armed for
/// later than it hangs is left where it is and hung anew when its old slot is met: `due` may lie behind the slot, never
/// before it.
///
/// A heap would cost a logarithm at each request and a timer descriptor per connection a system call.
final class TimerWheel {
    static let slotCount = 4096
    static let tick: Int64 = 8_000_000

    private var slots = [Alarm?](repeating: nil, count: slotCount)
    private var occupied = [UInt64](repeating: 0, count: slotCount / 64)
    private var current: Int64
    /// The earliest tick at which a slot may hold anything, if it is known. Too early costs one idle turn, too late
    /// never is.
    private var nearest: Int64?
    private(set) var count = 0

    init(now: Instant) {
        current = now.nanoseconds / Self.tick
    }

    /// Arms an alarm, or moves it.
    func arm(_ alarm: Alarm, at due: Instant) {
        let tick = max((due.nanoseconds + Self.tick - 1) / Self.tick, current + 1)
        alarm.due = tick
        alarm.isDue = false
        if alarm.isHanging {
            if alarm.hungAt <= tick { return }
            unhang(alarm)
        }
        hang(alarm, at: tick)
    }

    /// Takes it back, also one that was taken down as due and has not rung yet.
    func disarm(_ alarm: Alarm) {
        alarm.isDue = false
        if alarm.isHanging { unhang(alarm) }
    }

    /// Takes down what is due by `now`, in no particular order within a tick. Each is to `fire` soon; what one of them
    /// does may end the owner of another, which then disarms it.
    func expired(by now: Instant) -> [Alarm] {
        let last = now.nanoseconds / Self.tick
        guard last > current else { return [] }
        var expired: [Alarm] = []
        // One turn meets every slot once; a longer sleep needs no second one.
        let ticks = count == 0 ? 0 : min(last - current, Int64(Self.slotCount))
        let first = current + 1
        current = last
        nearest = nil
        for tick in first..<first + ticks {
            let slot = Int(tick & Int64(Self.slotCount - 1))
            guard occupied[slot / 64] >> UInt64(slot % 64) & 1 != 0 else { continue }
            var next = slots[slot]
            while let alarm = next {
                next = alarm.next
                if alarm.due <= last {
                    unhang(alarm)
                    alarm.isDue = true
                    expired.append(alarm)
                } else if alarm.due > alarm.hungAt {
                    unhang(alarm)
                    hang(alarm, at: alarm.due)
                }
            }
        }
        return expired
    }

    /// How long the loop may sleep, in milliseconds; -1 for as long as it likes.
    func sleepMilliseconds(now: Instant) -> Int32 {
        guard count > 0 else { return -1 }
        let tick = nearest ?? nearestOccupied()
        nearest = tick
        let nanoseconds = tick * Self.tick - now.nanoseconds
        return Int32(max(0, (nanoseconds + 999_999) / 1_000_000))
    }

    /// The first tick behind the current one whose slot holds anything, found a word of the bitmap at a time.
    private func nearestOccupied() -> Int64 {
        var tick = current + 1
        let end = current + Int64(Self.slotCount)
        while tick <= end {
            let slot = Int(tick & Int64(Self.slotCount - 1))
            let word = occupied[slot / 64] >> UInt64(slot % 64)
            if word != 0 { return tick + Int64(word.trailingZeroBitCount) }
            tick += Int64(64 - slot % 64)
        }
        return end
    }

    private func hang(_ alarm: Alarm, at tick: Int64) {
        let slot = Int(tick & Int64(Self.slotCount - 1))
        alarm.hungAt = tick
        alarm.isHanging = true
        alarm.previous = nil
        alarm.next = slots[slot]
        alarm.next?.previous = alarm
        slots[slot] = alarm
        occupied[slot / 64] |= 1 << UInt64(slot % 64)
        count += 1
        if let known = nearest, tick < known { nearest = tick }
    }

    private func unhang(_ alarm: Alarm) {
        let slot = Int(alarm.hungAt & Int64(Self.slotCount - 1))
        if let previous = alarm.previous { previous.next = alarm.next } else { slots[slot] = alarm.next }
        alarm.next?.previous = alarm.previous
        alarm.next = nil
        alarm.previous = nil
        alarm.isHanging = false
        if slots[slot] == nil { occupied[slot / 64] &= ~(1 << UInt64(slot % 64)) }
        count -= 1
    }
}

/// One deadline. Owned by whoever armed it and, while it hangs, by the wheel.
final class Alarm {
    fileprivate(set) var due: Int64 = 0
    fileprivate var hungAt: Int64 = 0
    fileprivate(set) var isHanging = false
    fileprivate var next: Alarm?
    fileprivate unowned(unsafe) var previous: Alarm?
    /// Was taken down as due, and has not rung nor been taken back since.
    fileprivate var isDue = false
    /// What is to be done. Set later where its owner has to be there first.
    var action: () -> Void

    init(_ action: @escaping () -> Void = {}) {
        self.action = action
    }

    /// Does what is to be done, unless the alarm was taken back meanwhile.
    func fire() {
        guard isDue else { return }
        isDue = false
        action()
    }
}
