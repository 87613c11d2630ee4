import Synchronization

/// Memory that the messages of a server share, in bytes: bodies on their way in, or answers on their way out.
///
/// A count, not an allocator: whoever holds bytes takes them here first, and gives them back when they go. Any thread
/// may call.
public final class MemoryBudget: Sendable {
    /// How much may be taken.
    public let limit: Int
    private let used = Atomic<Int>(0)
    /// What was said to `onGrowth`. Not the bare function: to read one as a generic value wraps it, and the lock would
    /// keep the wrapped one, so that each reading would make the next one longer, without end.
    private let listener = Locked<Listener?>(nil)

    private struct Listener: Sendable {
        let call: @Sendable () -> Void
    }

    /// Bytes taken now.
    public var inUse: Int { used.load(ordering: .relaxed) }

    /// Whether more is taken than may be.
    public var isExceeded: Bool { inUse > limit }

    /// A budget of so many bytes; without a number there is no limit.
    public init(limit: Int = .max) { self.limit = limit }

    /// Sets what is called each time that another MiB or more was taken, so that others can make room.
    public func onGrowth(_ action: @escaping @Sendable () -> Void) { listener.withLock { $0 = Listener(call: action) } }

    /// Takes bytes; false, and nothing taken, if that would exceed the limit.
    func take(_ bytes: Int) -> Bool {
        let before = used.wrappingAdd(bytes, ordering: .relaxed).oldValue
        guard before + bytes <= limit else {
            giveBack(bytes)
            return false
        }
        tell(from: before, to: before + bytes)
        return true
    }

    /// Takes bytes that are there already, whatever the limit.
    public func charge(_ bytes: Int) {
        let before = used.wrappingAdd(bytes, ordering: .relaxed).oldValue
        tell(from: before, to: before + bytes)
    }

    /// Gives back bytes that were taken.
    public func giveBack(_ bytes: Int) { used.wrappingSubtract(bytes, ordering: .relaxed) }

    /// Takes bytes for as long as something goes on, whatever the limit.
    public func charging<Result, Failure: Error>(
        _ bytes: Int, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        charge(bytes)
        defer { giveBack(bytes) }
        return try work()
    }

    private func tell(from before: Int, to after: Int) {
        if after >> 20 != before >> 20 { listener.withLock { $0 }?.call() }
    }
}

/// What one owner has taken of a budget. It is given back when the share goes.
public final class MemoryShare: Sendable {
    private let budget: MemoryBudget
    private let size = Atomic<Int>(0)

    /// An empty share.
    public init(of budget: MemoryBudget) { self.budget = budget }

    deinit { budget.giveBack(size.load(ordering: .relaxed)) }

    /// Takes more or gives some back, so that `bytes` are held. Only one thread at a time may call.
    ///
    /// - Returns: false, and nothing changed, if the budget has no room for more.
    public func resize(to bytes: Int) -> Bool {
        let more = bytes - size.load(ordering: .relaxed)
        if more <= 0 {
            if more < 0 { budget.giveBack(-more) }
        } else if !budget.take(more) {
            return false
        }
        size.store(bytes, ordering: .relaxed)
        return true
    }

    /// The same for bytes that are there already, whatever the limit.
    func hold(_ bytes: Int) {
        let more = bytes - size.load(ordering: .relaxed)
        if more == 0 { return }
        if more < 0 { budget.giveBack(-more) } else { budget.charge(more) }
        size.store(bytes, ordering: .relaxed)
    }
}
