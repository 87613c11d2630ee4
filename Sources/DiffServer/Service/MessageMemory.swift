// Messages on their way are memory that no session owns. They have budgets of their own, so that no number of clients
// can take more than that, and what they use is room that sessions do not have: so all of it together is what
// `--memory` says. A state that is parsed, and one connection's buffers, are counted by nobody; they are why the
// process may be a quarter larger.

import HTTPCore

/// The memory that messages take beside the sessions, in bytes.
struct MessageMemory: Sendable {
    /// Bodies, until what they say is committed.
    let incoming: MemoryBudget
    /// Answers, until their readers have them.
    let outgoing: MemoryBudget
    /// Records on their way to a store or from it, see `RecordGate`.
    let records: MemoryBudget
    /// What readers' views show of the newest states, for as long as somebody reads through them.
    let views: MemoryBudget

    /// The connections that are open.
    let connections = ConnectionCount()

    /// Of an open connection, whatever it is at: its objects, and a request that is held.
    private static let connection = 4096

    /// An eighth of the memory for each way, or else two bodies of the largest size, though no more than a quarter; but
    /// 8 MiB at least. An eighth for views, and a sixteenth for records, of which the first is let through however
    /// large it is.
    init(memory: Int, maxBody: Int) {
        let limit = max(memory / 8, min(maxBody, memory / 8) * 2, 8 << 20)
        incoming = MemoryBudget(limit: limit)
        outgoing = MemoryBudget(limit: limit)
        records = MemoryBudget(limit: memory / 16)
        views = MemoryBudget(limit: memory / 8)
    }

    /// Bytes in use now.
    var inUse: Int {
        incoming.inUse + outgoing.inUse + records.inUse + views.inUse + connections.value * Self.connection
    }

    /// Sets what is called where another MiB or more is in use.
    func onGrowth(_ action: @escaping @Sendable () -> Void) {
        incoming.onGrowth(action)
        outgoing.onGrowth(action)
        records.onGrowth(action)
        views.onGrowth(action)
    }
}
