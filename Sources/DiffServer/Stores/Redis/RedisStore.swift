// Sessions in a Redis that many processes share, so that any of them serves any session.
//
// The table is a cache. Whatever is answered from it was validated by a round trip: `read` names the known version, and
// most often Redis says that it is the head. A write is tried on the session in the table, and Redis compares. So no
// answer is ever stale, and no write ever replaces a newer version, however late a hint comes: hints only wake readers.

import HTTPCore
import SnapshotKit

/// Sessions in Redis.
final class RedisStore: SessionStore {
    let table: SessionTable
    let isSole = false

    private let topology: RedisTopology
    /// For everything that belongs to no request: hints, the sweep, the start.
    private let loop: EventLoop
    var loops: [EventLoop] { [loop] }
    private let client: RedisClient
    /// One per loop.
    private let clients: Locked<[ObjectIdentifier: RedisClient]>
    private let watch: RedisWatch
    let agreement: KeyAgreement
    let revocations: RedisRevocations
    private let pendingWrites = PendingWrites()
    let workers: Workers
    /// For commits, and for large records that are read. Small ones are read in the turn in which they arrive.
    let gate: RecordGate
    let largeLoads: SharedLoads<LargeRecord, SessionView?>

    /// A record above this size takes longer to read than the other requests of a loop should wait.
    static let largeRecord = 256 * 1024

    /// Waits for a first answer. A Redis that cannot be reached or used now may come back later.
    ///
    /// - Throws: if Redis rejects our credentials, or its sessions were made with another key.
    init(
        _ dialer: RedisDialer, digestKey: String?, table: SessionTable, workers: Workers
    ) throws(StoreError) {
        self.table = table
        largeLoads = SharedLoads(most: table.bounds.waiting)
        self.workers = workers
        gate = RecordGate(table.messages.records)
        do throws(ListenError) { loop = try EventLoop.standalone(named: "redis") } catch {
            throw StoreError("\(error)")
        }
        topology = RedisTopology(dialer, on: loop)
        client = RedisClient(topology, on: loop)
        clients = Locked([ObjectIdentifier(loop): client])
        watch = RedisWatch(topology, on: loop)
        agreement = KeyAgreement(digestKey, client)
        revocations = RedisRevocations(table.revocations, client)
        if let problem = agreement.settled() {
            close()
            throw StoreError("\(dialer.address): \(problem)")
        }
        probe()
        Stored.of(revocations.refresh).wait()
        watch.start(for: self)
    }

    var hash: KeyedHash { agreement.hash }

    private var health: StoreHealth { topology.dialer.health }

    var isReady: Bool { health.isWell && client.isUp && agreement.holds }

    func close() {
        topology.close()
        watch.close()
        for client in clients.withLock({ Array($0.values) }) { client.close() }
        loop.end()
    }

    /// Moves to another server, which is the primary now.
    func leave(for server: ConnectAddress) {
        for client in clients.withLock({ Array($0.values) }) { client.leave(for: server) }
    }

    /// The client of a request's loop.
    func client(on loop: EventLoop) -> RedisClient {
        clients.withLock { clients in
            if let client = clients[ObjectIdentifier(loop)] { return client }
            let client = RedisClient(topology, on: loop)
            clients[ObjectIdentifier(loop)] = client
            return client
        }
    }

    // MARK: Reading

    func pending(_ name: String) -> Session? { pendingWrites.newest(name)?.session }

    /// The session in the table: most often nobody else has written meanwhile, and Redis compares.
    func expected(_ name: String) -> SessionView? {
        guard let (slot, session) = pendingWrites.newest(name), table.slot(name) === slot else {
            return table.view(name, isHead: false)
        }
        return SessionView(slot, session, of: table, isHead: false)
    }

    func load(_ name: String, again: Bool, on loop: EventLoop) -> Stored<SessionView?> {
        .of { done in
            if again {
                pendingWrites.afterThose(of: name) { [self] in open(name, on: loop, done) }
            } else {
                open(name, on: loop, done)
            }
        }
    }

    private func open(_ name: String, on loop: EventLoop, _ done: @escaping Completion<SessionView?>) {
        read(RedisSearch(name, table.view(name), on: loop, done))
    }

