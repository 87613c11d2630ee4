// Messages in flight are memory that no session owns. They have budgets of their own, which bound what clients can
// take, and what they use is not available to sessions: both together stay within `--memory`. States while they are
// rebuilt or written and the buffers of connections are not counted, nor the holes that the allocator keeps; because of
// them the process may be a quarter larger.

import HTTPCore

/// The memory of messages, in bytes.
package struct MessageMemory: Sendable {
    /// Bodies, until they are committed.
    package let incoming: MemoryBudget
    /// What is made of large bodies, beside their bytes, until it is committed. The limit of these is enough.
    let made = MemoryBudget()
    /// Answers, until the kernel has taken them.
    package let outgoing: MemoryBudget
    /// Records on their way to or from a store, see `RecordGate`.
    package let records: MemoryBudget
    /// What readers' views show of the newest states, while there are such readers.
    package let views: MemoryBudget
    /// What the process takes beyond what it should, see `ExcessMemory`. Sessions do without as much.
    package let excess = MemoryBudget()

    package let connections = ConnectionCount()

    /// What any open connection takes: its objects, and a held request.
    package static let connection = 4096

    /// An eighth of the memory for each direction, or two bodies of the largest size but at most a quarter, and at
    /// least 8 MiB. An eighth for views. A sixteenth for records, except that one record may always pass.
    package init(memory: Int, maxBody: Int) {
        let limit = max(memory / 8, min(maxBody, memory / 8) * 2, 8 << 20)
        incoming = MemoryBudget(limit: limit)
        outgoing = MemoryBudget(limit: limit)
        records = MemoryBudget(limit: memory / 16)
        views = MemoryBudget(limit: memory / 8)
    }

    /// The budgets by what they are for.
    private var parts: [(name: String, budget: MemoryBudget)] {
        [
            ("incoming", incoming), ("made", made), ("outgoing", outgoing), ("records", records), ("views", views),
            ("excess", excess),
        ]
    }

    /// Asked for by each commit, so without a list of the parts.
    package var inUse: Int {
        incoming.inUse + made.inUse + outgoing.inUse + records.inUse + views.inUse + excess.inUse + connectionBytes
    }

    private var connectionBytes: Int { connections.recent * Self.connection }

    /// What is in use, in bytes, by what it is for.
    var figures: [(part: String, bytes: Int)] {
        parts.map { ($0.name, $0.budget.inUse) } + [("connections", connectionBytes)]
    }

    /// Sets what is called when another MiB or more is in use.
    package func onGrowth(_ action: @escaping @Sendable () -> Void) {
        for (_, budget) in parts { budget.onGrowth(action) }
    }
}
