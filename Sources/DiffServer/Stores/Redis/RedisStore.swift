// Sessions in a Redis that many processes share, so that any of them serves any session.
//
// The table is a cache. Whatever is answered from it was validated by a round trip (`read` names the version that is
// known, and most often hears that it is the head); a write is tried on what the table holds, and Redis compares. So no
// answer is ever stale, and no write is ever based on what is no longer there, however late a hint comes: hints only
// wake readers.
//
// What a read brings is taken into the table only in place of what it was asked with; otherwise somebody else was
// faster, and it is asked again. So a slot never goes back to an older value. A request goes on with what it has read
// whether or not that is still in the table: else sessions that are read at once and do not fit into memory together
// would push each other out for ever.

import Dispatch
import HTTPCore
import SnapshotKit

/// Sessions in Redis.
final class RedisStore: SessionStore {
    let table: SessionTable
    let isSole = false

    private let address: RedisAddress
    private let options: RedisOptions
    /// For what belongs to no request: hints, the sweep, the start.
    private let loop: EventLoop
    private let client: RedisClient
    private let clients = Locked<[ObjectIdentifier: RedisClient]>([:])
    private let watch: RedisWatch
    private let agreement: KeyAgreement
    private let revocations: RedisRevocations
    private let pendingWrites = PendingWrites()
    private let workers: Workers
    /// For what is written, and for large records that come. Small ones are read in the turn in which they come.
    private let gate: RecordGate
    private let largeLoads = SharedLoads<LargeRecord, SessionView?>()

    /// Records above this take longer to read than the other requests of a loop should wait.
    private static let largeRecord = 256 * 1024

    /// Waits for a first answer; a Redis that cannot be reached or used now may come later.
    ///
    /// - Throws: if Redis does not take our credentials, or its sessions were made with another key.
    init(
        _ address: RedisAddress, _ options: RedisOptions, digestKey: String?, table: SessionTable, workers: Workers
    ) throws(StoreError) {
        self.table = table
        self.workers = workers
        gate = RecordGate(table.messages.records)
        self.address = address
        self.options = options
        do throws(ListenError) { loop = try EventLoop.standalone() } catch { throw StoreError("\(error)") }
        client = RedisClient(address, options, on: loop)
        watch = RedisWatch(address, options, on: loop, knowing: client.cluster)
        agreement = KeyAgreement(digestKey, client, options.health)
        revocations = RedisRevocations(table.revocations, client, database: address.database)
        if let problem = agreement.settled() {
            client.close()
            loop.end()
            throw StoreError("\(address): \(problem)")
        }
        probe()
        revocations.settle()
        watch.start(
            .init(
                revoked: { [revocations] in revocations.hear($0) }, revalidate: { [weak self] in self?.revalidate($0) },
                reassure: { [weak self] in self?.reassure() },
                switched: { [weak self] in self?.leave(for: $0) }))
    }

    var hash: KeyedHash { agreement.hash }

    var isReady: Bool { options.health.isWell && client.isUp && agreement.holds }

    func close() {
        watch.close()
        client.close()
        for client in clients.withLock({ Array($0.values) }) { client.close() }
        loop.end()
    }

    /// Another server is the primary now.
    private func leave(for server: ConnectAddress) {
        for client in clients.withLock({ Array($0.values) }) + [client] { client.leave(for: server) }
    }

    /// The client of a request's loop.
    private func client(on loop: EventLoop) -> RedisClient {
        guard loop !== self.loop else { return client }
        return clients.withLock { clients in
            if let client = clients[ObjectIdentifier(loop)] { return client }
            let client = RedisClient(address, options, on: loop, knowing: self.client.cluster)
            clients[ObjectIdentifier(loop)] = client
            return client
        }
    }

    // MARK: Reading

    func pending(_ name: String) -> Session? { pendingWrites.newest(name)?.session }

