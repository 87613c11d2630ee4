// A session as a store keeps it: JSON, so that an operator can read it and an older process can refuse it. The head is
// the document that GET answers; `meta` is all else but the skeletons of past revisions, of which it only has the list:
// those are kept one by one, since a commit adds one and forgets some, and few readers ever need one that this process
// has not made itself.
//
// What is read is checked: the digest of the head must be that of its revision, and `meta` ends with a sum of itself.
// So a record that was torn or altered is noticed. (Of format 1, whose digests were another function, only that the
// head is a state; and `meta` that an older process wrote has no sum.) Numbers that are computed with are bounded, sum
// or not.

import SnapshotKit

/// The head of a session and what is known of its past, in bytes.
struct SessionRecord: Sendable, Equatable {
    /// Of `meta`. A process reads its own format and the one before.
    static let format = 2
    private static let readable = 1...2

    var meta: [UInt8]
    var head: [UInt8]

    init(meta: [UInt8], head: [UInt8]) { (self.meta, self.head) = (meta, head) }

    /// - Parameter hash: of the store, for the sum.
    init(_ session: Session, by hash: KeyedHash) {
        meta = Self.summed(Self.meta(session), by: hash)
        head = session.head.snapshot.documentJSON()
    }

    /// Why bytes are no session.
    enum Failure: Error, Equatable {
        /// Written by a newer process, or one that is too old.
        case format(Int)
        case damaged
    }

    // MARK: Writing

    private static func meta(_ session: Session) -> [UInt8] {
        let calendar = Calendar()
        var writer = RecordWriter()
        writer.number("format", format)
        writer.revision("revision", session.head.revision)
        writer.revision("parent", session.head.parent)
        if let maker = session.head.maker { writer.hex("maker", maker.value) }
        writer.number("made", calendar.milliseconds(session.head.made))
        writer.marks(session.head.marks)
        writer.number("startedOverAt", Int(clamping: session.startedOverAt))
        writer.number("ttl", Int(session.settings.timeToLive.components.seconds))
        writer.list("ignore", session.settings.ignored) { $0.writer.append(string: $1.description) }
        writer.list("replays", session.replays.entries) { writer, replay in
            writer.object {
                $0.text("writer", replay.key.writer)
                $0.text("key", replay.key.key)
                $0.hex("fingerprint", replay.entry.fingerprint.value)
                // What the write was answered with.
                $0.number("status", replay.entry.made ? 201 : 200)
                $0.revision("before", replay.entry.before)
                $0.number("done", calendar.milliseconds(replay.entry.done))
            }
        }
        writer.list("history", session.history.entries) { $0.entry($1, calendar) }
        return writer.finished()
    }

    // MARK: The sum

    private static let sumName = Array(",\"sum\":\"".utf8)
    /// The name, 16 digits, and the end of the object.
    private static let sumLength = sumName.count + 16 + 2

    /// An object with one member more: the sum of what it was.
    private static func summed(_ object: [UInt8], by hash: KeyedHash) -> [UInt8] {
        var writer = JSONWriter(capacity: object.count + sumLength)
        writer.append(Array(object.dropLast()))
        writer.append(sumName)
        writer.append(hex: hash.sum(object))
        writer.append("\"}")
        return writer.bytes()
    }

    /// Whether `meta` is as it was written, as far as it tells.
    private func isWhole(by hash: KeyedHash) -> Bool {
        guard meta.count > Self.sumLength else { return true }
        let object = meta.dropLast(Self.sumLength) + [UInt8(ascii: "}")]
        guard meta[(object.count - 1)...].starts(with: Self.sumName) else { return true }
        return Self.summed(Array(object), by: hash) == meta
    }

    // MARK: Reading

    /// Numbers that no record holds: what is computed from smaller ones cannot overflow.
    private static let largestSequence: UInt64 = 1 << 62
    private static let largestSkeleton = 1 << 40

