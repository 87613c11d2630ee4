// The parts have limits of their own; sessions get what is left. Known amounts are charged before they are allocated,
// so that room is made first: answers over their limit close the connections that hold the most (`OutputBufferLimit`);
// everything else evicts the least recently used sessions, and as a last resort, so does all memory of the process
// beyond that (`ExcessMemory`). Buffers of connections and fragmentation are not counted; for these the process may be
// a quarter larger.

import DiffClock

/// One account of all memory of a process, by purpose, in bytes.
public final class MemoryAccount: Sendable {
    public let limit: Int
    /// All parts except connections.
    private let parts = MemoryBudget()
    /// Request bodies, until they are committed.
    public let incoming: MemoryBudget
    /// Objects made from large bodies, besides the bytes, until they are committed. The limit per body is enough.
    public let made: MemoryBudget
    /// Answers, until the kernel has taken them.
    public let outgoing: MemoryBudget
    /// Records on their way to or from a store: that of a commit; or one that was read, and the session made from it,
    /// until the request has used it, since it may be evicted before a worker is free. No request may be refused
    /// because of records, so they wait in order; no holder of a share waits for others. Without this, a hundred
    /// requests for sessions of 12 MB brought a process with 64 MiB to 240 MiB.
    public let records: MemoryBudget
    /// What a store caches of its file.
    public let pages: MemoryBudget
    /// What readers' views show of the newest states, while there are such readers.
    public let views: MemoryBudget
    /// Memory of the process beyond this account, see `ExcessMemory`.
    public let excess: MemoryBudget

    public let connections = ConnectionCount()
    private let connection: Int

    /// Memory for any open connection: its objects and a held request; or for a request that waits without one.
    public static let connection = 4096
    /// Memory for a connection over TLS, with OpenSSL's objects.
    public static let secureConnection = 18 << 10
    /// How many requests may wait for workers, and as many for loads: an eighth of the memory suffices for all of them.
    public var maxWaiting: Int { max(256, limit / 8 / Self.connection) }

    /// Messages get an eighth of the memory in each direction, or two bodies of the largest size but at most a quarter,
    /// and at least 8 MiB; bodies get a fifteenth more, which incomplete ones leave to whole ones. Views get an eighth.
    /// Records get a sixteenth, but one record may always pass.
    public init(limit: Int, maxBody: Int, connection: Int = connection) {
        (self.limit, self.connection) = (limit, connection)
        let messages = max(limit / 8, min(maxBody, limit / 8) * 2, 8 << 20)
        // Also room for a TLS record beside the largest body.
        let spared = messages / (MemoryBudget.sparedPart - 1) + 32 << 10
        incoming = MemoryBudget(limit: messages + spared, of: parts)
        outgoing = MemoryBudget(limit: messages, of: parts)
        records = MemoryBudget(limit: limit / 16, of: parts)
        views = MemoryBudget(limit: limit / 8, of: parts)
        (made, pages, excess) = (MemoryBudget(of: parts), MemoryBudget(of: parts), MemoryBudget(of: parts))
    }

    private var connectionBytes: Int { connections.recent * connection }

    /// What sessions may take now: the rest, but at least a quarter.
    var room: Int { limit - min(parts.inUse + connectionBytes, limit / 4 * 3) }

    /// The bytes in use by everything but sessions.
    public var figures: [(part: String, bytes: Int)] {
        [
            ("incoming", incoming.inUse), ("made", made.inUse), ("outgoing", outgoing.inUse),
            ("records", records.inUse + pages.inUse), ("views", views.inUse), ("excess", excess.inUse),
            ("connections", connectionBytes),
        ]
    }

    /// Sets an action to be run for each further MiB in use by the parts.
    public func onGrowth(_ action: @escaping @Sendable () -> Void) { parts.onGrowth(action) }
}
