// Writes of one session are queued, each on the session that the previous one makes, although the store has not yet
// confirmed that. So many writers of one session share one fsync or one round trip; otherwise all but one of them would
// have to start again after each.
//
// A queued session is not the head: only writes are tried on it. If a write fails, those after it find that the version
// they follow is not in the store, and start again. Work that must not meet writes enters alone: SQLite reads a session
// that way, which ensures that what comes into memory is never older than what was written.

import DiffClock
import DiffSessions
import SnapshotKit

/// Writes on their way from the sessions in memory to those in a store.
public final class PendingWrites: Sendable {
    /// The session that a write has to follow.
    public enum Last {
        case session(Session)
        /// Not known before the queued writes are done.
        case unknown
        case gone
    }

    private struct WriteQueue {
        /// Nil if the session is being read or made.
        let slot: SessionSlot?
        /// The session after the last write; nil if nothing can follow that before it is done.
        var newest: Session?
        var entered = 1
        var left = 0
        var waiting: [(place: Int, resume: @Sendable () -> Void)] = []
    }

    private let queues = Locked<[String: WriteQueue]>([:])

    public init() {}

    // MARK: Looking

    /// The session on which a write can be tried; nil if nothing is under way, or nothing can follow it.
    public func newest(_ name: String) -> (slot: SessionSlot, session: Session)? {
        queues.withLock { queues in
            guard let queue = queues[name], let slot = queue.slot, let session = queue.newest else { return nil }
            return (slot, session)
        }
    }

    /// The same as a view, if the session is still in memory. Counts as use.
    public func expected(_ name: String, in table: SessionTable) -> SessionView? {
        guard let (slot, session) = newest(name), table.slot(name) === slot else { return nil }
        return SessionView(slot, session, of: table, isHead: false)
    }

    /// The session that a write to a session that was `read` must follow. It may have left memory since.
    public func last(of slot: SessionSlot, read: Session) -> Last {
        queues.withLock { queues in
            guard let queue = queues[slot.name] else {
                if let session = slot.session { return .session(session) }
                return slot.version == read.version ? .session(read) : .gone
            }
            guard let newest = queue.newest else { return .unknown }
            return queue.slot === slot ? .session(newest) : .gone
        }
    }

    // MARK: Queueing

    /// Enters alone, or calls `again` once all writes before it are done.
    ///
    /// - Returns: whether it has entered.
    public func enterAlone(_ name: String, again: @escaping @Sendable () -> Void) -> Bool {
        queues.withLock { queues in
            guard let place = queues[name]?.entered else {
                queues[name] = WriteQueue(slot: nil, newest: nil)
                return true
            }
            queues[name]?.waiting.append((place, again))
            return false
        }
    }

    /// Queues a write after the version it follows, unless another write was faster.
    ///
    /// - Parameters:
    ///   - next: the session that it makes; nil if it removes it.
    ///   - submit: hands it on within the lock, so that the order stays the same; must not call back.
    /// - Returns: whether it was queued.
    public func enter(_ slot: SessionSlot, behind version: UInt64, next: Session?, submit: () -> Void = {}) -> Bool {
        queues.withLock { queues in
            if let queue = queues[slot.name] {
                guard queue.slot === slot, queue.newest?.version == version else { return false }
                queues[slot.name]!.newest = next
                queues[slot.name]!.entered += 1
            } else {
                guard slot.version == version else { return false }
                queues[slot.name] = WriteQueue(slot: slot, newest: next)
            }
            submit()
            return true
        }
    }

    /// Calls back when all writes queued now are done; at once if there are none.
    public func afterQueued(of name: String, _ resume: @escaping @Sendable () -> Void) {
        let isFree = queues.withLock { queues in
            guard let place = queues[name]?.entered else { return true }
            queues[name]?.waiting.append((place, resume))
            return false
        }
        if isFree { resume() }
    }

    /// Removes the first write, which is done. After a failure nothing can follow until all are done.
    public func leave(_ name: String, _ result: Result<Void, StoreFailure>) {
        let ready = queues.withLock { queues -> [@Sendable () -> Void] in
            guard var queue = queues.removeValue(forKey: name) else { return [] }
            queue.left += 1
            // Most often nothing was queued meanwhile.
            if queue.left == queue.entered, queue.waiting.isEmpty { return [] }
            if case .failure = result { queue.newest = nil }
            let ready = queue.waiting.filter { $0.place <= queue.left }.map(\.resume)
            queue.waiting.removeAll { $0.place <= queue.left }
            if queue.left < queue.entered { queues[name] = queue }
            return ready
        }
        for resume in ready { resume() }
    }
}

/// A commit on its way to a store and into the table: one object from the decision to the answer.
public final class PendingCommit: Sendable {
    public let name: String
    /// The session that it follows, and its slot; nil if it makes one.
    public let slot: SessionSlot?
    public let before: Session?
    /// What to write.
    public let log: LogCommit
    /// What the table had of a session that the commit makes.
    private let known: SessionTable.Known?
    private let table: SessionTable
    /// Where it has entered, if it must leave.
    private let queue: PendingWrites?
    private let done: Completion<SessionSlot>

    /// - Parameters:
    ///   - id: of the new entry.
    ///   - known: what the table has of a session that the commit makes; nil for nothing, if nobody else can change
    ///     that.
    ///   - queue: the commit enters it before it is written, and leaves when it is done.
    ///   - hash: makes the checksum.
    public init(
        _ next: Session, named name: String, to slot: SessionSlot? = nil, after before: Session? = nil, id: UInt64,
        inPlaceOf known: SessionTable.Known? = nil, in table: SessionTable, _ queue: PendingWrites?,
        by hash: KeyedHash, _ done: @escaping Completion<SessionSlot>
    ) {
        (self.name, self.slot, self.before, self.known) = (name, slot, before, known)
        (self.table, self.queue, self.done) = (table, queue, done)
        log = LogCommit(next, after: before, id: id, revisions: table.bounds.history.revisions, by: hash)
    }

    /// The session as written, which goes into the table.
    public var session: Session { log.session }

    /// Takes the commit over into the table if the store has written it, and answers.
    public func finish(_ result: Result<Void, StoreFailure>) {
        let outcome = result.flatMap { adopted() }
        queue?.leave(name, result)
        done(outcome)
    }

    private func adopted() -> Result<SessionSlot, StoreFailure> {
        if let slot, let before {
            // This brings back a session that was evicted meanwhile. If the slot has changed otherwise, the next
            // request for the session loads it.
            _ = table.commit(session, to: slot, after: before)
            return .success(slot)
        }
        guard table.hasRoom(for: session) else { return .failure(.capacity) }
        table.counters.created()
        // Otherwise others have loaded, changed or deleted it by now. The next request asks the store.
        let slot = table.adopt(session, as: name, inPlaceOf: known) ?? table.peek(name)?.slot
        return .success(slot ?? SessionSlot(outsideOf: name, session))
    }
}

extension Session {
    /// Whether this was made from `before`; without a version only the revision has to be the same.
    public func follows(_ before: Session, at revision: Revision) -> Bool {
        before.head.revision == revision && (version == 0 || version == before.version)
    }
}
