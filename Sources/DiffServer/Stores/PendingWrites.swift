// The writes of a session are queued, each on the session that the previous one makes, before the store has confirmed
// that one. So many writers share an fsync or a round trip. Only writes are tried on a queued session. If one fails,
// those after it start again. Work that must not overlap writes enters alone: SQLite reads sessions this way, so that
// memory never gets an older session than was written.
//
// A store that other processes write to also has turns: the writes of a session are decided one at a time. The holder
// of the turn also decides the writes that came meanwhile, so the turn rarely moves between threads. One loop, the
// carrier, sends the queue in order. When another process's write came first, the first failure takes the turn: the
// queue drains, the head is loaded once, and the overtaken writes are decided again, in order and before all others.

import DiffClock
import DiffSessions
import SnapshotKit

/// Writes on their way from memory to a store.
public final class PendingWrites: Sendable {
    /// The session that a write has to follow.
    public enum Last {
        case session(Session)
        /// Only known once the queued writes are done.
        case unknown
        case gone
    }

    /// What is under way for one session. Guarded by the lock of `queues`.
    private final class WriteQueue {
        /// Nil if the session is being read or created.
        var slot: SessionSlot?
        /// The session after the last write; nil if nothing can follow before that is done.
        var newest: Session?
        var entered = 0
        var left = 0
        var waiting: [(position: Int, resume: @Sendable () -> Void)] = []

        var isTaken = false
        /// Gets the turn first: it loads what another process has written.
        var recovery: (@Sendable () -> Void)?
        var overtaken = Queue<Decision>()
        var line = Queue<Decision>()
        /// Queues that failed in a row since the last successful write.
        var failures = 0
        /// Until when no other process writes, and what to do then, before anything else is decided.
        var reservation: (ends: Instant, renew: @Sendable () -> Void)?

        /// The executor that sends all writes, so that they stay in order.
        var carrier: (any WorkExecutor)?
        var isSending = false
        var unsent = Queue<PendingCommit>()

        var isUnderWay: Bool { left < entered }
        var isOver: Bool { !isUnderWay && !isTaken && !isSending && waiting.isEmpty && reservation == nil }
    }

    /// A write that waits for its turn; without a context, what must be done before any is decided.
    private typealias Decision = (context: (any TransactionContext)?, decide: @Sendable () -> Void)

    /// The most writes that a thread decides before it hands the rest over.
    private static let mostDecisions = 32

    private let queues = Locked<[String: WriteQueue]>([:])

    public init() {}

    // MARK: Looking

    /// The session to try a write on; nil if nothing is under way, or nothing can follow it.
    public func newest(_ name: String) -> (slot: SessionSlot, session: Session)? {
        queues.withLock { queues in
            guard let queue = queues[name], queue.isUnderWay, let slot = queue.slot, let session = queue.newest else {
                return nil
            }
            return (slot, session)
        }
    }

    /// The session to try a write on, as a view, if it is still in memory. Counts as use.
    public func expected(_ name: String, in table: SessionTable) -> SessionView? {
        guard let (slot, session) = newest(name), table.slot(name) === slot else { return nil }
        return SessionView(slot, session, of: table, isHead: false)
    }

    /// The session that must precede a write to a session that was `read`. It may have been evicted since.
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

    /// Enters alone, and returns true; or calls `again` once all earlier writes are done.
    public func enterAlone(_ name: String, again: @escaping @Sendable () -> Void) -> Bool {
        queues.withLock { queues in
            guard let queue = queues[name] else {
                Self.queue(name, in: &queues).entered = 1
                return true
            }
            queue.waiting.append((queue.entered, again))
            return false
        }
    }

