// What a writer must know of a session's log. The log holds all commits that the history leads back over, and all after
// the checkpoint. From this, a commit decides whether to write a new checkpoint, and which entries to remove.

import SnapshotKit

/// A session's checkpoint and log in a store.
public struct SessionLog: Sendable {
    /// One commit.
    public struct Entry: Sendable {
        public let id: UInt64
        /// The sequence of the revision after the commit.
        let sequence: UInt64
        let bytes: Int
    }

    /// Oldest first.
    public private(set) var entries: [Entry] = []
    private var entryBytes = 0
    /// How many of them the checkpoint already covers.
    var covered: Int
    /// Its bytes.
    var checkpoint: Int

    init(covered: Int = 0, checkpoint: Int = 0) { (self.covered, self.checkpoint) = (covered, checkpoint) }

    /// Bytes in the store: the checkpoint and all entries.
    public var bytes: Int { checkpoint + entryBytes }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        entryBytes += entry.bytes
    }

    mutating func removeFirst(_ count: Int) {
        for entry in entries.prefix(count) { entryBytes -= entry.bytes }
        entries.removeFirst(count)
    }

    var footprint: Int { entries.capacity * MemoryLayout<Entry>.stride }

    /// The id of the last commit; 0 if there is none.
    public var last: UInt64 { entries.last?.id ?? 0 }
}

/// What a commit writes to a store, and removes from it.
public struct LogCommit: Sendable {
    public let id: UInt64
    public let entry: [UInt8]
    /// Whether the whole session is written, because its log has become too long.
    public let isCheckpoint: Bool
    /// Whether it starts a new log, and replaces everything that was there.
    public let isStart: Bool
    /// Entries no longer needed. They are removed with a checkpoint, many at once.
    public let removed: [UInt64]
    public let session: Session

    /// Replaces `before` by `next`, under a new version. The history has room for this many revisions.
    public init(_ next: Session, after before: Session?, id: UInt64, revisions: Int, by hash: KeyedHash) {
        self.id = id
        let version = UInt64.random(in: 1 ... .max)
        let sequence = next.head.revision.sequence
        // A damaged log may have lost its newest entry, which the next one would have to name.
        let isWhole = before?.log.entries.isEmpty == false
        // No bound on the history would ever remove commits that only remember keys. A checkpoint has all keys, so the
        // more keys there are, the more commits it serves.
        let most = 2 * max(1, revisions, next.replays.count / 8)
        let isTooLong = (before?.log.entries.count ?? 0) > 3 * most / 2 + 64
        guard let before, isWhole, !isTooLong, let entry = LogEntry(from: before, to: next, version) else {
            entry = LogEntry.digits(version)
            (isCheckpoint, isStart, removed) = (true, true, before?.log.entries.map(\.id) ?? [])
            var log = SessionLog(covered: 1, checkpoint: next.checkpointBytes)
            log.append(SessionLog.Entry(id: id, sequence: sequence, bytes: 16))
            session = next.with(version: version, log: log)
            return
        }
        let bytes = entry.bytes(by: hash)
        var log = before.log
        log.append(SessionLog.Entry(id: id, sequence: sequence, bytes: bytes.count))
        let behind = log.entries[log.covered...]
        let isRestated = entry.change.map { $0.step == nil } ?? false
        // Many entries stay for the history in any case, so rare checkpoints hardly lengthen the log: a text that grows
        // to 40 KB in 300 commits takes less than twice its own bytes (test_growing).
        isCheckpoint =
            isRestated || behind.count > most || behind.reduce(0) { $0 + $1.bytes } > 4 * log.checkpoint
        if isCheckpoint {
            // The entry after the oldest revision leads back to it, and the one that made it has its marks.
            let oldest = next.history.oldestSequence ?? sequence
            removed = log.entries.prefix { $0.sequence < oldest && $0.id != id }.map(\.id)
            log.removeFirst(removed.count)
            (log.covered, log.checkpoint) = (log.entries.count, next.checkpointBytes)
        } else {
            removed = []
        }
        (self.entry, isStart) = (bytes, false)
        session = next.with(version: version, log: log)
    }

    /// The whole session; nil if only the entry is written. O(items + bytes).
    public func checkpoint(by hash: KeyedHash) -> SessionRecord? {
        isCheckpoint ? SessionRecord(session, by: hash) : nil
    }
}

/// An entry of a log as a store returns it.
public struct FoundEntry: Sendable {
    public let id: UInt64
    let entry: Result<LogEntry, SessionRecord.Failure>
    let bytes: Int

    /// - Parameter bytes: nil if it is missing.
    public init(_ id: UInt64, _ bytes: [UInt8]?, by hash: KeyedHash) {
        (self.id, self.bytes) = (id, bytes?.count ?? 0)
        entry = Result { () throws(SessionRecord.Failure) in
            guard let bytes else { throw .damaged }
            return try LogEntry(bytes, by: hash)
        }
    }

    var change: LogEntry.Change? { (try? entry.get())?.change }
    public var settings: Session.Settings? { (try? entry.get())?.settings }
}

