// A record on its way to or from a store takes memory that belongs to no session and no message: the record of a
// commit, the record that was read, and the session while it is made of that. No request may be refused because of it:
// a write was admitted already, and a read may be the first to ask. So records wait in order. Without this, a hundred
// requests for sessions of 12 MB brought a process with 64 MiB to 240 MiB.
//
// A session that was read stays inside until who asked for it has used it: it may be evicted before a worker has time
// for it. Nobody inside waits for anybody outside: a load inside waits for its store and a worker, a commit only for
// Redis. So one gate serves both.

import DiffClock

/// A weighted semaphore for bytes of records, whose waiters are called back in order.
///
/// The bytes inside are charged to a budget, which sessions cannot use meanwhile. A record that is larger than the gate
/// goes through alone.
public final class RecordGate: Sendable {
    private struct State {
        var inside = 0
        var waiting = Queue<Waiter>()
        /// Whether a call of `leave` is admitting waiters.
        var isOpening = false
    }

    private struct Waiter {
        let bytes: Int
        let goOn: @Sendable () -> Void
    }

    private let budget: MemoryBudget
    private let state = Locked(State())

    /// A gate as wide as the limit of a budget, which may have other users.
    public init(_ budget: MemoryBudget) { self.budget = budget }

    /// Bytes inside, and the number of waiters.
    var load: (inside: Int, waiting: Int) { state.withLock { ($0.inside, $0.waiting.count) } }

    /// Calls back once there is room: at once, or on the thread of a call of `leave`, which must not be held up. Then
    /// `leave` has to be called with as many bytes.
    public func enter(_ bytes: Int, _ goOn: @escaping @Sendable () -> Void) {
        let isIn = state.withLock { state in
            guard state.waiting.isEmpty, fits(bytes, state) else {
                state.waiting.append(Waiter(bytes: bytes, goOn: goOn))
                return false
            }
            state.inside += bytes
            return true
        }
        guard isIn else { return }
        budget.charge(bytes)
        goOn()
    }

    /// Adds bytes to those that have entered, whether or not there is room.
    public func add(_ bytes: Int) {
        state.withLock { $0.inside += bytes }
        budget.charge(bytes)
    }

    /// Makes room, and admits waiters.
    public func leave(_ bytes: Int) {
        budget.release(bytes)
        // A waiter may leave before its call returns. One loop calls them all, since thousands that fail one after the
        // other would recurse too deeply.
        let isFirst = state.withLock { state in
            state.inside -= bytes
            return !exchange(&state.isOpening, with: true)
        }
        guard isFirst else { return }
        while let next = next() {
            budget.charge(next.bytes)
            next.goOn()
        }
    }

    private func next() -> Waiter? {
        state.withLock { state in
            guard let first = state.waiting.first, fits(first.bytes, state) else {
                state.isOpening = false
                return nil
            }
            state.inside += first.bytes
            return state.waiting.popFirst()
        }
    }

    private func fits(_ bytes: Int, _ state: State) -> Bool {
        state.inside == 0 || state.inside + bytes <= budget.limit
    }
}

/// What is inside a gate until the last reference to this is released.
public final class RecordLease: Sendable {
    private let gate: RecordGate
    private let bytes: Int

    /// - Parameter bytes: all that have entered.
    public init(of gate: RecordGate, _ bytes: Int) { (self.gate, self.bytes) = (gate, bytes) }

    deinit { gate.leave(bytes) }
}
