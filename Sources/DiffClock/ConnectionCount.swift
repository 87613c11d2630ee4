import Synchronization

/// How many connections of a server are open, or have left unfinished work behind. From any thread.
public final class ConnectionCount: Sendable {
    private let open = Atomic<Int>(0)
    private let latest = Atomic<Int>(0)

    /// A count of zero.
    public init() {}

    /// Connections now.
    public var value: Int { open.load(ordering: .relaxed) }

    /// The recent peak as sampled by `age`: the allocator may still have that many connections' memory.
    public var recent: Int { max(value, latest.load(ordering: .relaxed)) }

    /// Lets `recent` forget an eighth. Only one thread may call.
    public func age() { latest.store(max(value, recent / 8 * 7), ordering: .relaxed) }

    /// Counts one more.
    public func add() { open.add(1, ordering: .relaxed) }

    /// Counts one less.
    public func subtract() { open.subtract(1, ordering: .relaxed) }
}
