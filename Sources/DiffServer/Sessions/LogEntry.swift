// One commit in the log of a session. `step` leads from the state before it to the one that it made, `back` the other
// way. So the entries after a checkpoint lead to the head, and all of them together are the history.
//
// Layout: the version that the commit made, as 16 hexadecimal digits, which a store compares without reading the rest;
// the lengths of `meta`, `step` and `back`, 4 bytes each, and then these three; and a checksum of everything before it,
// 8 bytes. `meta` is JSON. An entry that is nothing but the digits starts a log: nothing before it counts.

import HTTPCore
import SnapshotKit

/// What a commit has changed.
struct LogEntry: Sendable {
    /// The version of the session that the commit made.
    let version: UInt64
    /// Nil if the commit only remembered an answered key, or changed settings.
    var change: Change?
    /// The new settings; nil if they have not changed.
    var settings: Session.Settings?
    /// The key that was answered.
    var replay: ReplayWindow.KeyedEntry?

    /// A new revision.
    struct Change: Sendable {
        let origin: Session.Head.Origin
        /// Leads here from the state before; nil if it would be as large as the state, which is in the checkpoint then.
        let step: SnapshotDelta?
        /// Leads to the state before; nil if its writer keeps no history.
        let back: SnapshotDelta?
    }

    /// What leads from one session to another; nil if more than one commit lies between them.
    init?(from before: Session, to next: Session) {
        version = next.version
        replay = next.replays.entries.last.flatMap { last in
            before.replays.entries.contains { $0.key == last.key && $0.entry.done == last.entry.done } ? nil : last
        }
        if next.head.revision == before.head.revision {
            if next.settings != before.settings { settings = next.settings }
            return
        }
        guard next.head.parent == before.head.revision, next.startedOverAt == before.startedOverAt,
            next.settings == before.settings
        else { return nil }
        // A history without room forgets at once, while another node may remember more.
        let newest = next.history.newest.flatMap { $0.revision == before.head.revision ? $0 : nil }
        change = Change(origin: next.head.origin, step: next.head.step, back: newest?.back)
    }

    // MARK: Bytes

    /// A version as an entry begins with it; and the entry that starts a log.
    static func digits(_ version: UInt64) -> [UInt8] {
        var writer = JSONWriter(capacity: 16)
        writer.append(hex: version)
        return writer.bytes()
    }

    /// - Parameter hash: makes the checksum.
    func bytes(by hash: KeyedHash) -> [UInt8] {
        let clock = WallClock()
        var meta = JSONObject(capacity: 1024)
        meta.number("format", settings == nil ? SessionRecord.format : SessionRecord.settledFormat)
        if let change {
            meta.origin(change.origin, clock)
            if change.step == nil { meta.number("restated", 1) }
            if change.back == nil { meta.number("forgets", 1) }
        }
        if let settings { meta.object("settings") { $0.settings(settings) } }
        if let replay { meta.object("replay") { $0.replay(replay, clock) } }
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
        guard let version = UInt64(String(decoding: bytes.prefix(16), as: UTF8.self), radix: 16) else { throw .damaged }
        self.version = version
        if bytes.count == 16 { return }
        let content = Array(bytes.dropLast(8))
        guard content.count >= 28, hash.sum(content) == Self.number(bytes.suffix(8)) else { throw .damaged }
        let lengths = (0..<3).map { Int(Self.number(content[16 + 4 * $0..<20 + 4 * $0])) }
        guard lengths.reduce(28, +) == content.count else { throw .damaged }
        let (step, back) = (28 + lengths[0], 28 + lengths[0] + lengths[1])
        guard let members = JSONSlice.members(of: Array(content[28..<step])), let format = members["format"]?.integer
        else { throw .damaged }
        guard [SessionRecord.format, SessionRecord.settledFormat].contains(format) else { throw .format(format) }
        let clock = WallClock()
        if members.revision("revision") != nil {
            let origin = try members.origin(clock)
            guard origin.parent != nil else { throw .damaged }
            change = Change(
                origin: origin,
                step: members["restated"] == nil ? SnapshotDelta(bytes: Array(content[step..<back])) : nil,
                back: members["forgets"] == nil ? SnapshotDelta(bytes: Array(content[back...])) : nil)
        }
        if let written = members["settings"] {
            guard change == nil, let members = written.members else { throw .damaged }
            settings = try members.settings()
        }
        if let written = members["replay"] { replay = try SessionRecord.replay(written, clock) }
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