    /// The session; of its past, only the list.
    func session(named name: String, hash: KeyedHash) throws(Failure) -> Session {
        guard isWhole(by: hash) else { throw .damaged }
        guard let members = JSONSlice.members(of: meta), let format = members["format"]?.integer else { throw .damaged }
        guard Self.readable.contains(format) else { throw .format(format) }
        guard let revision = members.revision("revision"), let made = members["made"]?.integer,
            let startedOverAt = members["startedOverAt"]?.integer, let ttl = members["ttl"]?.integer,
            let pointers = members["ignore"]?.strings, let replays = members["replays"]?.elements,
            let history = members["history"]?.elements, revision.sequence < Self.largestSequence,
            (0...Options.maxTimeToLive).contains(ttl)
        else { throw .damaged }
        let calendar = Calendar()
        let ignored = pointers.compactMap { JSONPointer($0) }
        guard let snapshot = try? Snapshot(json: head, limits: .none), ignored.count == pointers.count else {
            throw .damaged
        }
        let fingerprints = Fingerprints(of: snapshot, by: hash, ignoring: ignored)
        guard format < 2 || fingerprints.digest(salt: name) == revision.digest else { throw .damaged }
        var window = ReplayWindow()
        for replay in replays { window.remember(try Self.replay(replay, calendar)) }
        var entries: [History.Entry] = []
        for entry in history { entries.append(try Self.entry(entry, calendar)) }
        return Session(
            head: Session.Head(
                revision: revision, snapshot: snapshot, fingerprints: fingerprints, marks: try members.marks(),
                parent: members.revision("parent"),
                maker: members["maker"]?.string.flatMap { UInt64($0, radix: 16) }.map(RequestFingerprint.init(value:)),
                made: calendar.past(milliseconds: made)),
            history: History(entries), settings: Session.Settings(timeToLive: .seconds(ttl), ignored: ignored),
            replays: window,
            startedOverAt: UInt64(clamping: startedOverAt))
    }

    private static func replay(_ value: JSONSlice, _ calendar: Calendar) throws(Failure) -> (
        key: ReplayWindow.Key, entry: ReplayWindow.Entry
    ) {
        guard let members = value.members, let writer = members["writer"]?.string, let key = members["key"]?.string,
            let fingerprint = members["fingerprint"]?.string.flatMap({ UInt64($0, radix: 16) }),
            let status = members["status"]?.integer, [200, 201].contains(status), let done = members["done"]?.integer
        else { throw .damaged }
        return (
            ReplayWindow.Key(writer: writer, key: key),
            ReplayWindow.Entry(
                fingerprint: RequestFingerprint(value: fingerprint), made: status == 201,
                before: members.revision("before"),
                done: calendar.past(milliseconds: done))
        )
    }

    private static func entry(_ value: JSONSlice, _ calendar: Calendar) throws(Failure) -> History.Entry {
        guard let parts = value.elements, (4...5).contains(parts.count),
            let revision = parts[0].string.flatMap({ Revision($0) }),
            let bytes = parts[1].integer, (0...largestSkeleton).contains(bytes), let retired = parts[2].integer,
            let name = parts[3].string.flatMap({ UInt64($0, radix: 16) })
        else { throw .damaged }
        var marks = Marks.none
        if parts.count == 5 {
            guard let written = Marks(parts[4]) else { throw .damaged }
            marks = written
        }
        return History.Entry(
            revision: revision, skeleton: nil, bytes: bytes, marks: marks,
            retired: calendar.past(milliseconds: retired), name: name)
    }
}

extension SessionRecord {
    /// What a commit changes in a store, besides the record: the skeleton that comes, and those that go. A commit
    /// retires one head, and forgets the oldest or, to start over, all.
    struct Past: Sendable {
        var added: History.Entry?
        var removed: ArraySlice<History.Entry>

        init(from before: Session, to next: Session) {
            let (old, new) = (before.history.entries, next.history.entries)
            let oldest = new.first?.revision.sequence ?? .max
            removed = old.prefix { $0.revision.sequence < oldest }
            let newest = before.history.entries.last?.revision.sequence ?? 0
            added = new.last.flatMap { $0.skeleton != nil && $0.revision.sequence > newest ? $0 : nil }
        }
    }
}

