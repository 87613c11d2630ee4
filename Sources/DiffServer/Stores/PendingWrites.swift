// Writes of one session are queued, each on the session that the previous one makes, although the store has not yet
// confirmed that. So many writers of one session share one fsync or one round trip; otherwise all but one of them would
// have to start again after each.
//
// A queued session is not the head: only writes are tried on it. If a write fails, those after it find that the version
// they follow is not in the store, and start again. Work that must not meet writes enters alone: SQLite reads a session
// that way, which ensures that what comes into memory is never older than what was written.
//
// A store that other processes write to also has turns: one write of a session is decided at a time, whatever loop or
// worker it came to, so no write here overtakes another. Whoever has the turn decides those that came meanwhile as
// well, so it seldom passes between threads. The queue is sent in its order by one loop, its carrier. When another
// process was faster, the first failure takes the turn: the queue drains, the head is loaded once, and the writes that
// were overtaken are decided anew, in their order and before any other.

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

    /// What is under way for one session. Guarded by the lock.
    private final class WriteQueue {
        /// Nil if the session is being read or made.
        var slot: SessionSlot?
        /// The session after the last write; nil if nothing can follow that before it is done.
        var newest: Session?
        var entered = 0
        var left = 0
        var waiting: [(place: Int, resume: @Sendable () -> Void)] = []

        /// Whether somebody has the turn.
        var isTaken = false
        /// Gets the turn first: it finds out what another process has written.
        var recovery: (@Sendable () -> Void)?
        var overtaken = Queue<Decision>()
        var line = Queue<Decision>()
        /// Queues that failed since the last write that succeeded.
        var failures = 0
        /// Until when no other process writes, and what to do then, before anything else is decided.
        var reservation: (ends: Instant, renew: @Sendable () -> Void)?

        /// Sends all writes, so that they stay in order.
        var carrier: (any WorkExecutor)?
        var isSending = false
        var unsent = Queue<PendingCommit>()

        var isUnderWay: Bool { left < entered }
        var isOver: Bool { !isUnderWay && !isTaken && !isSending && waiting.isEmpty && reservation == nil }
    }

    /// A write that waits for its turn.
    private struct Decision: Sendable {
        let context: any TransactionContext
        let decide: @Sendable () -> Void
    }

    private enum Turn {
        case recovery(@Sendable () -> Void)
        case decision(Decision)
    }

    /// How many writes one thread decides before it leaves the rest to others.
    private static let mostDecisions = 32

    private let queues = Locked<[String: WriteQueue]>([:])

    public init() {}

    // MARK: Looking

    /// The session on which a write can be tried; nil if nothing is under way, or nothing can follow it.
    public func newest(_ name: String) -> (slot: SessionSlot, session: Session)? {
        queues.withLock { queues in
            guard let queue = queues[name], queue.isUnderWay, let slot = queue.slot, let session = queue.newest else {
                return nil
            }
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
            guard let queue = queues[slot.name], queue.isUnderWay else {
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
            guard let queue = queues[name] else {
                let queue = WriteQueue()
                queue.entered = 1
                queues[name] = queue
                return true
            }
            queue.waiting.append((queue.entered, again))
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
            let queue = queues[slot.name]
            guard Self.follows(slot, version, in: queue) else { return false }
            Self.enter(slot, next, queue, in: &queues)
            submit()
            return true
        }
    }

    private static func follows(_ slot: SessionSlot, _ version: UInt64, in queue: WriteQueue?) -> Bool {
        guard let queue, queue.isUnderWay else { return slot.version == version }
        return queue.slot === slot && queue.newest?.version == version
    }

    @discardableResult
    private static func enter(
        _ slot: SessionSlot, _ next: Session?, _ queue: WriteQueue?, in queues: inout [String: WriteQueue]
    ) -> WriteQueue {
        let entered = queue ?? WriteQueue()
        if queue == nil { queues[slot.name] = entered }
        (entered.slot, entered.newest) = (slot, next)
        entered.entered += 1
        return entered
    }

    /// Calls back when all writes queued now are done; at once if there are none.
    public func afterQueued(of name: String, _ resume: @escaping @Sendable () -> Void) {
        let isFree = queues.withLock { queues in
            guard let queue = queues[name], queue.isUnderWay else { return true }
            queue.waiting.append((queue.entered, resume))
            return false
        }
        if isFree { resume() }
    }

    /// Removes the first write, which is done. After a failure nothing can follow until all are done.
    public func leave(_ name: String, _ result: Result<Void, StoreFailure>) {
        let ready = queues.withLock { queues -> [@Sendable () -> Void] in
            guard let queue = queues[name] else { return [] }
            queue.left += 1
            if case .failure = result { queue.newest = nil } else { queue.failures = 0 }
            let ready = queue.waiting.isEmpty ? [] : queue.waiting.filter { $0.place <= queue.left }.map(\.resume)
            queue.waiting.removeAll { $0.place <= queue.left }
            if queue.isOver { queues[name] = nil }
            return ready
        }
        for resume in ready { resume() }
    }

    // MARK: Taking turns

    /// Takes the turn to decide on a write, unless somebody has it. Whoever has it passes it on.
    public func takeTurn(_ name: String) -> Bool {
        queues.withLock { queues in
            let queue = Self.queue(name, in: &queues)
            // Whoever is in line sees to a reservation.
            return queue.reservation == nil && !exchange(&queue.isTaken, with: true)
        }
    }

    private static func queue(_ name: String, in queues: inout [String: WriteQueue]) -> WriteQueue {
        if let queue = queues[name] { return queue }
        let queue = WriteQueue()
        queues[name] = queue
        return queue
    }

    /// Calls `decide` once it has the turn: on whatever thread passes that on, or on a worker if the work is long.
    ///
    /// - Parameter isOvertaken: whether it was queued before; then it comes before those that were not.
    public func awaitTurn(
        of context: any TransactionContext, isOvertaken: Bool, _ decide: @escaping @Sendable () -> Void
    ) {
        let isFree = queues.withLock { queues in
            let queue = Self.queue(context.session, in: &queues)
            let decision = Decision(context: context, decide: decide)
            if isOvertaken { queue.overtaken.append(decision) } else { queue.line.append(decision) }
            return !exchange(&queue.isTaken, with: true)
        }
        if isFree { passTurn(context.session) }
    }

    /// Passes the turn on, and decides what waits for it.
    public func passTurn(_ name: String) {
        var decided = 0
        while let next = nextTurn(name) {
            switch next {
            case .recovery(let recover): return recover()
            case .decision(let next):
                decided += 1
                let proceed = { @Sendable in
                    next.decide()
                    self.passTurn(name)
                }
                if next.context.cost.isLong { return next.context.runInTurn(proceed) }
                if decided > Self.mostDecisions { return next.context.executor.execute(proceed) }
                next.decide()
            }
        }
    }

    private func nextTurn(_ name: String) -> Turn? {
        queues.withLock { queues in
            guard let queue = queues[name] else { return nil }
            if let recovery = queue.recovery.take() { return .recovery(recovery) }
            if let reservation = queue.reservation, reservation.ends <= .now {
                queue.reservation = nil
                if !queue.overtaken.isEmpty || !queue.line.isEmpty { return .recovery(reservation.renew) }
            }
            if let next = queue.overtaken.popFirst() ?? queue.line.popFirst() { return .decision(next) }
            queue.isTaken = false
            if queue.isOver { queues[name] = nil }
            return nil
        }
    }

    /// Notes that a queued write has failed. After the first, nothing follows until all are done; then `recover` has
    /// the turn, and must pass it on.
    ///
    /// - Parameter recover: is told how many queues have failed in a row, this one included.
    public func breakOff(_ name: String, recover: @escaping @Sendable (_ failures: Int) -> Void) {
        let isFree = queues.withLock { queues in
            guard let queue = queues[name], queue.newest.take() != nil else { return false }
            queue.failures += 1
            queue.reservation = nil
            queue.recovery = { [self, failures = queue.failures] in
                afterQueued(of: name) { recover(failures) }
            }
            return !exchange(&queue.isTaken, with: true)
        }
        if isFree { passTurn(name) }
    }

    /// Notes that no other process writes until `end`. What comes later waits until the queued writes are done and
    /// `renew`, which has the turn then, has passed it on. For whoever has the turn.
    public func reserve(_ name: String, until end: Instant, renew: @escaping @Sendable () -> Void) {
        queues.withLock { queues in
            queues[name]?.reservation = (end, { [self] in afterQueued(of: name, renew) })
        }
    }

    /// Forgets reservations that have ended unused. O(sessions with writes under way).
    public func sweep() {
        queues.withLock { queues in
            for (name, queue) in queues where !queue.isTaken && queue.reservation.map({ $0.ends <= .now }) == true {
                queue.reservation = nil
                if queue.isOver { queues[name] = nil }
            }
        }
    }

    // MARK: Sending

    /// Queues a commit after the version it follows, unless another write was faster. For whoever has the turn.
    ///
    /// - Parameter executor: becomes the carrier if nothing is queued.
    /// - Returns: whether it was queued; and the carrier, if that is not sending, so that it must be given the commit.
    public func enter(
        _ commit: PendingCommit, to slot: SessionSlot, behind version: UInt64, on executor: any WorkExecutor
    ) -> (isQueued: Bool, carrier: (any WorkExecutor)?) {
        queues.withLock { queues in
            let queue = queues[slot.name]
            guard Self.follows(slot, version, in: queue) else { return (false, nil) }
            let isIdle = queue.map { !$0.isUnderWay && !$0.isSending } ?? true
            let entered = Self.enter(slot, commit.session, queue, in: &queues)
            if isIdle { entered.carrier = executor }
            guard exchange(&entered.isSending, with: true) else { return (true, entered.carrier) }
            entered.unsent.append(commit)
            return (true, nil)
        }
    }

    /// The next commit to send, and whether it follows one that has failed; nil if all are sent, and the carrier rests.
    public func nextUnsent(_ name: String) -> (commit: PendingCommit, isVain: Bool)? {
        queues.withLock { queues in
            guard let queue = queues[name] else { return nil }
            if let commit = queue.unsent.popFirst() { return (commit, queue.newest == nil) }
            queue.isSending = false
            if queue.isOver { queues[name] = nil }
            return nil
        }
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
            table.took(session, in: slot, after: before)
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