    // MARK: Writing

    func swap(_ before: SessionView?, named name: String, for next: Session, on loop: EventLoop) -> Stored<SessionSlot>
    {
        .of { done in
            if let before {
                commit(next, to: before.slot, after: before.session, on: loop, done)
            } else {
                create(name, next, on: loop, done)
            }
        }
    }

    func delete(_ session: SessionView, at revision: Revision?, on loop: EventLoop) -> Stored<Void> {
        let (slot, before) = (session.slot, table.session(in: session.slot) ?? session.session)
        guard revision == nil || before.head.revision == revision else { return .done(.failure(.conflict)) }
        let version = RedisArgument.version(revision == nil ? 0 : before.version)
        return .of { done in
            client(on: loop).ask(RedisScripts.drop, keys: [RedisScripts.key(slot.name)], [version], done) {
                [table] reply in
                guard reply == .integer(1) else { return .failure(.conflict) }
                _ = table.drop(slot, at: before.head.revision)
                return .success(())
            }
        }
    }

    func discard(_ name: String, on loop: EventLoop) -> Stored<Void> {
        .of { client(on: loop).ask(RedisScripts.drop, keys: [RedisScripts.key(name)], [""], $0) { _ in .success(()) } }
    }

    private func create(
        _ name: String, _ session: Session, on loop: EventLoop, _ done: @escaping Completion<SessionSlot>
    ) {
        guard table.hasRoom(for: session) else { return done(.failure(.capacity)) }
        let commit = LogCommit(
            session.renamed(), after: nil, id: 1, revisions: table.bounds.history.revisions, by: hash)
        let session = commit.session
        put(commit, name, after: nil, on: loop) { [table] result in
            done(
                result.flatMap {
                    switch table.create(name, session) {
                    // A reader has loaded it by now, or it replaced one whose end this process had not heard of.
                    case .failure(.conflict): table.slot(name).map { .success($0) } ?? table.create(name, session)
                    case let outcome: outcome
                    }
                })
        }
    }

    private func commit(
        _ next: Session, to slot: SessionSlot, after read: Session, on loop: EventLoop,
        _ done: @escaping Completion<SessionSlot>
    ) {
        guard table.hasRoom(for: next) else { return done(.failure(.capacity)) }
        guard case .session(let before) = pendingWrites.last(of: slot, read: read),
            next.follows(before, at: read.head.revision)
        else { return done(.failure(.conflict)) }
        let commit = LogCommit(
            next.renamed(), after: before, id: before.log.last + 1, revisions: table.bounds.history.revisions, by: hash)
        let next = commit.session
        guard pendingWrites.enter(slot, behind: before.version, next: next) else { return done(.failure(.conflict)) }
        // Other loops have their own connections. A write that arrives before the one that it follows starts again.
        put(commit, slot.name, after: before, on: loop) { [table, pendingWrites] result in
            // If the slot has changed meanwhile, whoever needs the session next loads it.
            if case .success = result { _ = table.commit(next, to: slot, after: before) }
            pendingWrites.leave(slot.name, result)
            done(result.map { slot })
        }
    }

    /// Writes a commit once there is room for its record.
    private func put(
        _ commit: LogCommit, _ name: String, after before: Session?, on loop: EventLoop,
        _ done: @escaping Completion<Void>
    ) {
        let bytes = commit.isCheckpoint ? commit.session.head.footprint : commit.entry.count
        gate.enter(bytes) { [self] in
            let begin = { @Sendable [self] in
                write(commit, name, after: before, on: loop) { [gate] result in
                    done(result)
                    gate.leave(bytes)
                }
            }
            if bytes > Self.largeRecord { workers.run(begin) } else { begin() }
        }
    }

