// Answers that wait for slow readers are memory. Where they are more than may wait, those who hold most of it go first,
// whichever loop they are on: a reader of small answers never pays for one who took many large ones and reads none. As
// Redis closes a client at its output buffer limit, but with one limit for all, since many connections with little each
// are as bad as one with much.

import Synchronization

/// Closes the connections on which most waits, until the answers that wait fit their budget.
///
/// A pass asks each loop what waits there, picks the largest, and has their loops close them. What several connections
/// send is only free once all of them have gone, so a pass counts for each body how many are left. O(n log n) for n
/// connections on which something waits.
final class BacklogRelief: Sendable {
    private let budget: MemoryBudget
    private let shards = Locked<[Shard]>([])
    private let pass = Atomic<Bool>(false)

    /// A connection on which something waits. It is found again by its descriptor: the object stays on its loop.
    private struct Holder: Sendable {
        let shard: Shard
        let descriptor: Int32
        let holdings: OutputQueue.Holdings
    }

    init(budget: MemoryBudget) { self.budget = budget }

    /// Whether connections are being closed for want of room.
    var isUnderWay: Bool { pass.load(ordering: .relaxed) }

    /// Sets the loops, once they are there.
    func cover(_ all: [Shard]) { shards.withLock { $0 = all } }

    /// Begins, unless it is under way. From any thread.
    func begin() {
        guard !pass.exchange(true, ordering: .sequentiallyConsistent) else { return }
        goOn()
    }

    private func goOn() {
        let all = shards.withLock { $0 }
        guard budget.isExceeded, !all.isEmpty else {
            end()
            // It may have been exceeded again before the others could see that this has ended.
            if budget.isExceeded, !all.isEmpty { begin() }
            return
        }
        gather(from: all) { [self] holders in
            let largest = Self.largest(of: holders, freeing: budget.inUse - budget.limit)
            // What is left waits for nobody.
            guard !largest.isEmpty else { return end() }
            let closing = Rendezvous { [self] in goOn() }
            for holder in largest {
                holder.shard.loop.execute {
                    holder.shard.close(holdingMost: holder.descriptor)
                    closing.arrive()
                }
            }
        }
    }

    private func end() { pass.store(false, ordering: .sequentiallyConsistent) }

    /// Those that hold most, as many as have to go to free so many octets.
    private static func largest(of holders: [Holder], freeing octets: Int) -> [Holder] {
        var readers: [ObjectIdentifier: Int] = [:]
        for holder in holders { for body in holder.holdings.shared { readers[body.id, default: 0] += 1 } }
        // Readers of one body stand together, so that it is freed.
        let ordered = holders.sorted {
            let (one, other) = ($0.holdings, $1.holdings)
            return one.count == other.count ? one.firstBody < other.firstBody : one.count > other.count
        }
        var freed = 0
        return Array(
            ordered.prefix { holder in
                guard freed < octets else { return false }
                freed += holder.holdings.own
                for body in holder.holdings.shared {
                    readers[body.id, default: 0] -= 1
                    if readers[body.id] == 0 { freed += body.count }
                }
                return true
            })
    }

    /// Calls with what waits on all loops.
    private func gather(from all: [Shard], _ then: @escaping @Sendable ([Holder]) -> Void) {
        let found = Locked<[Holder]>([])
        let gathering = Rendezvous { then(found.withLock { $0 }) }
        for shard in all {
            shard.loop.execute {
                let holders = shard.connections.compactMap { connection in
                    connection.isBlocked
                        ? Holder(shard: shard, descriptor: connection.descriptor, holdings: connection.output.holdings)
                        : nil
                }
                found.withLock { $0 += holders }
                gathering.arrive()
            }
        }
    }

    /// Where the work of several loops meets. When all of it is done, or will never be, since its loop has ended and
    /// let it go, nobody holds this any more, and it goes on.
    private final class Rendezvous: Sendable {
        private let next: @Sendable () -> Void

        init(_ next: @escaping @Sendable () -> Void) { self.next = next }

        deinit { next() }

        /// Keeps this until here.
        func arrive() {}
    }
}

extension OutputQueue.Holdings {
    /// Something to order by, so that those with the same first shared body are neighbours.
    fileprivate var firstBody: Int { shared.first?.id.hashValue ?? 0 }
}

extension Shard {
    /// Ends the connection with this descriptor, if something waits on it still.
    fileprivate func close(holdingMost descriptor: Int32) {
        guard let connection = loop.receiver(of: descriptor) as? Connection, connection.isBlocked else { return }
        counters.relieved.add(1, ordering: .relaxed)
        connection.handle(.stalled)
    }
}
