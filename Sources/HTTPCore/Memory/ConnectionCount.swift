import Synchronization

/// How many connections of a server are open, or have left work behind that is not done. Cheap enough to read at each
/// request, from any thread.
public final class ConnectionCount: Sendable {
    private let open = Atomic<Int>(0)

    /// A count of zero.
    public init() {}

    /// Connections now.
    public var value: Int { open.load(ordering: .relaxed) }

    /// Counts one more until it is released.
    final class Place: Sendable {
        private let count: ConnectionCount

        init(in count: ConnectionCount) {
            self.count = count
            count.add()
        }

        deinit { count.subtract() }
    }

    func add() { open.add(1, ordering: .relaxed) }

    func subtract() { open.subtract(1, ordering: .relaxed) }
}
