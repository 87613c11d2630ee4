import Synchronization

/// How many connections of a server are open. Cheap enough to read at each request, from any thread.
public final class ConnectionCount: Sendable {
    private let open = Atomic<Int>(0)

    /// A count of zero.
    public init() {}

    /// Connections open now.
    public var value: Int { open.load(ordering: .relaxed) }

    func add() { open.add(1, ordering: .relaxed) }

    func subtract() { open.subtract(1, ordering: .relaxed) }
}
