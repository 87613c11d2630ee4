import DiffClock
import DiffSessions
import SnapshotKit

/// A session as found in memory or a store, and its slot.
public struct SessionView: Sendable {
    public let slot: SessionSlot
    public let session: Session
    public let table: SessionTable
    /// Whether the session is known to be the head, rather than the last head that this process heard of.
    let isHead: Bool
    /// Blocks other loads until this session has been used, if it is large and was just read.
    public var share: MemoryShare?

    /// Nil if the session in the slot is gone or evicted.
    public init?(_ slot: SessionSlot, of table: SessionTable, isHead: Bool = true) {
        guard let session = table.session(in: slot) else { return nil }
        self.init(slot, session, of: table, isHead: isHead)
    }

    public init(
        _ slot: SessionSlot, _ session: Session, of table: SessionTable, isHead: Bool = true, share: MemoryShare? = nil
    ) {
        (self.slot, self.session, self.table, self.isHead, self.share) = (slot, session, table, isHead, share)
    }

    /// A view of the current session.
    public var renewed: SessionView? { SessionView(slot, of: table, isHead: isHead) }

    /// What to hold while waiting for a worker: nothing if the slot has the state. But one that was just read might be
    /// evicted again and again before it is used.
    public var pinned: SessionView? { share == nil && slot.revision == session.head.revision ? nil : self }

    public func resumePoint(_ revision: Revision) -> ResumePoint {
        session.resumePoint(revision, at: .now, bounds: table.bounds.history)
    }

    /// The cost of scanning the whole state `times` times.
    public func cost(times: Int = 1) -> WorkCost { .state(session.head.footprint, times: times) }
}