    /// Queues a write after the version that it follows; false if another write came first.
    ///
    /// - Parameters:
    ///   - next: the session that the write makes; nil if it removes the session.
    ///   - submit: hands the write on, under the lock, so that the order is kept; must not call back.
    public func enter(_ slot: SessionSlot, behind version: UInt64, next: Session?, submit: () -> Void = {}) -> Bool {
        queues.withLock { queues in
            guard Self.enter(slot, behind: version, next, in: &queues) != nil else { return false }
            submit()
            return true
        }
    }

    private static func enter(
        _ slot: SessionSlot, behind version: UInt64, _ next: Session?, in queues: inout [String: WriteQueue]
    ) -> WriteQueue? {
        let known = queues[slot.name]
        if let known, known.isUnderWay {
            guard known.slot === slot, known.newest?.version == version else { return nil }
        } else {
            guard slot.version == version else { return nil }
        }
        let queue = known ?? Self.queue(slot.name, in: &queues)
        (queue.slot, queue.newest) = (slot, next)
        queue.entered += 1
        return queue
    }

    /// Calls back once all writes queued now are done; at once if there are none.
    public func afterQueued(of name: String, _ resume: @escaping @Sendable () -> Void) {
        let isFree = queues.withLock { queues in
            guard let queue = queues[name], queue.isUnderWay else { return true }
            queue.waiting.append((queue.entered, resume))
            return false
        }
        if isFree { resume() }
    }

    /// Removes the first write, which is done. After a failure nothing can be queued until all are.
    public func leave(_ name: String, _ result: Result<Void, StoreFailure>) {
        let ready = queues.withLock { queues -> [@Sendable () -> Void] in
            guard let queue = queues[name] else { return [] }
            queue.left += 1
            if case .failure = result { queue.newest = nil } else { queue.failures = 0 }
            let ready = queue.waiting.prefix { $0.position <= queue.left }.map(\.resume)
            queue.waiting.removeFirst(ready.count)
            if queue.isOver { queues[name] = nil }
            return ready
        }
        for resume in ready { resume() }
    }

    // MARK: Taking turns

    /// Takes the turn to decide on a write, if it is free. Whoever takes it must pass it on.
    public func takeTurn(_ name: String) -> Bool {
        queues.withLock { queues in
            let queue = Self.queue(name, in: &queues)
            // Writes in line take care of a reservation.
            return queue.reservation == nil && !exchange(&queue.isTaken, with: true)
        }
    }

    private static func queue(_ name: String, in queues: inout [String: WriteQueue]) -> WriteQueue {
        if let queue = queues[name] { return queue }
        let queue = WriteQueue()
        queues[name] = queue
        return queue
    }

    /// Calls `decide` once it has the turn, before all that were not queued yet if it is overtaken: on the thread that
    /// passes the turn on, or on a worker if the work is long.
    public func awaitTurn(
        of context: any TransactionContext, isOvertaken: Bool, _ decide: @escaping @Sendable () -> Void
    ) {
        let isFree = queues.withLock { queues in
            let queue = Self.queue(context.session, in: &queues)
            if isOvertaken { queue.overtaken.append((context, decide)) } else { queue.line.append((context, decide)) }
            return !exchange(&queue.isTaken, with: true)
        }
        if isFree { passTurn(context.session) }
    }

    /// Passes the turn on, and decides the writes that wait for it.
    public func passTurn(_ name: String) {
        var decided = 0
        while let (context, decide) = nextTurn(name) {
            guard let context else { return decide() }
            decided += 1
            let proceed = { @Sendable in
                decide()
                self.passTurn(name)
            }
            if context.cost.isLong { return context.runInTurn(proceed) }
            if decided > Self.mostDecisions { return context.executor.execute(proceed) }
            decide()
        }
    }

    private func nextTurn(_ name: String) -> Decision? {
        queues.withLock { queues in
            guard let queue = queues[name] else { return nil }
            if let recovery = queue.recovery.take() { return (nil, recovery) }
            if let reservation = queue.reservation, reservation.ends <= .now {
                queue.reservation = nil
                if !queue.overtaken.isEmpty || !queue.line.isEmpty { return (nil, reservation.renew) }
            }
            if let next = queue.overtaken.popFirst() ?? queue.line.popFirst() { return next }
            queue.isTaken = false
            if queue.isOver { queues[name] = nil }
            return nil
        }
    }

