// Answers that wait for slow readers are memory. Where they are more than may wait, those who hold most of it go first, whichever loop they are
// on: a reader of small answers never pays for one who took many large ones and reads none. As Redis closes a client at its output buffer limit,
// but with one limit for all, since many connections with little each are as bad as one with much.

import Synchronization

/// Closes the connections on which most waits, until the answers that wait fit their budget.
///
/// A pass asks each loop what waits there, picks the largest, and has their loops close them. What several connections send is only free
/// once all of them have gone, so the pass is repeated while there is too much.
final class BacklogRelief: Sendable {
    private let budget: MemoryBudget
    private let shards = Locked<[Shard]>([])
    private let isUnderWay = Atomic<Bool>(false)

    /// A connection on which something waits. It is found again by its descriptor: the object stays on its loop.
    private struct Holder: Sendable {
        let shard: Shard
        let descriptor: Int32
        let bytes: Int
    }

    init(budget: MemoryBudget) { self.budget = budget }

    /// Sets the loops, once they are there.
    func cover(_ all: [Shard]) { shards.withLock { $0 = all } }

    /// Begins a pass, unless one is under way. From any thread.
    func begin() {
        guard !isUnderWay.exchange(true, ordering: .relaxed) else { return }
        pass()
    }

    private func pass() {
        let all = shards.withLock { $0 }
        guard budget.isExceeded, !all.isEmpty else { return isUnderWay.store(false, ordering: .relaxed) }
        gather(from: all) { [self] holders in
            var excess = budget.inUse - budget.limit
            let largest = holders.sorted { $0.bytes > $1.bytes }.prefix { holder in
                defer { excess -= holder.bytes }
                return excess > 0
            }
            guard !largest.isEmpty else { return isUnderWay.store(false, ordering: .relaxed) }
            let remaining = Locked(largest.count)
            for holder in largest {
                holder.shard.loop.execute { [self] in
                    holder.shard.close(holdingMost: holder.descriptor)
                    let isLast = remaining.withLock { count in
                        count -= 1
                        return count == 0
                    }
                    if isLast { pass() }
                }
            }
        }
    }

    /// Calls with what waits on all loops.
    private func gather(from all: [Shard], _ then: @escaping @Sendable ([Holder]) -> Void) {
        let found = Locked<(holders: [Holder], missing: Int)>(([], all.count))
        for shard in all {
            shard.loop.execute {
                let holders = shard.connections.compactMap { connection in
                    connection.isBacklogged
                        ? Holder(shard: shard, descriptor: connection.descriptor, bytes: connection.output.count) : nil
                }
                let complete = found.withLock { found -> [Holder]? in
                    found.holders += holders
                    found.missing -= 1
                    return found.missing == 0 ? found.holders : nil
                }
                if let complete { then(complete) }
            }
        }
    }
}

extension Shard {
    /// Ends the connection with this descriptor, if something waits on it still.
    fileprivate func close(holdingMost descriptor: Int32) {
        guard let connection = connections.first(where: { $0.descriptor == descriptor }), connection.isBacklogged else { return }
        counters.relieved.add(1, ordering: .relaxed)
        connection.happen(.stalled)
    }
}
