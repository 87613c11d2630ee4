import Synchronization

/// Memory that a server's messages share, in bytes: bodies on their way in, or answers on their way out.
///
/// It counts and does not allocate: holders of bytes take them here first, and give them back when they release them.
/// May be called from any thread.
public final class MemoryBudget: Sendable {
    /// How much may be taken.
    public let limit: Int
    private let used = Atomic<Int>(0)
    /// Not the bare function: reading one as a generic value wraps it in a thunk, which the lock would then store, so
    /// that every read would add another layer.
    private let listener = Locked<Listener?>(nil)

    private struct Listener: Sendable {
        let call: @Sendable () -> Void
    }

    /// Bytes taken now.
    public var inUse: Int { used.load(ordering: .relaxed) }

    /// Whether more is taken than the limit.
    public var isExceeded: Bool { inUse > limit }

    /// A budget of so many bytes; unlimited by default.
    public init(limit: Int = .max) { self.limit = limit }

    /// Sets an action for each further MiB taken, so that others can make room.
    public func onGrowth(_ action: @escaping @Sendable () -> Void) { listener.withLock { $0 = Listener(call: action) } }

    /// Takes bytes; returns false and takes nothing if that would exceed the limit.
    func take(_ bytes: Int) -> Bool {
        let before = used.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before + bytes <= limit else {
            release(bytes)
            return false
        }
        notify(from: before, to: before + bytes)
        return true
    }

    /// Takes bytes that exist already, whatever the limit.
    public func charge(_ bytes: Int) {
        let before = used.wrappingAdd(bytes, ordering: .relaxed).oldValue
        notify(from: before, to: before + bytes)
    }

    /// Releases bytes that were taken.
    public func release(_ bytes: Int) { used.wrappingSubtract(bytes, ordering: .relaxed) }

    /// Takes bytes while `work` runs, whatever the limit.
    public func charging<Result, Failure: Error>(
        _ bytes: Int, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        charge(bytes)
        defer { release(bytes) }
        return try work()
    }

    private func notify(from before: Int, to after: Int) {
        if after >> 20 != before >> 20 { listener.withLock { $0 }?.call() }
    }
}

/// What one owner has taken of a budget. It is given back when the share is released.
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
    /// - Parameter part: one over the part of the budget that has to stay free for others if more is taken; 0: none.
    /// - Returns: false, with nothing changed, if the budget has no room for more.
    public func resize(to bytes: Int, sparing part: Int = 0) -> Bool {
        let more = bytes - size.load(ordering: .relaxed)
        if more < 0 { budget.release(-more) }
        if more > 0, part > 0, budget.inUse + more > budget.limit - budget.limit / part { return false }
        guard more <= 0 || budget.take(more) else { return false }
        size.store(bytes, ordering: .relaxed)
        return true
    }

    /// Resizes to bytes that exist already, whatever the limit.
    public func hold(_ bytes: Int) {
        let more = bytes - size.exchange(bytes, ordering: .relaxed)
        if more > 0 { budget.charge(more) } else if more < 0 { budget.release(-more) }
    }
}