extension Session {
    /// Approximate: those of the state, and of the answered keys.
    fileprivate var checkpointBytes: Int { head.snapshot.textBytes + replays.footprint }

    /// The session of a checkpoint and its log.
    ///
    /// - Parameters:
    ///   - covered: the history, oldest first. An unreadable entry is forgotten, with all before it.
    ///   - behind: the entries after the checkpoint, all of which must be readable.
    public static func found(
        _ record: SessionRecord, covered: [FoundEntry], behind: [FoundEntry], version: UInt64,
        by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        let isHead = behind.allSatisfy { $0.change == nil }
        let start = try record.session(named: transition.name, hash: transition.hash, isHead: isHead)
        var (history, log) = (History(), SessionLog(covered: covered.count, checkpoint: record.bytes))
        var (marks, revision): (Marks, Revision?) = (.none, nil)
        for found in covered {
            if let change = found.change {
                if revision != nil, revision != change.provenance.parent { history = History() }
                revision = change.provenance.revision
                history.retire(change, marks: marks, bounds: transition.bounds)
                marks = change.provenance.marks
            } else if case .failure = found.entry {
                history = History()
            }
            log.append(SessionLog.Entry(found))
        }
        if revision != start.head.revision { history = History() }
        history.trim(at: transition.now, bounds: transition.bounds)
        return try start.with(history: history, version: version, log: log).advanced(by: behind, by: transition)
    }

    /// The session after other nodes' commits, with the log as they left it: without the entries that they removed.
    ///
    /// - Parameters:
    ///   - first: the id of the first entry of the log.
    ///   - covered: the id of the last entry that the checkpoint covers.
    public func following(
        _ entries: [FoundEntry], from first: UInt64, covered: UInt64, by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        let session = try advanced(by: entries, by: transition)
        var log = session.log
        log.removeFirst(log.entries.prefix { $0.id < first }.count)
        log.covered = log.entries.prefix { $0.id <= covered }.count
        if covered > self.log.last { log.checkpoint = session.checkpointBytes }
        return session.with(log: log)
    }

    /// The session after commits that follow it, oldest first.
    func advanced(
        by entries: [FoundEntry], by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        // Settings determine how states are compared, also the one that they come with.
        guard let index = entries.firstIndex(where: { $0.settings != nil }), let settings = entries[index].settings
        else { return try continued(by: entries, by: transition) }
        let settled = transition.session(
            try continued(by: Array(entries[..<index]), by: transition), settled: settings)
        guard settled.settings == settings else { throw .damaged }
        return try settled.continued(by: [entries[index]], by: transition)
            .advanced(by: Array(entries[(index + 1)...]), by: transition)
    }

    /// The same, but for settings.
    private func continued(
        by entries: [FoundEntry], by transition: SessionTransition
    ) throws(SessionRecord.Failure) -> Session {
        var steps: [SnapshotDelta] = []
        var last: Head.Provenance?
        var (history, replays, log, marks, version) = (history, replays, log, head.marks, version)
        for found in entries {
            let entry = try found.entry.get()
            version = entry.version
            if let replay = entry.replay { replays.remember(replay.entry, by: replay.key) }
            if let change = entry.change {
                guard change.provenance.parent == last?.revision ?? head.revision, let step = change.step else {
                    throw .damaged
                }
                history.retire(change, marks: marks, bounds: transition.bounds)
                steps.append(step)
                (last, marks) = (change.provenance, change.provenance.marks)
            }
            log.append(SessionLog.Entry(found))
        }
        let session = with(replays: replays, version: version, log: log)
        guard var last else { return session }
        history.trim(at: transition.now, bounds: transition.bounds)
        guard let made = head.snapshot.applying(steps, isIndexed: true) else { throw .damaged }
        let fingerprints = Fingerprints(
            of: made.snapshot, ignoring: settings.ignored, from: head.fingerprints, reusing: made.shared)
        last.hasOldDigest =
            head.hasOldDigest && last.revision.digest == head.revision.digest
            && fingerprints.areOfSameState(as: head.fingerprints)
        let digest = fingerprints.digest(salt: settings.salt(transition.name))
        guard last.hasOldDigest || digest == last.revision.digest else { throw .damaged }
        return session.with(head: Head(last, snapshot: made.snapshot, fingerprints: fingerprints), history: history)
    }
}

extension History {
    /// Adds the revision before a commit, with its marks; or forgets everything if nothing leads back to it.
    fileprivate mutating func retire(_ change: LogEntry.Change, marks: Marks, bounds: Bounds) {
        if let parent = change.provenance.parent, let back = change.back {
            retire(parent, marks: marks, back: back, at: change.provenance.made, bounds: bounds)
        } else {
            self = History()
        }
    }
}

extension SessionLog.Entry {
    fileprivate init(_ found: FoundEntry) {
        self.init(id: found.id, sequence: found.change?.provenance.revision.sequence ?? 0, bytes: found.bytes)
    }
}

// MARK: - Entries

