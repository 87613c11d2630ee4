// A session read from Redis may replace only the one that the table had when Redis was asked. If another read or write
// came first, Redis is asked again, so a slot never goes back. A request continues with what it has read even if that
// was evicted: otherwise sessions that do not fit into memory together would evict each other forever.

import DiffSessions
import DiffStores
import HTTPCore

/// One read of a session from Redis: asks, attempt by attempt, until there is an answer.
final class RedisReading: Sendable {
    private let store: RedisStore
    private let name: String
    private let executor: any WorkExecutor
    /// Whether replicas must have the result before local readers are told.
    private let confirms: Bool
    /// This node's turn at the session, which the read waits for and takes; nil to read without a turn.
    private let turn: RedisTurn?
    private let done: Completion<SessionView?>

    struct Attempt: Sendable {
        /// What the answer replaces in the table.
        var known: SessionTable.Known
        /// If this version is still the head, the answer is `known`.
        var version: UInt64?
        /// Additional time to live.
        var longer = Duration.zero
        /// The largest record to send at once, in bytes.
        var maxBytes = 64 * 1024
        /// Whether the log entries after the known session suffice.
        var followsLog = true
        var left = 4

        init(_ known: SessionTable.Known) { (self.known, version) = (known, known.view?.session.version) }

        /// The known session, if the log entries after it may suffice.
        var followed: Session? {
            guard followsLog, let session = known.view?.session, !session.log.entries.isEmpty else { return nil }
            return session
        }

        /// The next attempt, based on the session now known.
        func next(_ known: SessionTable.Known) -> Attempt {
            var next = Attempt(known)
            (next.maxBytes, next.left) = (maxBytes, max(1, left - 1))
            return next
        }

        /// The next attempt, for the whole record.
        var whole: Attempt {
            var next = next(known)
            (next.version, next.followsLog) = (nil, false)
            return next
        }

        /// The next attempt after a read of the revocations.
        var renewed: Attempt {
            var next = self
            if let view = known.view?.renewed { next.known = .session(view) }
            next.left -= 1
            return next
        }
    }

    init(
        _ name: String, from store: RedisStore, on executor: any WorkExecutor, confirms: Bool = false,
        in turn: RedisTurn? = nil, _ done: @escaping Completion<SessionView?>
    ) {
        (self.name, self.store, self.executor, self.done) = (name, store, executor, done)
        (self.confirms, self.turn) = (confirms, turn)
    }

    /// - Parameter time: in milliseconds.
    func ask(_ attempt: Attempt, after time: Int = 0) {
        if time > 0 {
            store.client(on: executor).loop.schedule(after: .milliseconds(time)) { self.ask(attempt) }
            return
        }
        guard store.hasOurRecords else { return done(.failure(.recordsUnknown)) }
        guard store.revocations.areKnown else { return refresh(attempt) }
        let slot = attempt.known.view?.slot ?? store.table.evictedSlot(name)
        let version = attempt.known.view?.session.version ?? slot?.version
        let followed = attempt.followed
        let arguments = [
            .version(attempt.version ?? 0), RedisArgument(milliseconds: attempt.longer),
            followed.map { RedisArgument($0.log.last) } ?? "",
            .bytes(followed.map { LogEntry.digits($0.version) } ?? []), .number(attempt.maxBytes),
            store.revocations.knownVersion, .text(turn?.isWanted == true ? store.node : ""),
        ]
        turn?.ends = .now + RedisTurn.length
        let keys = store.revocations.keys(with: store.keys.key(name))
        store.client(on: executor).run(RedisScripts.read, keys: keys, arguments) { [self] result in
            if case .success = result { store.health.answers() }
            receive(result, to: attempt, at: version)
        }
    }

    /// - Parameter version: the version in the table when Redis was asked.
    private func receive(_ result: RedisResult, to attempt: Attempt, at version: UInt64?) {
        switch result {
        case .failure(let failure): done(.failure(StoreFailure(failure)))
        case .success(.null):
            let isGone = store.table.foundNothing(of: name, at: version)
            if isGone || attempt.left <= 1 { done(.success(nil)) } else { ask(attempt.next(store.table.known(name))) }
        // The known session is the head, even if it was evicted meanwhile.
        case .success(.array(let parts)) where parts.isEmpty:
            done(.success(attempt.known.view?.renewed ?? attempt.known.view))
        // Another node has the turn.
        case .success(let reply) where reply.wait > 0:
            turn?.isContended = true
            turn?.waits += 1
            ask(attempt, after: reply.wait)
        // The request's own token may have been revoked.
        case .success(.array(let parts)) where parts == [.text("revoked")]:
            guard attempt.left > 0 else { return done(.failure(.unavailable("its revocations change too fast"))) }
            refresh(attempt)
        case .success(let reply):
            if attempt.maxBytes < .max, let large = LargeRecord(reply, of: name, confirms) { return load(large) }
            let found = FoundRecord(reply, behind: attempt.known.view?.session.log.last ?? 0)
            if let found { return adoptOnWorker(found, attempt) }
            if attempt.left > 1 { ask(attempt.whole) } else { done(.failure(.damaged(name))) }
        }
    }

    /// Reads the revocations, which have changed or were never read, and asks again.
    private func refresh(_ attempt: Attempt) {
        store.revocations.refresh { [self] result in
            if case .failure(let failure) = result { done(.failure(failure)) } else { ask(attempt.renewed) }
        }
    }