    /// Records that a queued write has failed. After the first failure nothing can be queued until all writes are done;
    /// then `recover`, which gets the number of queues that failed in a row, has the turn, and must pass it on.
    public func breakOff(_ name: String, recover: @escaping @Sendable (_ failures: Int) -> Void) {
        let isFree = queues.withLock { queues in
            guard let queue = queues[name], queue.newest.take() != nil else { return false }
            queue.failures += 1
            queue.reservation = nil
            queue.recovery = { [self, failures = queue.failures] in afterQueued(of: name) { recover(failures) } }
            return !exchange(&queue.isTaken, with: true)
        }
        if isFree { passTurn(name) }
    }

    /// Records that no other process writes until `end`. Writes after that wait until the queued ones are done and
    /// `renew`, which gets the turn then, has passed it on. Only for the holder of the turn.
    public func reserve(_ name: String, until end: Instant, renew: @escaping @Sendable () -> Void) {
        queues.withLock { queues in
            queues[name]?.reservation = (end, { [self] in afterQueued(of: name, renew) })
        }
    }

    /// Drops reservations that ended unused. O(sessions with writes under way).
    public func sweep() {
        queues.withLock { queues in
            for (name, queue) in queues where !queue.isTaken && queue.reservation.map({ $0.ends <= .now }) == true {
                queue.reservation = nil
                if queue.isOver { queues[name] = nil }
            }
        }
    }

    // MARK: Sending

    /// Queues a commit after the version that it follows, unless another came first. Only for the holder of the turn.
    ///
    /// - Parameter executor: becomes the carrier if nothing is queued.
    /// - Returns: whether it was queued; and the carrier, if it is idle and must be given the commit.
    public func enter(
        _ commit: PendingCommit, to slot: SessionSlot, behind version: UInt64, on executor: any WorkExecutor
    ) -> (isQueued: Bool, carrier: (any WorkExecutor)?) {
        queues.withLock { queues in
            guard let queue = Self.enter(slot, behind: version, commit.session, in: &queues) else {
                return (false, nil)
            }
            if queue.entered == queue.left + 1, !queue.isSending { queue.carrier = executor }
            guard exchange(&queue.isSending, with: true) else { return (true, queue.carrier) }
            queue.unsent.append(commit)
            return (true, nil)
        }
    }

    /// The next commit to send, and whether one before it has failed; nil if all are sent: the carrier is then idle.
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
    /// The session that the commit follows, and its slot; nil if the commit creates the session.
    public let slot: SessionSlot?
    public let before: Session?
    public let log: LogCommit
    private let known: SessionTable.Known?
    private let table: SessionTable
    private let queue: PendingWrites?
    private let done: Completion<SessionSlot>

    /// - Parameters:
    ///   - id: the id of the new log entry.
    ///   - known: what the table has under the name of a session that the commit creates; nil for nothing, if no one
    ///     else can change that.
    ///   - queue: entered before the commit is written, and left when it is done; nil if none is.
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

    public var session: Session { log.session }

    /// Adopts the commit in the table if the store has written it, and answers.
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
        table.counters.creations.wrappingAdd(1, ordering: .relaxed)
        // If this fails, the session was loaded, changed or deleted meanwhile. The next request asks the store.
        let slot = table.adopt(session, as: name, inPlaceOf: known) ?? table.peek(name)?.slot
        return .success(slot ?? SessionSlot(outsideOf: name, session))
    }
}

extension Session {
    /// Whether this session was made from `before`; without a version only the revision has to match.
    public func follows(_ before: Session, at revision: Revision) -> Bool {
        before.head.revision == revision && (version == 0 || version == before.version)
    }
}