/// One commit in the log of a session. The entries after a checkpoint lead to the head, and all of them together are
/// the history. An object, since it is passed on often.
///
/// Layout: the version that the commit made, as 16 hexadecimal digits, which a store compares without reading the rest;
/// the lengths of `meta`, `step` and `back`, 4 bytes each, and then these three; and a checksum of everything before
/// it, 8 bytes. `meta` is JSON. An entry of only the digits starts a log: nothing before it counts.
public final class LogEntry: Sendable {
    public let version: UInt64
    /// Nil if the commit only remembered an answered key, or only changed settings.
    let change: Change?
    /// Nil if they are unchanged.
    public let settings: Session.Settings?
    /// The key that was answered.
    let replay: ReplayWindow.KeyedEntry?

    /// A new revision.
    struct Change: Sendable {
        let provenance: Session.Head.Provenance
        /// Leads here from the previous state; nil if it would be as large as the state, which then is in the
        /// checkpoint.
        let step: SnapshotDelta?
        /// Leads back to the previous state; nil if the writer keeps no history.
        let back: SnapshotDelta?
    }

    /// The commit from one session to the next, which gets a version; nil if the next one starts over.
    init?(from before: Session, to next: Session, _ version: UInt64) {
        self.version = version
        replay = next.replays.newest(since: before.replays)
        settings = next.settings == before.settings ? nil : next.settings
        if next.head.revision == before.head.revision {
            change = nil
            return
        }
        guard next.head.parent == before.head.revision, next.startedOverAt == before.startedOverAt else { return nil }
        // A history without room forgets at once, though another node may remember more.
        let newest = next.history.newest.flatMap { $0.revision == before.head.revision ? $0 : nil }
        change = Change(provenance: next.head.provenance, step: next.head.step, back: newest?.back)
    }

    // MARK: Bytes

    /// A version, as it begins an entry.
    public static func digits(_ version: UInt64) -> [UInt8] {
        var writer = JSONWriter(capacity: 16)
        writer.append(hex: version)
        return writer.bytes()
    }

    func bytes(by hash: KeyedHash) -> [UInt8] {
        let (step, back) = (change?.step?.bytes ?? [], change?.back?.bytes ?? [])
        return Parts(digits: Self.digits(version)[...], meta: meta[...], step: step[...], back: back[...])
            .bytes(by: hash)
    }

    private var meta: [UInt8] {
        let clock = WallClock()
        var meta = JSONObject(capacity: 512)
        meta.number("format", SessionRecord.format)
        if let change {
            meta.provenance(change.provenance, clock)
            if change.step == nil { meta.number("restated", 1) }
            if change.back == nil { meta.number("forgets", 1) }
        }
        if let settings { meta.object("settings") { $0.settings(settings) } }
        if let replay { meta.object("replay") { $0.replay(replay, clock) } }
        return meta.bytes()
    }

    init(_ bytes: [UInt8], by hash: KeyedHash) throws(SessionRecord.Failure) {
        guard let version = UInt64(String(decoding: bytes.prefix(16), as: UTF8.self), radix: 16) else { throw .damaged }
        self.version = version
        if bytes.count == 16 {
            (change, settings, replay) = (nil, nil, nil)
            return
        }
        guard let parts = Parts(bytes, by: hash), let members = JSONSlice.members(of: Array(parts.meta)),
            let format = members["format"]?.integer
        else { throw .damaged }
        guard format == SessionRecord.format else { throw .format(format) }
        let clock = WallClock()
        if members.revision("revision") != nil {
            let provenance = try members.provenance(clock)
            guard provenance.parent != nil else { throw .damaged }
            change = Change(
                provenance: provenance,
                step: members["restated"] == nil ? SnapshotDelta(bytes: Array(parts.step)) : nil,
                back: members["forgets"] == nil ? SnapshotDelta(bytes: Array(parts.back)) : nil)
        } else {
            change = nil
        }
        settings = try members["settings"].map { (written) throws(SessionRecord.Failure) in
            guard let members = written.members else { throw .damaged }
            return try members.settings()
        }
        replay = try members["replay"].map { (written) throws(SessionRecord.Failure) in
            try SessionRecord.replay(written, clock)
        }
    }

    /// What an entry consists of, if it has more than a version.
    struct Parts {
        let digits, meta, step, back: ArraySlice<UInt8>
    }
}

extension LogEntry.Parts {
    /// Nil if the entry is damaged.
    init?(_ bytes: [UInt8], by hash: KeyedHash) {
        let content = Array(bytes.dropLast(8))
        guard content.count >= 28, hash.sum(content) == Self.number(bytes.suffix(8)) else { return nil }
        let lengths = (0..<3).map { Int(Self.number(content[16 + 4 * $0..<20 + 4 * $0])) }
        guard lengths.reduce(28, +) == content.count else { return nil }
        let (step, back) = (28 + lengths[0], 28 + lengths[0] + lengths[1])
        self.init(digits: content[..<16], meta: content[28..<step], step: content[step..<back], back: content[back...])
    }

    func bytes(by hash: KeyedHash) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(36 + meta.count + step.count + back.count)
        bytes += digits
        for part in [meta, step, back] { Self.append(UInt32(part.count), to: &bytes) }
        for part in [meta, step, back] { bytes += part }
        Self.append(hash.sum(bytes), to: &bytes)
        return bytes
    }

    /// Appends a number, little-endian.
    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
