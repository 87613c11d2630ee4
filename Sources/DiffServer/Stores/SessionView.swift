import SnapshotKit

/// A session as it was found, and its slot.
struct SessionView: Sendable {
    let slot: SessionSlot
    let session: Session
    let table: SessionTable
    /// Whether the session is known to be the head, and not just what was the head when this process last heard of it.
    let isHead: Bool
    /// Keeps others from being read until this one has been used, if it was just read and is large.
    var lease: RecordLease?

    /// Nil if the session in the slot is gone or away.
    init?(_ slot: SessionSlot, of table: SessionTable, isHead: Bool = true) {
        guard let session = table.session(in: slot) else { return nil }
        self.init(slot, session, of: table, isHead: isHead)
    }

    init(_ slot: SessionSlot, _ session: Session, of table: SessionTable, isHead: Bool = true) {
        (self.slot, self.session, self.table, self.isHead) = (slot, session, table, isHead)
    }

    /// The session that is in the slot now.
    var renewed: SessionView? { SessionView(slot, of: table, isHead: isHead) }

    /// What work has to hold that waits for a worker: nothing if the slot has the state, where it can be found again.
    /// But one that was just read may be evicted again and again before it is used.
    var held: SessionView? {
        lease == nil && slot.revision == session.head.revision ? nil : self
    }

    func resumePoint(_ revision: Revision) -> ResumePoint {
        session.resumePoint(revision, at: .now, bounds: table.bounds.history)
    }

    /// To read, compare or write a state with a larger footprint takes longer than a loop should be held up: about a
    /// millisecond.
    static let long = 512 * 1024

    /// Whether work on the whole state takes long.
    var isLong: Bool { isLong(passes: 1) }

    /// Whether so many passes over the whole state take long.
    func isLong(passes: Int) -> Bool { session.head.footprint * passes >= Self.long }
}