extension KeyedHash {
    private static let seal = UInt8(ascii: "\n")

    /// A document, and behind it on a line of its own a sum, for stores that keep none beside it.
    func sealed(_ document: [UInt8]) -> [UInt8] {
        var writer = JSONWriter(capacity: document.count + 32)
        writer.append(document)
        writer.append(byte: Self.seal)
        writer.append(hex: sum(document))
        return writer.bytes()
    }

    /// The document, also one that an older process wrote without a sum; nil where the sum is another.
    func unsealed(_ bytes: [UInt8]) -> [UInt8]? {
        let document = Array(bytes.dropLast(17))
        guard bytes.count > 17, bytes[document.count] == Self.seal else { return bytes }
        return sealed(document) == bytes ? document : nil
    }
}

extension History.Entry {
    /// The skeleton as a store keeps it; empty if it is not here.
    var document: [UInt8] {
        guard let skeleton else { return [] }
        var writer = JSONWriter(capacity: bytes + 64)
        skeleton.writeDocument(into: &writer)
        return writer.bytes()
    }
}

extension [String: JSONSlice] {
    fileprivate func revision(_ name: String) -> Revision? { self[name]?.string.flatMap { Revision($0) } }

    /// None are not written.
    fileprivate func marks() throws(SessionRecord.Failure) -> Marks {
        guard let value = self["marks"] else { return .none }
        guard let marks = Marks(value) else { throw .damaged }
        return marks
    }
}

/// Writes the members of an object; those that are nil are left out.
private struct RecordWriter {
    var writer = JSONWriter(capacity: 1024)
    private var isEmpty = true

    init() { writer.append("{") }

    private mutating func name(_ name: StaticString) {
        writer.append(isEmpty ? "\"" : ",\"")
        writer.append(name)
        writer.append("\":")
        isEmpty = false
    }

    mutating func number(_ name: StaticString, _ value: Int) {
        self.name(name)
        writer.append(value)
    }

    mutating func text(_ name: StaticString, _ value: String) {
        self.name(name)
        writer.append(string: value)
    }

    mutating func hex(_ name: StaticString, _ value: UInt64) {
        self.name(name)
        hex(value)
    }

    private mutating func hex(_ value: UInt64) {
        writer.append("\"")
        writer.append(hex: value)
        writer.append("\"")
    }

    mutating func revision(_ name: StaticString, _ revision: Revision?) {
        guard let revision else { return }
        self.name(name)
        revision.write(into: &writer)
    }

    /// A past revision: `[revision, bytes, retired, name, marks]`, without marks if there are none. An array, since
    /// there are many.
    mutating func entry(_ entry: History.Entry, _ calendar: Calendar) {
        writer.append("[")
        entry.revision.write(into: &writer)
        writer.append(",")
        writer.append(entry.bytes)
        writer.append(",")
        writer.append(calendar.milliseconds(entry.retired))
        writer.append(",")
        hex(entry.name)
        if !entry.marks.isEmpty {
            writer.append(",")
            entry.marks.write(into: &writer)
        }
        writer.append("]")
    }

    mutating func marks(_ marks: Marks) {
        guard !marks.isEmpty else { return }
        name("marks")
        marks.write(into: &writer)
    }

    mutating func list<Element>(
        _ name: StaticString, _ elements: [Element], _ write: (inout RecordWriter, Element) -> Void
    ) {
        self.name(name)
        writer.append("[")
        for (index, element) in elements.enumerated() {
            if index > 0 { writer.append(",") }
            write(&self, element)
        }
        writer.append("]")
    }

    mutating func object(_ members: (inout RecordWriter) -> Void) {
        writer.append("{")
        isEmpty = true
        members(&self)
        isEmpty = false
        writer.append("}")
    }

    consuming func finished() -> [UInt8] {
        writer.append("}")
        return writer.bytes()
    }
}
