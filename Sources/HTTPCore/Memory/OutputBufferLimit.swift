import DiffClock
import Synchronization

/// Closes the connections with the most waiting output, on whichever loop, until all of it fits the budget: a reader of
/// small answers never pays for one that asked for many large ones and reads none. Unlike Redis's output buffer limit,
/// it is shared, since many connections with little each are as bad as one with much.
///
/// A pass asks each loop for its blocked connections, picks the largest, and has their loops close them. A shared body
/// is freed only once all of its connections are closed. O(n log n) for n blocked connections.
final class OutputBufferLimit: Sendable {
    private let budget: MemoryBudget
    private let shards = Locked<[Shard]>([])
    private let pass = Atomic<Bool>(false)

    /// A blocked connection. It is named by its descriptor, since the object is confined to its loop.
    private struct BlockedConnection: Sendable {
        let shard: Shard
        let descriptor: Int32
        let holdings: OutputQueue.Holdings
    }

    init(budget: MemoryBudget) { self.budget = budget }

    /// Whether connections are being closed to free memory.
    var isEnforced: Bool { pass.load(ordering: .relaxed) }

    func cover(_ all: [Shard]) { shards.withLock { $0 = all } }

    /// Begins, unless a pass is under way. From any thread.
    func enforce() {
        guard !pass.exchange(true, ordering: .sequentiallyConsistent) else { return }
        proceed()
    }

    private func proceed() {
        let all = shards.withLock { $0 }
        guard budget.isExceeded, !all.isEmpty else {
            end()
            // Others may have exceeded it again before they could see the end of this pass.
            if budget.isExceeded, !all.isEmpty { enforce() }
            return
        }
        gather(from: all) { [self] holders in
            let largest = Self.largest(of: holders, freeing: budget.inUse - budget.limit)
            guard !largest.isEmpty else { return end() }
            let closing = Rendezvous { [self] in proceed() }
            for holder in largest {
                holder.shard.loop.execute {
                    let receiver = holder.shard.loop.receiver(of: holder.descriptor)
                    if let connection = receiver as? Connection, connection.backlog == .blocked {
                        holder.shard.count(\.relievedConnections)
                        connection.handle(.stalled)
                    }
                    closing.arrive()
                }
            }
        }
    }

    private func end() { pass.store(false, ordering: .sequentiallyConsistent) }

    /// The connections that hold the most, as many as it takes to free that many octets.
    private static func largest(of holders: [BlockedConnection], freeing octets: Int) -> [BlockedConnection] {
        var readers: [ObjectIdentifier: Int] = [:]
        for holder in holders { for body in holder.holdings.shared { readers[body.id, default: 0] += 1 } }
        // Readers of one body are neighbours, so that it is freed.
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

    private func gather(from all: [Shard], _ then: @escaping @Sendable ([BlockedConnection]) -> Void) {
        let found = Locked<[BlockedConnection]>([])
        let gathering = Rendezvous { then(found.withLock { $0 }) }
        for shard in all {
            shard.loop.execute {
                let holders = shard.connections.filter { $0.backlog == .blocked }.map {
                    BlockedConnection(shard: shard, descriptor: $0.descriptor, holdings: $0.output.holdings)
                }
                found.withLock { $0 += holders }
                gathering.arrive()
            }
        }
    }

    /// Continues at its last release, when the jobs of several loops are done, or released by a loop that has ended.
    private final class Rendezvous: Sendable {
        private let next: @Sendable () -> Void

        init(_ next: @escaping @Sendable () -> Void) { self.next = next }

        deinit { next() }

        /// Does nothing but keep this alive until the call.
        func arrive() {}
    }
}
