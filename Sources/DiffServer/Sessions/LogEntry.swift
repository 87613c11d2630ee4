// One commit in the log of a session. Whoever has the state before comes to the one after it by `step`; whoever has the
// one after it comes to the one before by `back`. So the log behind a checkpoint makes the head, and all of it is the
// history.
//
// Layout: the version that the commit made as 16 hexadecimal digits, for a store that compares it without reading the
// rest; the lengths of `meta`, `step` and `back` as numbers of 4 bytes, then these; and a sum of all that, 8 bytes.
// `meta` is JSON. An entry of the digits alone begins a log: what came before is over.

import HTTPCore
import SnapshotKit

/// What a commit has changed.
struct LogEntry: Sendable {
    /// What the commit made of the session: its name in the store.
    let version: UInt64
    /// Nil where a commit only remembers an answered key, or changes settings.
    let change: Change?
    /// What the settings are from then on; nil where they stay.
    let settings: Session.Settings?
    /// The key that was answered.
    let replay: (key: ReplayWindow.Key, entry: ReplayWindow.Entry)?

    /// A new revision.
    struct Change: Sendable {
        let revision: Revision
        let parent: Revision
        let maker: RequestFingerprint?
        let made: Instant
        let marks: Marks
        /// Leads here from the state before; nil where that would be as much as the state, which is the checkpoint
        /// then.
        let step: SnapshotDelta?
        /// Leads to the state before; nil where whoever wrote it keeps no past.
        let back: SnapshotDelta?
    }

    /// What leads from one session to another; nil where that was not made of the first by one commit.
    init?(from before: Session, to next: Session) {
        let replay = next.replays.entries.last.flatMap { last in
            before.replays.entries.contains { $0.key == last.key && $0.entry.done == last.entry.done } ? nil : last
        }
        if next.head.revision == before.head.revision {
            let settings = next.settings == before.settings ? nil : next.settings
            self.init(version: next.version, change: nil, settings: settings, replay: replay)
            return
        }
        guard next.head.parent == before.head.revision, next.startedOverAt == before.startedOverAt,
            next.settings == before.settings
        else { return nil }
        // A history without room forgets at once, and another node may have more.
        let newest = next.history.newest.flatMap { $0.revision == before.head.revision ? $0 : nil }
        self.init(
            version: next.version,
            change: Change(
                revision: next.head.revision, parent: before.head.revision, maker: next.head.maker,
                made: next.head.made, marks: next.head.marks, step: next.head.step,
                back: newest?.back),
            replay: replay)
    }

    private init(
        version: UInt64, change: Change?, settings: Session.Settings? = nil,
        replay: (key: ReplayWindow.Key, entry: ReplayWindow.Entry)?
    ) {
        (self.version, self.change, self.settings, self.replay) = (version, change, settings, replay)
    }

    // MARK: Bytes

    /// The entry that begins a log.
    static func start(_ version: UInt64) -> [UInt8] { digits(version) }

    /// A version as an entry begins with it.
    static func digits(_ version: UInt64) -> [UInt8] {
        var writer = JSONWriter(capacity: 16)
        writer.append(hex: version)
        return writer.bytes()
    }

    /// - Parameter hash: of the store, for the sum.
    func bytes(by hash: KeyedHash) -> [UInt8] {
        let calendar = Calendar()
        var meta = JSONObject(capacity: 1024)
        meta.number("format", settings == nil ? SessionRecord.format : SessionRecord.settledFormat)
        if let change {
            meta.revision("revision", change.revision)
            meta.revision("parent", change.parent)
            if change.step == nil { meta.number("restated", 1) }
            if change.back == nil { meta.number("forgets", 1) }
            if let maker = change.maker { meta.hex("maker", maker.value) }
            meta.number("made", calendar.milliseconds(change.made))
            meta.marks(change.marks)
        }
        if let settings { meta.object("settings") { $0.settings(settings) } }
        if let replay { meta.object("replay") { $0.replay(replay, calendar) } }
        let parts = [meta.bytes(), change?.step?.bytes ?? [], change?.back?.bytes ?? []]
        var writer = JSONWriter(capacity: parts.reduce(36) { $0 + $1.count })
        writer.append(hex: version)
        for part in parts { withUnsafeBytes(of: UInt32(part.count).littleEndian) { writer.append($0.baseAddress!, 4) } }
        for part in parts { writer.append(part) }
        var bytes = writer.bytes()
        withUnsafeBytes(of: hash.sum(bytes).littleEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Reads an entry.
    init(_ bytes: [UInt8], by hash: KeyedHash) throws(SessionRecord.Failure) {
        if bytes.count == 16, let version = UInt64(String(decoding: bytes, as: UTF8.self), radix: 16) {
            self.init(version: version, change: nil, replay: nil)
            return
        }
        let content = Array(bytes.dropLast(8))
        guard content.count >= 28, hash.sum(content) == Self.number(bytes.suffix(8)),
            let version = UInt64(String(decoding: content[..<16], as: UTF8.self), radix: 16)
        else { throw .damaged }
        let lengths = (0..<3).map { Int(Self.number(content[16 + 4 * $0..<20 + 4 * $0])) }
        guard lengths.reduce(28, +) == content.count else { throw .damaged }
        let (step, back) = (28 + lengths[0], 28 + lengths[0] + lengths[1])
        guard let members = JSONSlice.members(of: Array(content[28..<step])), let format = members["format"]?.integer
        else { throw .damaged }
        guard [SessionRecord.format, SessionRecord.settledFormat].contains(format) else { throw .format(format) }
        let calendar = Calendar()
        var change: Change?
        if let revision = members.revision("revision") {
            guard let made = members["made"]?.integer, let parent = members.revision("parent"),
                parent.sequence &+ 1 == revision.sequence, revision.sequence < SessionRecord.largestSequence
            else { throw .damaged }
            change = Change(
                revision: revision, parent: parent,
                maker: members["maker"]?.string.flatMap { UInt64($0, radix: 16) }.map(RequestFingerprint.init(value:)),
                made: calendar.past(milliseconds: made), marks: try members.marks(),
                step: members["restated"] == nil ? SnapshotDelta(bytes: Array(content[step..<back])) : nil,
                back: members["forgets"] == nil ? SnapshotDelta(bytes: Array(content[back...])) : nil)
        }
        var settings: Session.Settings?
        if let written = members["settings"] {
            guard change == nil, let members = written.members else { throw .damaged }
            settings = try members.settings()
        }
        var replay: (key: ReplayWindow.Key, entry: ReplayWindow.Entry)?
        if let written = members["replay"] { replay = try SessionRecord.replay(written, calendar) }
        self.init(version: version, change: change, settings: settings, replay: replay)
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