    private func write(
        _ commit: LogCommit, _ name: String, after before: Session?, on loop: EventLoop,
        _ done: @escaping Completion<Void>
    ) {
        guard let (digestKey, hash) = agreement.found else { return done(.failure(.disagreed)) }
        // It was computed before the nodes agreed on another key.
        guard commit.session.head.fingerprints.hash == hash else { return done(.failure(.conflict)) }
        let comparedKey = topology.isCluster ? "" : digestKey
        var keys = [RedisScripts.key(name)]
        var arguments = RedisScripts.arguments(of: commit, after: before, digestKey: comparedKey)
        let staging = RedisScripts.staging(of: commit, to: keys[0], by: hash)
        revocations.compare(&keys, &arguments)
        client(on: loop).run(RedisScripts.commit, keys: keys, arguments, staging: staging) { [self] result in
            if case .failure = result { heed(result) }
            switch result {
            case .failure(let failure): done(.failure(StoreFailure(failure)))
            case .success(.integer(1)): done(.success(()))
            case .success(.integer(-1)):
                renewKey { [self] _ in
                    done(.failure(agreement.holds ? .conflict : .disagreed))
                }
            // The write starts again, and is refused if its token was revoked.
            case .success(.integer(-2)): revocations.refresh { done($0.flatMap { .failure(.conflict) }) }
            case .success(.integer(0)): done(.failure(.conflict))
            // To start again would never end.
            case .success: done(.failure(.unavailable("unexpected answer to a commit")))
            }
        }
    }

    func list(_ range: SessionRange) -> Stored<SessionPage> {
        .of { RedisListing.begin(range, at: client, $0) }
    }

    func revokeTokens(of name: String, upTo moment: Int, on loop: EventLoop) -> Stored<Void> {
        .of { revocations.add(name, upTo: moment, $0) }
    }

    // MARK: Readers and time

    func watch(_ slot: SessionSlot) { watch.readersChanged(of: slot) }

    func sweep() {
        // Sessions that nobody here used in time leave the cache; in Redis they expire by themselves.
        table.sweep()
        // Redis sees each use itself.
        _ = table.usedSinceStored()
        watch.sweep()
        if !agreement.holds { renewKey() }
        // A process that is not ready gets no writes, so it has to find out by itself when it is ready again.
        if health.isFailing(.writes) { probe() }
    }

    /// Checks what all nodes agree on, which may have been lost: after each new connection, and every ten seconds.
    func reassure() {
        renewKey()
        probe()
        revocations.refresh { _ in }
    }

    /// Finds out whether each primary takes writes.
    private func probe() {
        client.runEverywhere(RedisScripts.probe, RedisScripts.probeKey) { [self] in heed($0) }
    }

    /// Notes whether writes are taken. One that was lost on the way proves nothing: the connection reports its own
    /// loss. One that was taken proves nothing of other primaries, so only a probe ends an outage.
    private func heed(_ result: Result<RedisReply, RedisFailure>) {
        switch result {
        case .success: health.recover(.writes)
        case .failure(.refused(let error)): health.fail(.writes, because: "redis: \(error.text)")
        case .failure: break
        }
    }

    /// Loads the head into a slot, so that its readers hear of it.
    func revalidate(_ slot: SessionSlot) {
        // This also counts as use, since readers use their session all the time.
        let known = table.view(slot.name)
        // Of a session that is away, it is enough to know whether the version is still the head.
        let version = known?.session.version ?? slot.version
        var search = RedisSearch(slot.name, known, on: loop) { [watch] _ in watch.revalidated(slot) }
        (search.version, search.longer) = (version, RedisWatch.period * 2)
        read(search)
    }

    // MARK: The key

    /// Puts the key back where the store was emptied, or takes over the one that another node put there first.
    func renewKey(_ done: @escaping @Sendable (_ hasChanged: Bool) -> Void = { _ in }) {
        agreement.renew { [table] hasChanged in
            // The sessions in memory were made with a key that nobody uses any more.
            if hasChanged { table.sendAllAway() }
            done(hasChanged)
        }
    }
}

extension StoreFailure {
    /// Nodes have not agreed on a key, so no other node could read what this one writes.
    static let disagreed = StoreFailure.unavailable("its key is not known")

    /// In words for a client, who must not see addresses; the log has the reason.
    init(_ failure: RedisFailure) {
        switch failure {
        case .unavailable, .denied: self = .unavailable("no connection")
        case .lost: self = .unavailable("the connection was lost")
        case .refused(let error): self = .unavailable(String(error.code))
        }
    }
}
