// Writes of one session are queued, each upon what the one before it makes of the session, though the store has not
// said yet that it came to that. So many writers of one session share one fsync or one round trip, where else all but
// one of them would have to begin again behind each.
//
// What is queued is nobody's head: only writes are tried on it. If a write fails, those behind it find in the store
// that the version they stood on is not there, and begin again on what is. Who must not meet writes is queued alone:
// SQLite lets in so who reads a session, so that what comes into memory is never older than what was written.

import HTTPCore
import SnapshotKit

/// What is under way between the sessions in memory and those in a store.
final class PendingWrites: Sendable {
    /// What a write has to stand on.
    enum Last {
        case session(Session)
        /// Not known before those that are queued are done.
        case unknown
        case gone
    }

    private struct WriteQueue {
        /// Nil where the session is read or made.
        let slot: SessionSlot?
        /// What the last one makes of the session; nil if nothing can follow that before it is done.
        var newest: Session?
        var entered = 1
        var left = 0
        var waiting: [(place: Int, goOn: @Sendable () -> Void)] = []
    }

    private let queues = Locked<[String: WriteQueue]>([:])

    // MARK: Looking

    /// What a write can be tried on; nil if nothing is under way, or nothing can follow it.
    func newest(_ name: String) -> (slot: SessionSlot, session: Session)? {
        queues.withLock { queues in
            guard let queue = queues[name], let slot = queue.slot, let session = queue.newest else { return nil }
            return (slot, session)
        }
    }

    /// What a write to a session that was read has to stand on. The session may have left memory since.
    func last(of slot: SessionSlot, read: Session) -> Last {
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

    /// Lets in what must be alone with its session; else that is called again when those before it are done.
    func enterAlone(_ name: String, again: @escaping @Sendable () -> Void) -> Bool {
        queues.withLock { queues in
            guard let place = queues[name]?.entered else {
                queues[name] = WriteQueue(slot: nil, newest: nil)
                return true
            }
            queues[name]?.waiting.append((place, again))
            return false
        }
    }

    /// Lets a write in behind the version that it stands on, unless another was faster.
    ///
    /// - Parameter next: what it makes of the session; nil if it takes that away.
    /// - Parameter submit: hands it on, within the lock, so that the order is the same there; must not come back.
    func enter(_ slot: SessionSlot, behind version: UInt64, next: Session?, submit: () -> Void = {}) -> Bool {
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

    /// Calls when those that are queued now are done; at once if there are none.
    func afterThose(of name: String, _ goOn: @escaping @Sendable () -> Void) {
        let isFree = queues.withLock { queues in
            guard let place = queues[name]?.entered else { return true }
            queues[name]?.waiting.append((place, goOn))
            return false
        }
        if isFree { goOn() }
    }

    /// The first one is done; behind a failure nothing can follow before all are.
    func leave(_ name: String, _ result: Result<Void, StoreFailure>) {
        let ready = queues.withLock { queues -> [@Sendable () -> Void] in
            guard var queue = queues.removeValue(forKey: name) else { return [] }
            queue.left += 1
            if case .failure = result { queue.newest = nil }
            let ready = queue.waiting.filter { $0.place <= queue.left }.map(\.goOn)
            queue.waiting.removeAll { $0.place <= queue.left }
            if queue.left < queue.entered { queues[name] = queue }
            return ready
        }
        for goOn in ready { goOn() }
    }
}

extension Session {
    /// The same under a version of its own.
    func renamed() -> Session { with(version: .random(in: 1 ... .max)) }

    /// Whether this was made of `before`; one that was made of no version in a store only has to be at the same
    /// revision.
    func follows(_ before: Session, at revision: Revision) -> Bool {
        before.head.revision == revision && (version == 0 || version == before.version)
    }
}
