import Synchronization

/// How many connections of a server are open, for whoever wants to know it at each request. Any thread may look.
public final class ConnectionCount: Sendable {
    private let open = Atomic<Int>(0)

    /// None, until a server counts here.
    public init() {}

    /// Connections open now.
    public var value: Int { open.load(ordering: .relaxed) }

    func add() { open.add(1, ordering: .relaxed) }

    func subtract() { open.subtract(1, ordering: .relaxed) }
}