    /// Most often nobody else has written meanwhile, and Redis compares.
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
        let known = table.view(name)
        read(name, known, version: known?.session.version, keepingFor: .zero, on: loop, done)
    }

    /// - Parameters:
    ///   - known: what the table has of it, in place of which comes what is found.
    ///   - followsLog: whether the log from there on is enough.
    ///   - version: of which only that it is the head has to be told; then the answer is `known`.
    ///   - longer: what is added to its time to live.
    ///   - most: the largest record that may come; a larger one is loaded when its turn comes.
    ///   - attempts: how often it is asked at most.
    private func read(
        _ name: String, _ known: SessionView?, version: UInt64?, keepingFor longer: Duration, most: Int = largeRecord,
        followsLog: Bool = true, attempts: Int = 4, on loop: EventLoop, _ done: @escaping Completion<SessionView?>
    ) {
        guard agreement.holds else { return done(.failure(.disagreed)) }
        let again = { @Sendable [self] (result: Result<Void, StoreFailure>) in
            if case .failure(let failure) = result { return done(.failure(failure)) }
            read(
                name, known?.renewed ?? known, version: version, keepingFor: longer, most: most, followsLog: followsLog,
                attempts: attempts - 1, on: loop, done)
        }
        guard revocations.areKnown else { return revocations.refresh(again) }
        let slot = known?.slot ?? table.awaySlot(name)
        let revision = known?.session.head.revision ?? slot?.revision
        let log = followsLog && known?.session.log.entries.isEmpty == false ? known?.session : nil
        var keys = [RedisArgument(RedisScripts.key(name))]
        var arguments = [
            .version(version ?? 0), RedisArgument(Int(longer / .milliseconds(1))),
            log.map { RedisArgument($0.log.last) } ?? "",
            RedisArgument(log.map { LogEntry.digits($0.version) } ?? []), RedisArgument(most),
        ]
        revocations.compare(&keys, &arguments)
        client(on: loop).run(RedisScripts.read, keys: keys, arguments) { [self] result in
            switch result {
            case .failure(let failure): done(.failure(StoreFailure(failure)))
            case .success(.null):
                if let slot, let revision { _ = table.drop(slot, at: revision) }
                done(.success(nil))
            // It may have left memory meanwhile, and was the head all the same.
            case .success(.array(let parts)) where parts.isEmpty: done(.success(known?.renewed ?? known))
            case .success(.array(let parts)) where parts.count == 1:
                // Whoever asks may have come with a token that is refused now.
                guard attempts > 0 else { return done(.failure(.unavailable("its revocations come too fast"))) }
                revocations.refresh(again)
            case .success(let reply):
                if most < .max, let large = LargeRecord(reply, of: name) { return load(large, known, on: loop, done) }
                guard let found = FoundRecord(reply, behind: known?.session.log.last ?? 0) else {
                    return done(.failure(.damaged(name)))
                }
                let takeOver = { @Sendable [self] in
                    adopt(found, name, inPlaceOf: known, most, attempts, on: loop, done)
                }
                if found.bytes > Self.largeRecord || known?.isLong ?? false {
                    workers.run(takeOver)
                } else {
                    takeOver()
                }
            }
        }
    }

    /// Loads a large record: once for all who were told that it is the head, and when there is room for it.
    private func load(
        _ large: LargeRecord, _ known: SessionView?, on loop: EventLoop, _ done: @escaping Completion<SessionView?>
    ) {
        guard largeLoads.join(large, done) else { return }
        // As a reply, and as the session that is made of it.
        let bytes = 2 * large.size
        gate.enter(bytes) { [self] in
            read(large.name, known, version: known?.session.version, keepingFor: .zero, most: .max, on: loop) {
                [self] result in
                for done in largeLoads.taken(large) { done(result) }
                gate.leave(bytes)
            }
        }
    }

    private func adopt(
        _ found: FoundRecord, _ name: String, inPlaceOf known: SessionView?, _ most: Int, _ attempts: Int,
        on loop: EventLoop, _ done: @escaping Completion<SessionView?>
    ) {
        do throws(SessionRecord.Failure) {
            let session = try found.session(
                after: known?.session,
                by: SessionTransition(name: name, bounds: table.bounds.history, hash: hash, now: .now, isLogged: true))
            let adopted = table.adopt(session, as: name, inPlaceOf: known)
            // Where somebody else was faster, it is asked again, so that nobody here is told something older than his
            // neighbour. At the last what was read is the answer: it was the head while it was asked for, and a write
            // that stands on it is compared.
            guard let slot = adopted ?? (attempts > 1 ? nil : table.anySlot(name)) else {
                let known = table.view(name)
                let left = max(1, attempts - 1)
                return read(
                    name, known, version: known?.session.version, keepingFor: .zero, most: most, attempts: left,
                    on: loop, done)
            }
            done(.success(SessionView(slot, session, of: table)))
        } catch {
            switch error {
            case .damaged where found.record == nil:
                // A change as large as the state is only in the checkpoint; or what is known does not lead there.
                read(
                    name, known, version: nil, keepingFor: .zero, most: most, followsLog: false, attempts: attempts,
                    on: loop, done)
            case .damaged:
                // Perhaps nodes have agreed on another key since.
                agreement.renew { [self] hasChanged in
                    if hasChanged { forgetOldKey() }
                    guard hasChanged, attempts > 1 else { return done(.failure(.damaged(name))) }
                    read(
                        name, nil, version: nil, keepingFor: .zero, most: most, attempts: attempts - 1, on: loop, done)
                }
            case .format(let format): done(.failure(.unavailable("the record of \"\(name)\" has format \(format)")))
            }
        }
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
        .of { drop(session.slot, after: session.session, at: revision, on: loop, $0) }
    }

    func discard(_ name: String, on loop: EventLoop) -> Stored<Void> { .of { discard(name, on: loop, $0) } }

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
                    // Its readers here were faster, or it took the place of one that had ended and of which this
                    // process had not heard.
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
        // Other loops have connections of their own. One that comes in before those that it stands behind begins again.
        put(commit, slot.name, after: before, on: loop) { [table, pendingWrites] result in
            // A slot that moved on meanwhile is no loss: whoever needs the session next asks for it.
            if case .success = result { _ = table.commit(next, to: slot, after: before) }
            pendingWrites.leave(slot.name, result)
            done(result.map { slot })
        }
    }

    /// Writes when there is room for the record.
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
        // Computed before nodes agreed on another key.
        guard commit.session.head.fingerprints.hash == hash else { return done(.failure(.conflict)) }
        let key = RedisArgument(RedisScripts.key(name))
        let comparedKey = self.client.cluster == nil ? digestKey : ""
        let commit = RedisScripts.Commit(commit, to: key, after: before, by: hash, digestKey: comparedKey)
        var (keys, arguments) = ([key], commit.arguments)
        revocations.compare(&keys, &arguments)
        client(on: loop).run(RedisScripts.commit, keys: keys, arguments, staging: commit.staging) { [self] result in
            if case .failure = result { heed(result) }
            switch result {
            case .failure(let failure): done(.failure(StoreFailure(failure)))
            case .success(.integer(1)): done(.success(()))
            case .success(.integer(-1)):
                agreement.renew { [self] hasChanged in
                    if hasChanged { forgetOldKey() }
                    done(.failure(agreement.holds ? .conflict : .disagreed))
                }
            // Begun again, a write of a token that is refused now is refused.
            case .success(.integer(-2)): revocations.refresh { done($0.flatMap { .failure(.conflict) }) }
            case .success(.integer(0)): done(.failure(.conflict))
            // To begin again would not end.
            case .success: done(.failure(.unavailable("unexpected answer to a commit")))
            }
        }
    }

    private func drop(
        _ slot: SessionSlot, after read: Session, at revision: Revision?, on loop: EventLoop,
        _ done: @escaping Completion<Void>
    ) {
        let before = table.session(in: slot) ?? read
        guard revision == nil || before.head.revision == revision else { return done(.failure(.conflict)) }
        let version = revision == nil ? "" : before.versionText
        client(on: loop).run(
            RedisScripts.drop, keys: [RedisArgument(RedisScripts.key(slot.name))], [RedisArgument(version)]
        ) {
            [table] result in
            switch result {
            case .failure(let failure): done(.failure(StoreFailure(failure)))
            case .success(.integer(1)):
                _ = table.drop(slot, at: before.head.revision)
                done(.success(()))
            case .success: done(.failure(.conflict))
            }
        }
    }

    private func discard(_ name: String, on loop: EventLoop, _ done: @escaping Completion<Void>) {
        client(on: loop).run(RedisScripts.drop, keys: [RedisArgument(RedisScripts.key(name))], [RedisArgument("")]) {
            result in
            done(result.map { _ in }.mapError { StoreFailure($0) })
        }
    }

    func list(_ range: SessionRange) -> Stored<SessionPage> {
        .of { RedisListing.begin(range, at: client, $0) }
    }

    func revokeTokens(of name: String, upTo moment: Int, on loop: EventLoop) -> Stored<Void> {
        .of { revocations.add(name, upTo: moment, $0) }
    }

    func takeTurn(
        _ purpose: TurnPurpose, of name: String, for time: Duration, isForced: Bool, on loop: EventLoop
    ) -> Stored<SourceTurn> {
        .of { RedisTurns.take(purpose, of: name, for: time, isForced: isForced, by: client(on: loop), $0) }
    }

    func endTurn(
        _ purpose: TurnPurpose, of name: String, _ note: SourceNote?, next: Duration, on loop: EventLoop
    ) -> Stored<Void> {
        .of { RedisTurns.end(purpose, of: name, note, next: next, by: client(on: loop), $0) }
    }

    // MARK: Readers and time

    func watch(_ slot: SessionSlot) { watch.readersChanged(of: slot) }

    func sweep() {
        // What nobody here used in time leaves the cache; in Redis it ends by itself.
        table.sweep()
        // Redis hears of each use itself.
        _ = table.usedSinceStored()
        watch.sweep()
        if !agreement.holds { assertKey() }
        // Nobody may write to a process that is not ready, so it has to find out by itself that it is again.
        if options.health.isFailing(.writes) { probe() }
    }

    private func reassure() {
        assertKey()
        probe()
        revocations.refresh { _ in }
    }

    /// Does at each primary what a write does, and hears whether it can be done.
    private func probe() {
        client.runEverywhere(RedisScripts.probe, RedisScripts.probeKey) { [self] in heed($0) }
    }

    /// Whether writes are taken. One that was lost on the way says nothing: the connection tells of itself. One that
    /// was taken says nothing of other primaries, so that all take them again only a probe can tell.
    private func heed(_ result: Result<RedisReply, RedisFailure>) {
        switch result {
        case .success: options.health.recover(.writes)
        case .failure(.refused(let error)): options.health.fail(.writes, because: "redis: \(error.text)")
        case .failure: break
        }
    }

    /// Sees to it that the slot holds the head, and its readers hear of it.
    private func revalidate(_ slot: SessionSlot) {
        // Its readers use it all the time, but are told so only here, and that one in a while.
        let known = table.view(slot.name)
        // Of one that is away, it is enough to hear that nothing is new.
        let version = known?.session.version ?? slot.version
        read(slot.name, known, version: version, keepingFor: RedisWatch.period * 2, on: loop) { [watch] _ in
            watch.revalidated(slot)
        }
    }

    // MARK: The key

    /// Puts the key back where the store was emptied, or takes over the one that another node put there first.
    private func assertKey() {
        agreement.renew { [self] hasChanged in
            if hasChanged { forgetOldKey() }
        }
    }

    /// What is in memory was made with a key that nobody uses any more.
    private func forgetOldKey() { table.sendAllAway() }
}

