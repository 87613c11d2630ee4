// A record on its way to or from a store is memory that no session and no message owns: what is written for a commit,
// what was read for a session, and the session while it is made of that. Nobody may be refused for it: whoever writes
// has been let in already, and who reads may well be the first to ask. So they wait, in their order, until those before
// them are through. A hundred requests for sessions of 12 MB brought a process with 64 MiB to 240 MiB without this.
//
// Who is inside waits for nobody who is not: a load that is inside asks Redis and a worker, a commit Redis alone. So
// one gate does for both.

import HTTPCore

/// Lets so many bytes of records through at once; those that find no room wait for their turn. A weighted semaphore
/// whose waiters are called back.
///
/// What is inside is counted in a budget, and so is room that sessions do not have meanwhile. One that is larger than
/// the gate goes through alone.
final class RecordGate: Sendable {
    private struct State {
        var inside = 0
        var waiting = Queue<Waiter>()
        /// Whether somebody is letting in those who wait.
        var isOpening = false
    }

    private struct Waiter {
        let bytes: Int
        let goOn: @Sendable () -> Void
    }

    private let budget: MemoryBudget
    private let state = Locked(State())

    /// A gate as wide as the limit of a budget, which others may count in too.
    init(_ budget: MemoryBudget) { self.budget = budget }

    /// Bytes inside, and how many wait.
    var load: (inside: Int, waiting: Int) { state.withLock { ($0.inside, $0.waiting.count) } }

    /// Calls back once there is room: at once, or on the thread of one who leaves, which must not be held up. Whoever
    /// was let in has to `leave` with as many bytes.
    func enter(_ bytes: Int, _ goOn: @escaping @Sendable () -> Void) {
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

    /// Makes room for those who wait.
    func leave(_ bytes: Int) {
        budget.giveBack(bytes)
        // Who is let in may leave before it returns: one loop calls them all, else thousands that fail one after the
        // other would call each other.
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
