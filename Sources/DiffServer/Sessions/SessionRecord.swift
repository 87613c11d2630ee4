// A session as a store keeps it: a checkpoint, and a log of the commits behind it (`SessionLog`). The checkpoint is
// JSON, so that an operator can read it and an older process can refuse it: the head is the document that GET answers,
// `meta` is all else but the past, which is in the log.
//
// What is read is checked: the digest of the head, where the log has led to, must be that of its revision, and `meta`
// ends with a sum of itself. So a record that was torn or altered is noticed. (Of formats 1 and 2, whose digests were
// other functions, only that the head is a state; their past, which had no contents, is forgotten; and `meta` of format
// 1 may have no sum.) Numbers that are computed with are bounded, sum or not.

import SnapshotKit

/// A state of a session and its settings, in bytes.
struct SessionRecord: Sendable, Equatable {
    /// Of `meta`. A process reads its own format and those before.
    static let format = 3
    /// Of a session that keeps a shape: a process that knows of none must not read what is posted to it.
    private static let shapedFormat = 4
    /// The same of one that keeps what is expanded, or whose digests are others since other places are ignored; and of
    /// an entry of the log that changes settings.
    static let settledFormat = 5
    private static let readable = 1...5

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
        var writer = JSONObject(capacity: 1024)
        writer.number("format", format(of: session.settings))
        writer.revision("revision", session.head.revision)
        writer.revision("parent", session.head.parent)
        if let maker = session.head.maker { writer.hex("maker", maker.value) }
        writer.number("made", calendar.milliseconds(session.head.made))
        writer.marks(session.head.marks)
        if session.head.hasOldDigest { writer.number("oldDigest", 1) }
        writer.number("startedOverAt", Int(clamping: session.startedOverAt))
        writer.settings(session.settings)
        writer.list("replays", session.replays.entries) { writer, replay in
            writer.object { $0.replay(replay, calendar) }
        }
        return writer.bytes()
    }

    private static func format(of settings: Session.Settings) -> Int {
        if settings.keepsExpanded || settings.digestEpoch > 0 { return settledFormat }
        return settings.shape == nil ? format : shapedFormat
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
    static let largestSequence: UInt64 = 1 << 62

    /// The session as it was at the checkpoint, without its past.
    ///
    /// - Parameter isHead: whether no commit is behind it, so that its digest must be that of its revision; otherwise
    ///   that is seen where the log has led to.
    func session(named name: String, hash: KeyedHash, isHead: Bool) throws(Failure) -> Session {
        guard isWhole(by: hash) else { throw .damaged }
        guard let members = JSONSlice.members(of: meta), let format = members["format"]?.integer else { throw .damaged }
        guard Self.readable.contains(format) else { throw .format(format) }
        guard let revision = members.revision("revision"), let made = members["made"]?.integer,
            let startedOverAt = members["startedOverAt"]?.integer, let replays = members["replays"]?.elements,
            revision.sequence < Self.largestSequence, let snapshot = try? Snapshot(json: head, limits: .none)
        else { throw .damaged }
        let calendar = Calendar()
        let settings = try members.settings()
        let fingerprints = Fingerprints(of: snapshot, by: hash, ignoring: settings.ignored)
        let hasOldDigest = format < Self.format || members["oldDigest"] != nil
        guard !isHead || hasOldDigest || fingerprints.digest(salt: settings.salt(name)) == revision.digest else {
            throw .damaged
        }
        var window = ReplayWindow()
        for replay in replays { window.remember(try Self.replay(replay, calendar)) }
        return Session(
            head: Session.Head(
                revision: revision, snapshot: snapshot, fingerprints: fingerprints, marks: try members.marks(),
                parent: members.revision("parent"),
                maker: members["maker"]?.string.flatMap { UInt64($0, radix: 16) }.map(RequestFingerprint.init(value:)),
                made: calendar.past(milliseconds: made), hasOldDigest: hasOldDigest),
            settings: settings, replays: window, startedOverAt: UInt64(clamping: startedOverAt))
    }

    static func replay(_ value: JSONSlice, _ calendar: Calendar) throws(Failure) -> (
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
}

extension [String: JSONSlice] {
    func revision(_ name: String) -> Revision? { self[name]?.string.flatMap { Revision($0) } }

    func settings() throws(SessionRecord.Failure) -> Session.Settings {
        guard let ttl = self["ttl"]?.integer, (0...Options.maxTimeToLive).contains(ttl),
            let texts = self["ignore"]?.strings
        else { throw .damaged }
        let epoch = self["digestEpoch"]?.integer ?? 0
        let ignored = texts.compactMap { JSONPointer($0) }
        guard ignored.count == texts.count, (0..<Int.max).contains(epoch) else { throw .damaged }
        do throws(StateError) {
            return Session.Settings(
                timeToLive: .seconds(ttl), ignored: ignored,
                shape: try self["shape"].map { (value) throws(StateError) in try StateShape(value) },
                keepsExpanded: self["keep"] != nil, digestEpoch: epoch)
        } catch { throw .damaged }
    }

    /// None are not written.
    func marks() throws(SessionRecord.Failure) -> Marks {
        guard let value = self["marks"] else { return .none }
        guard let marks = Marks(value) else { throw .damaged }
        return marks
    }
}

extension JSONObject {
    mutating func revision(_ name: StaticString, _ revision: Revision?) {
        guard let revision else { return }
        self.name(name)
        revision.write(into: &writer)
    }

    /// An answered key.
    mutating func replay(_ replay: (key: ReplayWindow.Key, entry: ReplayWindow.Entry), _ calendar: Calendar) {
        text("writer", replay.key.writer)
        text("key", replay.key.key)
        hex("fingerprint", replay.entry.fingerprint.value)
        // What the write was answered with.
        number("status", replay.entry.made ? 201 : 200)
        revision("before", replay.entry.before)
        number("done", calendar.milliseconds(replay.entry.done))
    }

    mutating func marks(_ marks: Marks) {
        guard !marks.isEmpty else { return }
        name("marks")
        marks.write(into: &writer)
    }

    mutating func settings(_ settings: Session.Settings) {
        number("ttl", Int(settings.timeToLive.components.seconds))
        list("ignore", settings.ignored) { $0.writer.append(string: $1.description) }
        if let shape = settings.shape {
            name("shape")
            shape.write(into: &writer)
        }
        if settings.keepsExpanded { list("keep", ["expanded"]) { $0.writer.append(string: $1) } }
        if settings.digestEpoch > 0 { number("digestEpoch", settings.digestEpoch) }
    }
}
