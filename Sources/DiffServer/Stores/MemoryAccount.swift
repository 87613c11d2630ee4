// One account of all memory, by purpose. The other parts have limits of their own, which bound what clients can take;
// sessions have what is left. Known amounts are charged before they are allocated, so that room is made first: answers
// over their limit close the connections that hold the most (`BacklogRelief`); everything else evicts the least
// recently used sessions, and so, as the last net, does whatever the process takes beyond all that (`ExcessMemory`).
// The buffers of connections are not counted one by one, nor the holes that the allocator keeps; because of them the
// process may be a quarter larger.

import DiffClock

/// The memory of a process, in bytes.
public final class MemoryAccount: Sendable {
    /// What the process was given.
    public let limit: Int
    /// All parts except connections.
    private let parts = MemoryBudget()
    /// Bodies, until they are committed.
    public let incoming: MemoryBudget
    /// Objects made of large bodies, besides their bytes, until they are committed. Their own limit is enough.
    public let made: MemoryBudget
    /// Answers, until the kernel has taken them.
    public let outgoing: MemoryBudget
    /// Records on their way to or from a store: that of a commit; or one that was read, and the session made of it,
    /// until the requester has used it, since it may be evicted before a worker has time. No request may be refused
    /// because of them: a write was admitted already, and a read may be the first to ask. So they wait in order.
    /// Without this, a hundred requests for sessions of 12 MB brought a process with 64 MiB to 240 MiB.
    ///
    /// No holder of a share waits for others: a load waits for its store and a worker, a commit for its store.
    public let records: MemoryBudget
    /// What a store caches of its file.
    public let pages: MemoryBudget
    /// What readers' views show of the newest states, while there are such readers.
    public let views: MemoryBudget
    /// What the process takes beyond its due, see `ExcessMemory`.
    public let excess: MemoryBudget

    public let connections = ConnectionCount()
    /// The memory that each of them takes, in bytes.
    private let connection: Int

    /// Memory for any open connection: its objects, and a held request; and for a request that waits, even after its
    /// client has given up.
    public static let connection = 4096
    /// The same over TLS, with OpenSSL's objects.
    public static let secureConnection = 18 << 10
    /// Requests that may wait for workers, and as many for loads: an eighth of the memory is enough for all of them.
    public var maxWaiting: Int { max(256, limit / 8 / Self.connection) }

    /// An eighth of the memory for each direction, or two bodies of the largest size but at most a quarter, and at
    /// least 8 MiB; for bodies a fifteenth more, which incomplete ones leave to whole ones. An eighth for views. A
    /// sixteenth for records, except that one record may always pass.
    ///
    /// - Parameter connection: what an open connection takes.
    public init(limit: Int, maxBody: Int, connection: Int = connection) {
        (self.limit, self.connection) = (limit, connection)
        let messages = max(limit / 8, min(maxBody, limit / 8) * 2, 8 << 20)
        // And a record of TLS beside the largest body.
        let spared = messages / (MemoryBudget.sparedPart - 1) + 32 << 10
        incoming = MemoryBudget(limit: messages + spared, of: parts)
        outgoing = MemoryBudget(limit: messages, of: parts)
        records = MemoryBudget(limit: limit / 16, of: parts)
        views = MemoryBudget(limit: limit / 8, of: parts)
        (made, pages, excess) = (MemoryBudget(of: parts), MemoryBudget(of: parts), MemoryBudget(of: parts))
    }

    private var connectionBytes: Int { connections.recent * connection }

    /// What sessions may take now: the rest, and at least a quarter.
    var room: Int { limit - min(parts.inUse + connectionBytes, limit / 4 * 3) }

    /// What others have, in bytes, by purpose.
    public var figures: [(part: String, bytes: Int)] {
        [
            ("incoming", incoming.inUse), ("made", made.inUse), ("outgoing", outgoing.inUse),
            ("records", records.inUse + pages.inUse), ("views", views.inUse), ("excess", excess.inUse),
            ("connections", connectionBytes),
        ]
    }

    /// Sets an action for each further MiB taken by others.
    public func onGrowth(_ action: @escaping @Sendable () -> Void) { parts.onGrowth(action) }
}
