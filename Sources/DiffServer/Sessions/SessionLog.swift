// What a store has of a session, as far as who writes to it next has to know. The log holds all commits that the
// history leads back over, and all behind the checkpoint. Whoever commits decides by it whether to write a new
// checkpoint, and which entries go.

import HTTPCore
import SnapshotKit

/// A session's checkpoint and log in a store.
struct SessionLog: Sendable {
    /// One commit in the log.
    struct Entry: Sendable {
        /// What the store calls it.
        let id: UInt64
        /// The sequence of the session behind the commit.
        let sequence: UInt64
        let bytes: Int
    }

    /// Oldest first; the first one may be the beginning of the session.
    var entries: [Entry] = []
    /// How many of them the checkpoint holds already.
    var covered = 0
    /// Bytes of the checkpoint.
    var checkpoint = 0

    /// What the store keeps, in bytes: the session as it was written whole, and the commits behind and before that.
    var bytes: Int { entries.reduce(checkpoint) { $0 + $1.bytes } }

    /// Memory held, in bytes.
    var footprint: Int { entries.capacity * MemoryLayout<Entry>.stride }

    /// The last commit.
    var last: UInt64 { entries.last?.id ?? 0 }
}

/// What a commit writes and takes away.
struct LogCommit: Sendable {
    let id: UInt64
    let entry: [UInt8]
    /// Whether the whole of the session is written, since its log has become too long.
    let isCheckpoint: Bool
    /// Whether nothing of what was there before is needed any more.
    let isStart: Bool
    /// Entries that nobody needs any more: they go with a checkpoint, many at once.
    let removed: [UInt64]
    /// The session as it is written.
    let session: Session

    /// What puts `next`, under its new version, in place of `before`.
    ///
    /// - Parameters:
    ///   - before: nil for a new session.
    ///   - id: what the store calls the new entry.
    ///   - revisions: how many the history has room for.
    ///   - hash: of the store.
    init(_ next: Session, after before: Session?, id: UInt64, revisions: Int, by hash: KeyedHash) {
        self.id = id
        let sequence = next.head.revision.sequence
        // A record of an older format has no log.
        let known = before.flatMap { $0.log.entries.isEmpty ? nil : $0 }
        // Commits that only remember keys make no past, and would be kept with it for as long as nothing else comes.
        let isTooLong = (known?.log.entries.count ?? 0) > 2 * max(1, revisions) + 64
        guard let before = known, !isTooLong, let entry = LogEntry(from: before, to: next) else {
            entry = LogEntry.start(next.version)
            (isCheckpoint, isStart, removed) = (true, true, before?.log.entries.map(\.id) ?? [])
            session = next.with(
                log: SessionLog(
                    entries: [SessionLog.Entry(id: id, sequence: sequence, bytes: 16)], covered: 1,
                    checkpoint: next.head.snapshot.textBytes))
            return
        }
        let bytes = entry.bytes(by: hash)
        var log = before.log
        log.entries.append(SessionLog.Entry(id: id, sequence: sequence, bytes: bytes.count))
        let behind = log.entries[log.covered...]
        let isRestated = entry.change.map { $0.step == nil } ?? false
        isCheckpoint =
            isRestated || behind.count > max(1, revisions)
            || behind.reduce(0) { $0 + $1.bytes } > log.checkpoint
        if isCheckpoint {
            // What leads back to the oldest revision is in the entry behind the one that made it, which has its marks.
            let oldest = next.history.oldestSequence ?? sequence
            removed = log.entries.prefix { $0.sequence < oldest && $0.id != id }.map(\.id)
            log.entries.removeFirst(removed.count)
            (log.covered, log.checkpoint) = (log.entries.count, next.head.snapshot.textBytes)
        } else {
            removed = []
        }
        (self.entry, isStart) = (bytes, false)
        session = next.with(log: log)
    }
}

extension LogCommit {
    /// The whole of the session, where that is written. O(items + bytes).
    func checkpoint(by hash: KeyedHash) -> SessionRecord? { isCheckpoint ? SessionRecord(session, by: hash) : nil }
}

extension SessionRecord {
    var bytes: Int { meta.count + head.count }
}

/// What a store brings of a log.
struct FoundEntry: Sendable {
    let id: UInt64
    /// Or why it cannot be read.
    let entry: Result<LogEntry, SessionRecord.Failure>
    let bytes: Int

    /// - Parameters:
    ///   - bytes: nil where it is not there.
    ///   - hash: of the store.
    init(_ id: UInt64, _ bytes: [UInt8]?, by hash: KeyedHash) {
        (self.id, self.bytes) = (id, bytes?.count ?? 0)
        entry = Result { () throws(SessionRecord.Failure) in
            guard let bytes else { throw .damaged }
            return try LogEntry(bytes, by: hash)
        }
    }

    /// The revision that it made, if it is read and made one.
    var change: LogEntry.Change? { (try? entry.get())?.change }
    /// The settings that it changed to, if it is read and changed any.
    var settings: Session.Settings? { (try? entry.get())?.settings }
}

