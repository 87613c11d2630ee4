import SnapshotKit

/// A session as somebody found it, and where.
struct SessionView: Sendable {
    let slot: SessionSlot
    let session: Session
    let table: SessionTable
    /// Whether the session is the head, not just what was the head when this process last heard of it.
    let isHead: Bool

    /// Nil if the session in the slot is gone or away.
    init?(_ slot: SessionSlot, of table: SessionTable, isHead: Bool = true) {
        guard let session = table.session(in: slot) else { return nil }
        self.init(slot, session, of: table, isHead: isHead)
    }

    init(_ slot: SessionSlot, _ session: Session, of table: SessionTable, isHead: Bool = true) {
        (self.slot, self.session, self.table, self.isHead) = (slot, session, table, isHead)
    }

    /// The session as it is in the slot now.
    var renewed: SessionView? { SessionView(slot, of: table, isHead: isHead) }

    /// What a reader's revision stands for.
    func resumePoint(_ revision: Revision) -> ResumePoint {
        session.resumePoint(revision, at: .now, bounds: table.bounds.history)
    }

    /// From this footprint on a session's state takes longer to read, compare or write than its loop should be held up:
    /// about a millisecond.
    static let long = 512 * 1024

    /// Whether what is done with the whole state takes long.
    var isLong: Bool { isLong(passes: 1) }

    /// The same where that is done so many times.
    func isLong(passes: Int) -> Bool { session.head.footprint * passes >= Self.long }
}