    /// Loads a large record, once for all requests, when there is room for it.
    private func load(_ large: LargeRecord) {
        guard store.largeLoads.join(large, done) else { return }
        // Twice the size: for the reply, and for the session made from it.
        store.table.account.records.reserve(2 * large.size) { [self] share in
            // The turn was taken before. It may be over, but a wait for another one would hold this much memory.
            let reading = RedisReading(name, from: store, on: executor, confirms: confirms) { [store] result in
                let result = result.map { $0.map { SessionView($0.slot, $0.session, of: $0.table, share: share) } }
                for done in store.largeLoads.removeAll(for: large) { done(result) }
            }
            var whole = Attempt(store.table.known(name))
            whole.maxBytes = .max
            reading.ask(whole)
        }
    }

    /// Adopts what was found: on a worker if it is large, and once replicas have it if need be.
    private func adoptOnWorker(_ found: FoundRecord, _ attempt: Attempt) {
        let cost = max(.text(found.bytes), attempt.known.view?.cost() ?? .none)
        let proceed = { @Sendable [self] in store.workers.run(cost) { self.adopt(found, attempt) } }
        guard confirms, let stored = store.confirm(name, on: executor) else { return proceed() }
        stored.whenDone { [done] result in
            if case .failure(let failure) = result { done(.failure(failure)) } else { proceed() }
        }
    }

    private func adopt(_ found: FoundRecord, _ attempt: Attempt) {
        let (table, known) = (store.table, attempt.known)
        do throws(SessionRecord.Failure) {
            let session = try found.session(after: known.view?.session, by: store.transition(of: name))
            let adopted = table.adopt(session, as: name, inPlaceOf: known)
            // If the table has changed meanwhile, Redis is asked again, so that no local reader is told an older
            // version than another. After the last attempt the record is the answer: it was the head when Redis was
            // asked.
            if adopted == nil, attempt.left > 1 { return ask(attempt.next(table.known(name))) }
            let slot = adopted ?? table.anySlot(name) ?? SessionSlot(outsideOf: name, session)
            done(.success(SessionView(slot, session, of: table)))
        } catch {
            // Either a change as large as the state is only in the checkpoint, or the log does not fit the known
            // session, or the reply was damaged in transit, and the next one will be whole.
            guard error == .damaged, found.record == nil || attempt.left > 1 else {
                return done(.failure(StoreFailure(error, of: name)))
            }
            ask(attempt.whole)
        }
    }
}

/// A turn of this node at a session, during which no other node commits. Confined to one reading.
final class RedisTurn: @unchecked Sendable {
    /// Commands sent before this are in time.
    fileprivate(set) var ends = Instant.now
    /// Whether other nodes want turns too.
    fileprivate(set) var isContended: Bool
    fileprivate var waits = 0

    /// False after many waits: a node far from Redis may miss every turn it is given, and continues without one.
    fileprivate var isWanted: Bool { waits <= 8 }

    static let length = Duration.milliseconds(20)

    init(isContended: Bool = false) { self.isContended = isContended }
}

/// A record too large to be sent at once.
struct LargeRecord: Hashable {
    let name: String
    let version: String
    let size: Int
    /// Whether replicas must have it. A read that needs this cannot share a load that does not ask for it.
    let isConfirmed: Bool

    init?(_ reply: RedisReply, of name: String, _ isConfirmed: Bool) {
        guard let parts = reply.elements, parts.count == 2, let version = parts[0].text,
            case .integer(let size) = parts[1], (0...1 << 40).contains(size)
        else { return nil }
        (self.name, self.version, self.size, self.isConfirmed) = (name, version, Int(size), isConfirmed)
    }
}

/// The answer of the script `read`.
private struct FoundRecord: Sendable {
    let version: UInt64
    /// Nil if the log continues from the known session.
    let record: SessionRecord?
    /// The positions of the last entry that the record covers, and of the first entry in the log.
    let covered, first: UInt64
    /// The position of the first of `entries`.
    let start: UInt64
    /// Entries of the log; nil for a missing one.
    let entries: [[UInt8]?]

    /// - Parameter known: the position of the known session.
    init?(_ reply: RedisReply, behind known: UInt64) {
        guard let parts = reply.elements, [4, 6].contains(parts.count), let digits = parts[0].text,
            // Commits compare this text in Redis.
            let version = UInt64(digits, radix: 16), Session.text(version) == digits,
            let covered = parts[1].text.flatMap({ UInt64($0) }), let first = parts[2].text.flatMap({ UInt64($0) }),
            first < 1 << 62
        else { return nil }
        (self.version, self.covered, self.first) = (version, covered, first)
        entries = (parts[3].elements ?? []).map { if case .bytes(let bytes) = $0 { bytes } else { nil } }
        start = parts.count == 4 ? known + 1 : first
        switch (parts.count, parts[parts.count - 2], parts[parts.count - 1]) {
        case (4, _, _): record = nil
        case (_, .bytes(let meta), .bytes(let head)): record = SessionRecord(meta: meta, head: head)
        default: return nil
        }
    }

    var bytes: Int { entries.reduce(record?.bytes ?? 0) { $0 + ($1?.count ?? 0) } }

    func session(after known: Session?, by transition: SessionTransition) throws(SessionRecord.Failure) -> Session {
        let found = entries.enumerated().map { FoundEntry(start + UInt64($0), $1, by: transition.hash) }
        let session: Session
        if let record {
            let firstBehind = found.firstIndex { $0.id > covered } ?? found.count
            session = try .found(
                record, covered: Array(found[..<firstBehind]), behind: Array(found[firstBehind...]), version: version,
                by: transition)
        } else {
            guard let known else { throw .damaged }
            session = try known.following(found, from: first, covered: covered, by: transition)
        }
        guard session.version == version else { throw .damaged }
        return session
    }
}