/// A record that `read` did not bring since it is so large.
private struct LargeRecord: Hashable {
    let name: String
    let version: String
    let size: Int

    init?(_ reply: RedisReply, of name: String) {
        guard let parts = reply.elements, parts.count == 2, let version = parts[0].text,
            case .integer(let size) = parts[1]
        else { return nil }
        (self.name, self.version, self.size) = (name, version, Int(size))
    }
}

/// What `read` brings.
private struct FoundRecord: Sendable {
    let version: UInt64
    /// Nil where the log goes on from what is known.
    let record: SessionRecord?
    /// The positions of the last entry that the record holds, and of the first one that there is.
    let covered, first: UInt64
    /// The position of the first one that was brought.
    let start: UInt64
    /// Nil for one that is not there.
    let entries: [[UInt8]?]

    /// - Parameter known: the position of what it was asked with.
    init?(_ reply: RedisReply, behind known: UInt64) {
        guard let parts = reply.elements, [4, 6].contains(parts.count),
            let version = parts[0].text.flatMap({ UInt64($0, radix: 16) }),
            let covered = parts[1].text.flatMap({ UInt64($0) }), let first = parts[2].text.flatMap({ UInt64($0) })
        else { return nil }
        (self.version, self.covered, self.first, entries) = (version, covered, first, Self.entries(parts[3]))
        start = parts.count == 4 ? known + 1 : first
        switch (parts.count, parts[parts.count - 2], parts[parts.count - 1]) {
        case (4, _, _): record = nil
        case (_, .bytes(let meta), .bytes(let head)): record = SessionRecord(meta: meta, head: head)
        default: return nil
        }
    }

