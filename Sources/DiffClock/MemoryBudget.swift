import Synchronization

/// A limit on memory, in bytes: on all that a process counts, or on a part for one purpose. It only counts: holders of
/// memory take its bytes here first, and give them back when they free it. From any thread.
public final class MemoryBudget: Sendable {
    /// The most bytes that may be taken.
    public let limit: Int
    /// The divisor for the part of a budget to leave free, for holders that may keep their bytes for long.
    public static let sparedPart = 16
    private let used = Atomic<Int>(0)
    private let whole: MemoryBudget?
    /// An array: a bare function would be stored behind one more thunk by each read, since the lock is generic.
    private let listeners = Locked<[@Sendable () -> Void]>([])
    private let waiting = Locked(Waiting())
    private let isAwaited = Atomic<Bool>(false)

    private struct Waiting {
        var queue = Queue<(bytes: Int, goOn: @Sendable (MemoryShare) -> Void)>()
        /// Whether a call of `admit` is under way.
        var isOpening = false
    }

    /// Bytes taken now.
    public var inUse: Int { used.load(ordering: .relaxed) }

    /// Whether more is taken than the limit.
    public var isExceeded: Bool { inUse > limit }

    var waiterCount: Int { waiting.withLock { $0.queue.count } }

    /// A budget of this many bytes; unlimited by default.
    ///
    /// - Parameter whole: the budget that this one is part of. Bytes are taken there too, whatever its limit.
    public init(limit: Int = .max, of whole: MemoryBudget? = nil) { (self.limit, self.whole) = (limit, whole) }

    /// Calls `action` for each further MiB taken, so that others can make room.
    public func onGrowth(_ action: @escaping @Sendable () -> Void) { listeners.withLock { $0.append(action) } }

    /// Takes bytes; returns false and takes nothing if that would exceed the limit, less what has to stay free.
    ///
    /// Never overshoots, even briefly: that could refuse another thread's bytes that fit.
    public func take(_ bytes: Int, leaving rest: Int = 0) -> Bool {
        var before = used.load(ordering: .relaxed)
        while bytes <= limit - rest - before {
            let (isTaken, found) = used.weakCompareExchange(
                expected: before, desired: before + bytes, ordering: .relaxed)
            if isTaken {
                grew(by: bytes, to: before + bytes)
                return true
            }
            before = found
        }
        return false
    }

    /// Takes bytes that exist already, whatever the limit.
    public func charge(_ bytes: Int) { grew(by: bytes, to: used.wrappingAdd(bytes, ordering: .relaxed).newValue) }

    private func grew(by bytes: Int, to after: Int) {
        if after >> 20 != (after - bytes) >> 20 { for call in listeners.withLock({ $0 }) { call() } }
        whole?.charge(bytes)
    }

    /// Releases bytes that were taken.
    public func release(_ bytes: Int) {
        used.wrappingSubtract(bytes, ordering: .sequentiallyConsistent)
        whole?.release(bytes)
        if isAwaited.load(ordering: .sequentiallyConsistent) { admit() }
    }

    /// Takes bytes while `work` runs, whatever the limit.
    public func charging<Result, Failure: Error>(
        _ bytes: Int, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        charge(bytes)
        defer { release(bytes) }
        return try work()
    }

    /// Calls back with a share of this many bytes once there is room, in the order of the calls: at once, or on the
    /// thread that releases bytes, which must not be held up. More than the limit is granted if nothing is in use.
    public func reserve(_ bytes: Int, _ goOn: @escaping @Sendable (MemoryShare) -> Void) {
        waiting.withLock { waiting in
            waiting.queue.append((bytes, goOn))
            // Bytes released from here on are seen by the releasing thread or, below, by this one.
            isAwaited.store(true, ordering: .sequentiallyConsistent)
        }
        admit()
    }

    /// Admits waiters while there is room, in one loop: a waiter that gives its share back at once must not recurse.
    private func admit() {
        guard waiting.withLock({ !exchange(&$0.isOpening, with: true) }) else { return }
        while let (bytes, goOn) = nextWaiter() { goOn(MemoryShare(holding: bytes, of: self)) }
    }

    private func nextWaiter() -> (bytes: Int, goOn: @Sendable (MemoryShare) -> Void)? {
        waiting.withLock { waiting in
            let used = used.load(ordering: .sequentiallyConsistent)
            if let first = waiting.queue.first, used == 0 || used + first.bytes <= limit {
                return waiting.queue.popFirst()
            }
            isAwaited.store(!waiting.queue.isEmpty, ordering: .sequentiallyConsistent)
            waiting.isOpening = false
            return nil
        }
    }
}

/// The bytes that one owner has taken from a budget. Given back when the share is released.
public final class MemoryShare: Sendable {
    private let budget: MemoryBudget
    private let size = Atomic<Int>(0)

    /// An empty share.
    public init(of budget: MemoryBudget) { self.budget = budget }

    /// A share of bytes that exist or are about to, whatever the limit.
    public convenience init(holding bytes: Int, of budget: MemoryBudget) {
        self.init(of: budget)
        hold(bytes)
    }

    deinit { budget.release(size.load(ordering: .relaxed)) }

    /// Takes more or gives some back, so that `bytes` are held. Only one thread at a time may call.
    ///
    /// - Parameter part: the divisor for the part of the budget to leave free if more is taken; 0 leaves nothing.
    /// - Returns: false, with nothing changed, if the budget has no room for more.
    public func resize(to bytes: Int, sparing part: Int = 0) -> Bool {
        let more = bytes - size.load(ordering: .relaxed)
        if more < 0 { budget.release(-more) }
        guard more <= 0 || budget.take(more, leaving: part > 0 ? budget.limit / part : 0) else { return false }
        size.store(bytes, ordering: .relaxed)
        return true
    }

    /// Resizes to bytes that exist already, whatever the limit.
    public func hold(_ bytes: Int) {
        let more = bytes - size.exchange(bytes, ordering: .relaxed)
        if more > 0 { budget.charge(more) } else if more < 0 { budget.release(-more) }
    }
}
