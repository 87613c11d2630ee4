// The table is a cache. Every answer from it was validated by a round trip: `read` names the known version, and most
// often Redis confirms that it is the head. A write is based on the session in the table, and Redis compares. So no
// answer is ever stale, and no write ever replaces a newer version, however late a hint comes: hints only wake readers.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import Synchronization

/// Sessions in a Redis that many processes share, so that any of them serves any session.
package final class RedisStore: SessionStore {
    package let table: SessionTable
    package let isSole = false

    let topology: RedisTopology
    /// Runs what belongs to no request: hints, the sweep, the start.
    package let loop: EventLoop
    private let client: RedisClient
    /// One per loop, a handful.
    private let clients: Locked<[RedisClient]>
    private let watch: RedisWatch
    package let hash: KeyedHash
    let revocations: RedisRevocations
    private let areRecordsOurs = Atomic<Bool>(false)
    /// Whether the records were ours in the last answer about them.
    private let wereRecordsOurs = Atomic<Bool>(false)
    /// Whether some primary accepted the last probe.
    private let takesSomeWrites = Atomic<Bool>(false)
    private let pendingWrites = PendingWrites()
    package var turns: PendingWrites? { pendingWrites }
    /// The name of this process among all nodes.
    let node = Hex.encode(Digests.random(8))
    let workers: Workers
    let largeLoads: SharedLoads<LargeRecord, SessionView?>

    /// Waits for a first answer. A Redis that is unreachable or unusable now may come back later; throws if it rejects
    /// our credentials, or holds sessions that this process cannot read.
    package init(
        _ dialer: RedisDialer, hash: KeyedHash, table: SessionTable, workers: Workers, polling: Polling = .preferred
    ) throws(StoreError) {
        (self.table, self.hash, self.workers) = (table, hash, workers)
        largeLoads = SharedLoads(limit: table.account.maxWaiting)
        do throws(ListenError) { loop = try EventLoop.standalone(named: "redis", polling: polling) } catch {
            throw StoreError("\(error)")
        }
        topology = RedisTopology(dialer, on: loop)
        client = RedisClient(topology, on: loop)
        clients = Locked([client])
        watch = RedisWatch(topology, on: loop)
        revocations = RedisRevocations(table.revocations, client)
        if let problem = take(Progress.of(checkRecords).wait()) {
            close()
            throw StoreError("\(dialer.address): \(problem)")
        }
        probe()
        Stored.of(revocations.refresh).wait()
        watch.start(for: self)
    }

    var health: StoreHealth { topology.dialer.health }
    var keys: RedisKeys { client.keys }
    /// Whether a write is answered only once replicas have it.
    var isReplicated: Bool { topology.dialer.replicas > 0 }

    /// In a cluster, one primary that takes writes suffices to serve its sessions. If no primary is reachable, another
    /// node may not reach one either.
    package var availability: StoreAvailability {
        if health.isHealthy, client.isUp { return .whole }
        guard wereRecordsOurs.load(ordering: .relaxed) else { return .unknown }
        let servesSome = hasOurRecords && takesSomeWrites.load(ordering: .relaxed) && client.isPartlyUp
        return topology.isCluster && servesSome ? .partial : .away
    }

    package var silentSince: Instant? { health.silentSince }

    package func close() {
        topology.close()
        watch.close()
        clients.withLock { $0 }.forEach { $0.close() }
        loop.end()
    }

    func leave(for server: ConnectAddress) { clients.withLock { $0 }.forEach { $0.leave(for: server) } }

    /// The client of a request's loop; the store's own for an executor that is not a loop.
    func client(on executor: any WorkExecutor) -> RedisClient {
        clients.withLock { clients in
            if let client = clients.first(where: { $0.loop === executor }) { return client }
            guard let loop = executor as? EventLoop else { return client }
            let client = RedisClient(topology, on: loop)
            clients.append(client)
            return client
        }
    }

    // MARK: Reading

    package func pending(_ name: String) -> Session? { pendingWrites.newest(name)?.session }

    /// The session in the table: it is most often the head, and Redis compares the version.
    package func expected(_ name: String) -> SessionView? {
        pendingWrites.expected(name, in: table) ?? table.view(name, isHead: false)
    }

    package func load(_ name: String, again: Bool, on executor: any WorkExecutor) -> Stored<SessionView?> {
        .timed(.load, in: table.storeTimes) { done in
            // If a write was just tried and failed, all that is found may be its remains.
            @Sendable func read() {
                RedisReading(name, from: self, on: executor, confirms: again, done).ask(.init(table.known(name)))
            }
            if again { pendingWrites.afterQueued(of: name) { read() } } else { read() }
        }
    }

    /// Confirms by a write to the session's slot: replicas get it only after all earlier writes.
    package func confirm(_ name: String, on executor: any WorkExecutor) -> Stored<Void>? {
        guard isReplicated else { return nil }
        let key = RedisArgument.text(keys.channel(name) + ":confirmed")
        return .of { done in
            client(on: executor).send(RedisCommand("SET", key, "", "PX", 1), about: key, isWrite: true) {
                done($0.map { _ in }.mapError { StoreFailure($0) })
            }
        }
    }

    // MARK: Writing

    package func swap(_ before: SessionView?, named name: String, for next: Session, on executor: any WorkExecutor)
        -> Stored<SessionSlot>
    {
        guard table.hasRoom(for: next) else { return .done(.failure(.capacity)) }
        guard let slot = before?.slot, let read = before?.session else {
            return .timed(.commit, in: table.storeTimes) {
                let commit = PendingCommit(
                    next, named: name, id: 1, inPlaceOf: table.known(name), in: table, nil, by: hash, $0)
                send(commit, by: client(on: executor)) {}
            }
        }
        guard case .session(let last) = pendingWrites.last(of: slot, read: read),
            next.follows(last, at: read.head.revision)
        else { return .done(.failure(.conflict)) }
        return .timed(.commit, in: table.storeTimes) { done in
            let commit = PendingCommit(
                next, named: name, to: slot, after: last, id: last.log.last + 1, in: table, pendingWrites, by: hash,
                done)
            let (isQueued, carrier) = pendingWrites.enter(commit, to: slot, behind: last.version, on: executor)
            guard isQueued else { return done(.failure(.conflict)) }
            guard let carrier else { return }
            let client = client(on: carrier)
            client.loop.perform { [self] in sendQueued(commit, by: client) }
        }
    }

    /// Sends a commit and those queued behind it: whichever loops they came from, they reach Redis in order.
    private func sendQueued(_ first: PendingCommit, by client: RedisClient) {
        var next: PendingCommit? = first
        while let commit = next {
            let isSent = send(commit, by: client) { [self] in
                if let next = nextToSend(commit.name) { sendQueued(next, by: client) }
            }
            next = isSent ? nextToSend(commit.name) : nil
        }
    }

    private func nextToSend(_ name: String) -> PendingCommit? {
        while let (commit, isVain) = pendingWrites.nextUnsent(name) {
            if !isVain { return commit }
            finish(commit, nil, .failure(.conflict))
        }
        return nil
    }

    /// Sends a commit: if it is large, once there is room for its record. Then it returns false, and calls `next` on
    /// the client's loop once the commit is sent. A small record takes no more than its request does anyway.
    @discardableResult
    private func send(
        _ commit: PendingCommit, by client: RedisClient, then next: @escaping @Sendable () -> Void
    ) -> Bool {
        let bytes = commit.log.isCheckpoint ? commit.session.head.footprint : commit.log.entry.count
        if bytes <= MemoryAccount.connection {
            write(commit, nil, by: client)
            return true
        }
        table.account.records.reserve(bytes) { [self] share in
            workers.run(.state(bytes)) { [self] in
                write(commit, share, by: client)
                client.loop.execute(next)
            }
        }
        return false
    }

    /// - Parameter share: the record's, until it is written.
    private func write(_ commit: PendingCommit, _ share: MemoryShare?, by client: RedisClient) {
        guard hasOurRecords else {
            recover(from: .failure(.unavailable("")), commit, by: client)
            return finish(commit, share, .failure(.recordsUnknown))
        }
        let key = keys.key(commit.name)
        client.send(command(for: commit, key), about: key, isWrite: true) { [self] result in
            if result != .success(.integer(1)) { recover(from: result, commit, by: client) }
            switch result {
            case .failure(let failure):
                // Redis's refusal of one record says nothing about the others.
                if !failure.isOfOneRecord { noteWriteResult(result) }
                finish(commit, share, .failure(StoreFailure(failure)))
            case .success(.integer(1)):
                finish(commit, share, .success(()))
                if isReplicated { announce(commit, key, by: client) }
            // The write is tried again, and refused if its token was revoked.
            case .success(.integer(-1)):
                revocations.refresh { [self] in finish(commit, share, $0.flatMap { .failure(.conflict) }) }
            case .success(.integer(...0)): finish(commit, share, .failure(.conflict))
            case .success(.damage): finish(commit, share, .failure(.damaged(commit.name)))
            // Not a conflict: trying again would never end.
            case .success: finish(commit, share, .failure(.unavailable("unexpected reply to a commit")))
            }
        }
    }

    /// Loads the head after a failed commit, before any other write is decided. After the second conflict in a row, or
    /// if another node has the turn, waits for this node's turn, in which no other node commits.
    private func recover(from result: RedisResult, _ commit: PendingCommit, by client: RedisClient) {
        guard commit.slot != nil else { return }
        let (name, wait) = (commit.name, (try? result.get())?.wait ?? 0)
        pendingWrites.breakOff(name) { [self] failures in
            reload(name, in: wait > 0 || failures > 1 ? RedisTurn(isContended: true) : nil, by: client, after: wait)
        }
    }

    /// Loads the head, in a turn of this node if there is one, and lets queued writes be decided. While other nodes
    /// want turns, this node asks for its next turn before it sends anything that would come too late.
    private func reload(_ name: String, in turn: RedisTurn?, by client: RedisClient, after time: Int = 0) {
        // All that is found may be left from the failed commit, so replicas must have it too.
        let reading = RedisReading(name, from: self, on: client.loop, confirms: true, in: turn) { [self] result in
            // Writes decided now fail at once, as this read did, so they must not be decided inside this call.
            if case .failure = result { return client.loop.execute { [self] in pendingWrites.passTurn(name) } }
            if let turn, turn.isContended {
                pendingWrites.reserve(name, until: turn.ends) { [self] in reload(name, in: RedisTurn(), by: client) }
            }
            pendingWrites.passTurn(name)
        }
        reading.ask(.init(table.known(name)), after: time)
    }

    /// Publishes a replicated commit to readers on other nodes. The hint may be lost.
    private func announce(_ commit: PendingCommit, _ key: RedisArgument, by client: RedisClient) {
        let verb: RedisArgument = topology.isCluster ? "SPUBLISH" : "PUBLISH"
        client.send(RedisCommand(verb, key, .version(commit.session.version)), about: key) { _ in }
    }

    private func finish(_ commit: PendingCommit, _ share: MemoryShare?, _ result: Result<Void, StoreFailure>) {
        commit.finish(result)
        share?.hold(0)
        // Readers await the session, but the table did not take it.
        if case .success = result, commit.slot == nil, let slot = table.evictedSlot(commit.name), slot.readerCount > 0 {
            revalidate(slot)
        }
    }

    package func delete(_ session: SessionView, at revision: Revision?, on executor: any WorkExecutor) -> Stored<Void> {
        let (slot, before) = (session.slot, table.session(in: session.slot) ?? session.session)
        guard revision == nil || before.head.revision == revision else { return .done(.failure(.conflict)) }
        guard hasOurRecords else { return .done(.failure(.recordsUnknown)) }
        let version = RedisArgument.version(revision == nil ? 0 : before.version)
        return .timed(.delete, in: table.storeTimes) { done in
            client(on: executor).ask(RedisScripts.drop, keys: [keys.key(slot.name)], [version], isWrite: true, done) {
                [self] reply in
                if reply == .damage { return .failure(.damaged(slot.name)) }
                guard reply == .integer(1) else { return .failure(.conflict) }
                // Another version may have come meanwhile.
                if case .failure = table.drop(slot, .version(before.version)), slot.version != nil { revalidate(slot) }
                return .success(())
            }
        }
    }

    package func discard(_ name: String, on executor: any WorkExecutor) -> Stored<Void> {
        guard hasOurRecords else { return .done(.failure(.recordsUnknown)) }
        return .timed(.delete, in: table.storeTimes) {
            let keys = [keys.key(name)]
            client(on: executor).ask(RedisScripts.drop, keys: keys, [""], isWrite: true, $0) { _ in .success(()) }
        }
    }

    package func list(_ range: SessionRange) -> Stored<SessionPage> {
        .timed(.list, in: table.storeTimes) { RedisListing(range, at: client, $0).scan() }
    }

    package func revokeTokens(of name: String, upTo moment: Int, on executor: any WorkExecutor) -> Stored<Void> {
        .timed(.revoke, in: table.storeTimes) { revocations.add(name, upTo: moment, $0) }
    }

    // MARK: Readers and time

    package func watch(_ slot: SessionSlot) { watch.readersChanged(of: slot) }

    package func sweep() {
        // Sessions unused here leave the cache; in Redis they expire.
        table.sweep()
        pendingWrites.sweep()
        watch.sweep()
        // One primary that answers suffices: then this process is not cut off.
        health.asks()
        for key in topology.map.keys(keys.probe).map(RedisArgument.text) {
            client.send(RedisCommand("EXISTS", key), about: key) { [health] in
                if case .success = $0 { health.answers() }
            }
        }
        if health.isFailing(.records) { checkRecords { [self] in _ = take($0) } }
        if health.isFailing(.revocations) { revocations.refresh { _ in } }
        // An unready process gets no writes, so it must probe to learn when it is ready again.
        if health.isFailing(.writes) { probe() }
    }

    var isUp: Bool { client.isUp }

    /// Checks whether Redis was emptied or replaced: after each new connection, and every ten seconds.
    func recheck() {
        checkRecords { [self] in _ = take($0) }
        probe()
        revocations.refresh { _ in }
    }

    private func probe() {
        client.probe { [self] answers in
            let failures = answers.filter { if case .failure = $0 { true } else { false } }
            takesSomeWrites.store(failures.count < answers.count, ordering: .relaxed)
            noteWriteResult(failures.first ?? answers[0])
        }
    }

    /// A write lost in transit proves nothing: the connection reports its own loss. A success proves nothing about
    /// other primaries, so only a probe ends an outage.
    private func noteWriteResult(_ result: RedisResult) {
        switch result {
        case .success: health.recover(.writes)
        case .failure(.unavailable), .failure(.lost), .failure(.denied): break
        case .failure(let failure): health.fail(.writes, because: failure.outage)
        }
    }

    /// Loads the head into a slot, which notifies its readers.
    func revalidate(_ slot: SessionSlot) {
        // This also counts as use, since readers use their session all the time.
        let known = table.known(slot.name)
        // For an evicted session, it is enough to know whether the version is still the head.
        var attempt = RedisReading.Attempt(known)
        (attempt.version, attempt.longer) = (known.view?.session.version ?? slot.version, RedisWatch.period * 2)
        RedisReading(slot.name, from: self, on: loop, confirms: true) { [watch] in
            watch.revalidated(slot, isMissed: $0.isMissed)
        }.ask(attempt)
    }

    // MARK: Records

    /// Asks whose records Redis holds, and claims an empty one.
    private func checkRecords(_ done: @escaping RedisClient.Completion) {
        client.run(RedisScripts.claim, keys: [.text(keys.records)], [.text(RedisScripts.records(by: hash))], done)
    }

    /// Otherwise nothing is read or written: an unconditional write would replace records that only look damaged.
    var hasOurRecords: Bool { areRecordsOurs.load(ordering: .relaxed) }

    /// - Returns: why this process can never use the records that were found.
    private func take(_ result: RedisResult) -> String? {
        switch result {
        case .failure(.denied(let reason)): return reason
        // Earlier findings hold until an answer says otherwise.
        case .failure(let failure):
            if case .refused = failure { areRecordsOurs.store(false, ordering: .relaxed) }
            if !hasOurRecords { health.fail(.records, because: failure.outage) }
            return nil
        case .success(let reply):
            let problem = RedisScripts.problem(with: reply.text, by: hash)
            areRecordsOurs.store(problem == nil, ordering: .relaxed)
            wereRecordsOurs.store(problem == nil, ordering: .relaxed)
            if let problem { health.fail(.records, because: "redis: \(problem)") } else { health.recover(.records) }
            return problem
        }
    }
}

extension StoreFailure {
    /// The records in Redis are not ours, or it is unknown whose they are.
    static let recordsUnknown = StoreFailure.unavailable("whether its records belong to this server is unknown")

    /// Words a failure for clients, which must not see addresses; the log has the reason.
    init(_ failure: RedisFailure) {
        switch failure {
        case .unavailable, .denied: self = .unavailable("no connection")
        case .lost: self = .unavailable("the connection was lost")
        case .unreplicated(let reason):
            self = .unavailable("\(reason); the write may stand, so repeat it, with its Idempotency-Key if it has one")
        case .refused(let error): self = .unavailable(String(error.code))
        }
    }
}
