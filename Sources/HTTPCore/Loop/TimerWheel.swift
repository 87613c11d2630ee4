import DiffClock

/// The deadlines of a loop: a hashed timing wheel (Varghese and Lauck 1987, scheme 6).
///
/// A ring of buckets of 8 ms, each a doubly linked list of the alarms due in that tick, so arming and disarming are
/// O(1). An alarm more than a revolution (33 s) away is found early and left in place. A bitmap of the occupied
/// buckets, and one of its words, tell how long the loop may sleep. Alarms are never early, and at most a tick late.
///
/// Most deadlines move with every request. So an alarm that is armed for later than its bucket stays there, and is
/// moved when that bucket comes up: `due` may be after the bucket, never before it.
final class TimerWheel {
    fileprivate static let bucketCount = 4096
    static let tick: Int64 = 8_000_000

    private var buckets = [Alarm?](repeating: nil, count: bucketCount)
    private var occupied = [UInt64](repeating: 0, count: bucketCount / 64)
    /// The words of `occupied` that are not 0.
    private var occupiedWords: UInt64 = 0
    private var current: Int64
    /// A lower bound of the next occupied bucket's tick, if known. Too low a bound costs an idle iteration.
    private var nearest: Int64?
    private(set) var count = 0

    init(now: Instant) { current = now.nanoseconds / Self.tick }

    /// Arms an alarm, or moves it.
    func arm(_ alarm: Alarm, at due: Instant) {
        let tick = max((due.nanoseconds + Self.tick - 1) / Self.tick, current + 1)
        alarm.due = tick
        alarm.isDue = false
        if alarm.isLinked {
            if alarm.hungAt <= tick { return }
            unlink(alarm)
        }
        link(alarm, at: tick)
    }

    /// Disarms an alarm, even one that `expired` has returned but that has not fired.
    func disarm(_ alarm: Alarm) {
        alarm.isDue = false
        if alarm.isLinked { unlink(alarm) }
    }

    /// Removes the alarms due by `now`, to be fired. What one does may end the owner of another, which disarms it.
    func expired(by now: Instant) -> [Alarm] {
        let last = now.nanoseconds / Self.tick
        guard last > current else { return [] }
        var expired: [Alarm] = []
        // One revolution visits every bucket, however long the loop has slept.
        let ticks = count == 0 ? 0 : min(last - current, Int64(Self.bucketCount))
        let first = current + 1
        current = last
        nearest = nil
        for tick in first..<first + ticks {
            let bucket = Int(tick & Int64(Self.bucketCount - 1))
            guard occupied[bucket / 64] >> UInt64(bucket % 64) & 1 != 0 else { continue }
            var next = buckets[bucket]
            while let alarm = next {
                next = alarm.next
                if alarm.due <= last {
                    unlink(alarm)
                    alarm.isDue = true
                    expired.append(alarm)
                } else if alarm.due > alarm.hungAt {
                    unlink(alarm)
                    link(alarm, at: alarm.due)
                }
            }
        }
        return expired
    }

    /// How long the loop may sleep; `.never` without limit.
    func nextDue() -> Instant {
        guard count > 0 else { return .never }
        let tick = nearest ?? nearestOccupied()
        nearest = tick
        return Instant(nanoseconds: tick * Self.tick)
    }

    /// The next tick whose bucket is occupied, if one is. O(1).
    private func nearestOccupied() -> Int64 {
        let (word, bit) = Int((current + 1) & Int64(Self.bucketCount - 1)).quotientAndRemainder(dividingBy: 64)
        let near = occupied[word] >> UInt64(bit)
        if near != 0 { return current + 1 + Int64(near.trailingZeroBitCount) }
        // The words behind this one, around the ring. It is the last of them itself, with its lower bits.
        let behind = occupiedWords >> UInt64(word + 1) | occupiedWords << UInt64(63 - word)
        let distance = behind.trailingZeroBitCount + 1
        let far = occupied[(word + distance) & 63]
        return current + 1 + Int64(64 * distance - bit + far.trailingZeroBitCount)
    }

    private func link(_ alarm: Alarm, at tick: Int64) {
        let bucket = Int(tick & Int64(Self.bucketCount - 1))
        alarm.hungAt = tick
        alarm.isLinked = true
        alarm.previous = nil
        alarm.next = buckets[bucket]
        alarm.next?.previous = alarm
        buckets[bucket] = alarm
        occupied[bucket / 64] |= 1 << UInt64(bucket % 64)
        occupiedWords |= 1 << UInt64(bucket / 64)
        count += 1
        if let known = nearest, tick < known { nearest = tick }
    }

    private func unlink(_ alarm: Alarm) {
        let bucket = Int(alarm.hungAt & Int64(Self.bucketCount - 1))
        if let previous = alarm.previous { previous.next = alarm.next } else { buckets[bucket] = alarm.next }
        alarm.next?.previous = alarm.previous
        alarm.next = nil
        alarm.previous = nil
        alarm.isLinked = false
        if buckets[bucket] == nil {
            occupied[bucket / 64] &= ~(1 << UInt64(bucket % 64))
            if occupied[bucket / 64] == 0 { occupiedWords &= ~(1 << UInt64(bucket / 64)) }
        }
        count -= 1
    }
}

/// A deadline. Owned by whoever armed it and, while it is armed, by the wheel.
final class Alarm {
    fileprivate(set) var due: Int64 = 0
    fileprivate var hungAt: Int64 = 0
    fileprivate(set) var isLinked = false
    fileprivate var next: Alarm?
    fileprivate unowned(unsafe) var previous: Alarm?
    /// Whether it is to fire: returned by `expired`, and neither fired nor disarmed since.
    fileprivate var isDue = false
    /// Can be set later, by an owner that has to exist first.
    var action: () -> Void

    init(_ action: @escaping () -> Void = {}) { self.action = action }

    func fire() {
        guard isDue else { return }
        isDue = false
        action()
    }
}

/// Work to run once, later. It can be cancelled from any thread: on its own loop, always in time.
public final class Timer: @unchecked Sendable {
    // `alarm` and `isCancelled` are confined to the loop.
    private let loop: EventLoop
    private(set) var isCancelled = false
    let alarm: Alarm

    init(loop: EventLoop, _ work: @escaping @Sendable () -> Void) {
        self.loop = loop
        alarm = Alarm(work)
    }

    /// Cancels the work unless it has run already.
    public func cancel() {
        loop.perform { [self] in
            isCancelled = true
            loop.disarm(alarm)
        }
    }
}
