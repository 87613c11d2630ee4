// A session that was read goes into the table only in place of the one that was there when Redis was asked. If another
// read or write was faster, Redis is asked again. So a slot never returns to an older value. A request continues with
// what it has read, whether or not that is still in the table: otherwise sessions that are read at the same time and do
// not fit into memory together would evict each other for ever.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// A question to Redis about a session.
struct RedisSearch: Sendable {
    let name: String
    /// The session in the table, which the answer replaces.
    var known: SessionView?
    /// If this version is still the head, the answer is `known`.
    var version: UInt64?
    /// Added to the time to live.
    var longer = Duration.zero
    /// The largest record to be sent at once, in bytes. A larger one is loaded once for all who ask, when it is its
    /// turn: it may have to wait for a worker.
    var maxBytes = 64 * 1024
    /// Whether the log from the known session on is enough.
    var followsLog = true
    /// How often to ask at most.
    var attempts = 4
    let executor: any WorkExecutor
    var done: Completion<SessionView?>

    init(
        _ name: String, _ known: SessionView?, on executor: any WorkExecutor, _ done: @escaping Completion<SessionView?>
    ) {
        (self.name, self.known, self.executor, self.done) = (name, known, executor, done)
        version = known?.session.version
    }

    /// The question once more, from what is known by now.
    fileprivate func retrying(with known: SessionView?, attempts: Int) -> RedisSearch {
        var next = RedisSearch(name, known, on: executor, done)
        (next.maxBytes, next.attempts) = (maxBytes, attempts)
        return next
    }
}

extension RedisStore {
    func read(_ search: RedisSearch) {
        let (name, known, done) = (search.name, search.known, search.done)
        guard hasOurRecords else { return done(.failure(.recordsUnknown)) }
        let again = { @Sendable [self] (result: Result<Void, StoreFailure>) in
            if case .failure(let failure) = result { return done(.failure(failure)) }
            var next = search
            (next.known, next.attempts) = (known?.renewed ?? known, search.attempts - 1)
            read(next)
        }
        guard revocations.areKnown else { return revocations.refresh(again) }
        let slot = known?.slot ?? table.awaySlot(name)
        let version = known?.session.version ?? slot?.version
        let log = search.followsLog && known?.session.log.entries.isEmpty == false ? known?.session : nil
        var keys = [RedisScripts.key(name)]
        var arguments = [
            .version(search.version ?? 0), RedisArgument(Int(search.longer / .milliseconds(1))),
            log.map { RedisArgument($0.log.last) } ?? "",
            RedisArgument(log.map { LogEntry.digits($0.version) } ?? []), RedisArgument(search.maxBytes),
        ]
        revocations.compare(&keys, &arguments)
        client(on: search.executor).run(RedisScripts.read, keys: keys, arguments) { [self] result in
            switch result {
            case .failure(let failure): done(.failure(StoreFailure(failure)))
            case .success(.null):
                if let slot, let version { _ = table.drop(slot, .version(version)) }
                done(.success(nil))
            // The known session is the head, even if it has left memory meanwhile.
            case .success(.array(let parts)) where parts.isEmpty: done(.success(known?.renewed ?? known))
            case .success(.array(let parts)) where parts.count == 1:
                // The request's own token may have been revoked.
                guard search.attempts > 0 else {
                    return done(.failure(.unavailable("its revocations change too fast")))
                }
                revocations.refresh(again)
            case .success(let reply):
                if search.maxBytes < .max, let large = LargeRecord(reply, of: name) { return load(large, search) }
                guard let found = FoundRecord(reply, behind: known?.session.log.last ?? 0) else {
                    return done(.failure(.damaged(name)))
                }
                let takeOver = { @Sendable [self] in adopt(found, search) }
                if WorkCost.text(found.bytes).isLong || known?.isLong ?? false {
                    workers.run(takeOver)
                } else {
                    takeOver()
                }
            }
        }
    }

    /// Loads a large record, once for all who need it, and when there is room for it.
    private func load(_ large: LargeRecord, _ search: RedisSearch) {
        guard largeLoads.join(large, search.done) else { return }
        // The reply, and the session that is made of it.
        let bytes = 2 * large.size
        gate.enter(bytes) { [self] in
            let lease = RecordLease(of: gate, bytes)
            var next = RedisSearch(large.name, search.known, on: search.executor) { [self] result in
                let result = result.map { view in
                    var view = view
                    view?.lease = lease
                    return view
                }
                for done in largeLoads.removeAll(for: large) { done(result) }
            }
            next.maxBytes = .max
            read(next)
        }
    }

    private func adopt(_ found: FoundRecord, _ search: RedisSearch) {
        let (name, known, done) = (search.name, search.known, search.done)
        do throws(SessionRecord.Failure) {
            let session = try found.session(
                after: known?.session,
                by: SessionTransition(name: name, bounds: table.bounds.history, hash: hash, now: .now, isLogged: true))
            let adopted = table.adopt(session, as: name, inPlaceOf: known)
            // If the table has changed meanwhile, Redis is asked again, so that no reader here is told something older
            // than another. After the last attempt what was read is the answer: it was the head while Redis was asked,
            // and Redis compares a write that follows it.
            guard let slot = adopted ?? (search.attempts > 1 ? nil : table.anySlot(name)) else {
                return read(search.retrying(with: table.view(name), attempts: max(1, search.attempts - 1)))
            }
            done(.success(SessionView(slot, session, of: table)))
        } catch {
            switch error {
            case .damaged where found.record == nil:
                // A change as large as the state is only in the checkpoint; or the log does not fit the known session.
                var next = search.retrying(with: known, attempts: search.attempts)
                (next.version, next.followsLog) = (nil, false)
                read(next)
            case .damaged, .format: done(.failure(StoreFailure(error, of: name)))
            }
        }
    }
}

/// A record that was too large to be sent at once.
struct LargeRecord: Hashable {
    let name: String
    let version: String
    let size: Int

    init?(_ reply: RedisReply, of name: String) {
        guard let parts = reply.elements, parts.count == 2, let version = parts[0].text,
            case .integer(let size) = parts[1], (0...1 << 40).contains(size)
        else { return nil }
        (self.name, self.version, self.size) = (name, version, Int(size))
    }
}

/// What the script `read` found.
private struct FoundRecord: Sendable {
    let version: UInt64
    /// Nil if the log continues from the known session.
    let record: SessionRecord?
    /// The positions of the last entry that is in the record, and of the first one of the log.
    let covered, first: UInt64
    /// The position of the first of `entries`.
    let start: UInt64
    /// Nil for a missing one.
    let entries: [[UInt8]?]

    /// - Parameter known: the position of the known session.
    init?(_ reply: RedisReply, behind known: UInt64) {
        guard let parts = reply.elements, [4, 6].contains(parts.count),
            let version = parts[0].text.flatMap({ UInt64($0, radix: 16) }),
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

    func session(
        after known: Session?, by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
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