extension Session {
    /// The session of a checkpoint, with its log.
    ///
    /// - Parameters:
    ///   - covered: entries that the checkpoint holds already, oldest first: its past. What cannot be read of that is
    ///     forgotten, and all before it.
    ///   - behind: those that follow it, without any of which there is no session.
    ///   - transition: whose time is now.
    static func found(
        _ record: SessionRecord, covered: [FoundEntry], behind: [FoundEntry], version: UInt64,
        by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        let isHead = behind.allSatisfy { $0.change == nil }
        let start = try record.session(named: transition.name, hash: transition.hash, isHead: isHead)
        var (history, log) = (History(), SessionLog(covered: covered.count, checkpoint: record.bytes))
        var (marks, revision): (Marks, Revision?) = (.none, nil)
        for found in covered {
            if let change = found.change {
                if revision != nil, revision != change.parent { history = History() }
                revision = change.revision
                history.retire(change, marks: marks, bounds: transition.bounds)
                marks = change.marks
            } else if case .failure = found.entry {
                history = History()
            }
            log.entries.append(SessionLog.Entry(found))
        }
        if revision != start.head.revision { history = History() }
        history.trim(at: transition.now, bounds: transition.bounds)
        return try start.with(history: history, version: version, log: log).advanced(by: behind, by: transition)
    }

    /// The session behind commits of others, with the log as these have left it: who only follows would otherwise
    /// keep all there ever was.
    ///
    /// - Parameters:
    ///   - first: the entry that the log begins with.
    ///   - covered: the last one that the checkpoint holds.
    func following(
        _ entries: [FoundEntry], from first: UInt64, covered: UInt64, by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        let session = try advanced(by: entries, by: transition)
        var log = session.log
        log.entries.removeAll { $0.id < first }
        log.covered = log.entries.prefix { $0.id <= covered }.count
        if covered > self.log.last { log.checkpoint = session.head.snapshot.textBytes }
        return session.with(log: log)
    }

    /// The session behind commits of its log, each of which follows the one before, and the first one this session.
    func advanced(
        by entries: [FoundEntry], by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        // Settings say how the states behind them are compared: those before come first.
        if let place = entries.firstIndex(where: { $0.settings != nil }) {
            let before = try advanced(by: Array(entries[..<place]), by: transition)
            let settled = try before.settled(by: entries[place], by: transition)
            return try settled.advanced(by: Array(entries[(place + 1)...]), by: transition)
        }
        var steps: [SnapshotDelta] = []
        var last: LogEntry.Change?
        var (history, replays, log, marks, version) = (history, replays, log, head.marks, version)
        for found in entries {
            let entry = try found.entry.get()
            version = entry.version
            if let replay = entry.replay { replays.remember(replay.entry, by: replay.key) }
            if let change = entry.change {
                guard change.parent == last?.revision ?? head.revision, let step = change.step else { throw .damaged }
                history.retire(change, marks: marks, bounds: transition.bounds)
                steps.append(step)
                (last, marks) = (change, change.marks)
            }
            log.entries.append(SessionLog.Entry(found))
        }
        let session = with(replays: replays, version: version, log: log)
        guard let last else { return session }
        history.trim(at: transition.now, bounds: transition.bounds)
        guard let made = head.snapshot.applying(steps, isIndexed: true) else { throw .damaged }
        let fingerprints = Fingerprints(
            of: made.snapshot, ignoring: settings.ignored, from: head.fingerprints, reusing: made.reused)
        let hasOldDigest =
            head.hasOldDigest && last.revision.digest == head.revision.digest
            && fingerprints.areOfSameState(as: head.fingerprints)
        guard hasOldDigest || fingerprints.digest(salt: settings.salt(transition.name)) == last.revision.digest else {
            throw .damaged
        }
        let next = Head(
            revision: last.revision, snapshot: made.snapshot, fingerprints: fingerprints, marks: last.marks,
            parent: last.parent, maker: last.maker, made: last.made, hasOldDigest: hasOldDigest)
        return session.with(head: next, history: history)
    }
}

extension Session {
    /// The session behind a commit that changed its settings.
    private func settled(
        by found: FoundEntry, by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        let entry = try found.entry.get()
        guard let settings = entry.settings else { return self }
        var (replays, log) = (replays, log)
        if let replay = entry.replay { replays.remember(replay.entry, by: replay.key) }
        log.entries.append(SessionLog.Entry(found))
        let session = transition.session(self, settled: settings)
        guard session.settings == settings else { throw .damaged }
        return session.with(replays: replays, version: entry.version, log: log)
    }
}

extension History {
    /// Adds the revision that a commit followed, with the marks of that; or forgets all, where nothing leads back to
    /// it.
    fileprivate mutating func retire(_ change: LogEntry.Change, marks: Marks, bounds: Bounds) {
        if let back = change.back {
            retire(change.parent, marks: marks, back: back, at: change.made, bounds: bounds)
        } else {
            self = History()
        }
    }
}

extension SessionLog.Entry {
    fileprivate init(_ found: FoundEntry) {
        self.init(id: found.id, sequence: found.change?.revision.sequence ?? 0, bytes: found.bytes)
    }
}