    private static func entries(_ reply: RedisReply) -> [[UInt8]?] {
        (reply.elements ?? []).map { if case .bytes(let bytes) = $0 { bytes } else { nil } }
    }

    var bytes: Int { entries.reduce(record?.bytes ?? 0) { $0 + ($1?.count ?? 0) } }

    func session(
        after known: Session?, by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        let found = entries.enumerated().map { FoundEntry(start + UInt64($0), $1, by: transition.hash) }
        let session: Session
        if let record {
            let border = found.firstIndex { $0.id > covered } ?? found.count
            session = try .found(
                record, covered: Array(found[..<border]), behind: Array(found[border...]), version: version,
                by: transition)
        } else {
            guard let known else { throw .damaged }
            session = try known.following(found, from: first, covered: covered, by: transition)
        }
        guard session.version == version else { throw .damaged }
        return session
    }
}

extension StoreFailure {
    /// Nodes have not agreed on a key, so nobody else could read what this one writes.
    fileprivate static let disagreed = StoreFailure.unavailable("its key is not known")

    /// In words for a client, who is told no addresses; the log has the reason.
    init(_ failure: RedisFailure) {
        switch failure {
        case .unavailable, .denied: self = .unavailable("no connection")
        case .lost: self = .unavailable("the connection was lost")
        case .refused(let error): self = .unavailable(String(error.code))
        }
    }
}
