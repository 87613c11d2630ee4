// A session as a store keeps it: a checkpoint, and a log of the commits after it (`SessionLog`). The checkpoint is
// JSON, so that an operator can read it and a process with another format can refuse it. Its head is the document that
// GET answers; its `meta` is everything else, except for the history, which is in the log.
//
// Everything read is verified: the digest of the head to which the log leads must be that of its revision, and `meta`
// ends with a checksum of itself. So a torn or altered record is detected. Numbers used in calculations are bounded in
// any case.

import SnapshotKit

/// A state of a session and its settings, in bytes.
public struct SessionRecord: Sendable, Equatable {
    /// Of `meta` and of log entries. A process reads no other.
    public static let format = 7

    public var meta: [UInt8]
    public var head: [UInt8]

    public init(meta: [UInt8], head: [UInt8]) { (self.meta, self.head) = (meta, head) }

    public init(_ session: Session, by hash: KeyedHash) {
        meta = Self.summed(Self.meta(session), by: hash)
        head = session.head.snapshot.documentJSON()
    }

    public var bytes: Int { meta.count + head.count }

    /// Why bytes cannot be read as a session.
    public enum Failure: Error, Equatable {
        case format(Int)
        case damaged
    }

    // MARK: Writing

    private static func meta(_ session: Session) -> [UInt8] {
        let clock = WallClock()
        var writer = JSONObject(capacity: 1024)
        writer.number("format", format)
        writer.provenance(session.head.provenance, clock)
        if session.head.hasOldDigest { writer.number("oldDigest", 1) }
        writer.number("startedOverAt", Int(clamping: session.startedOverAt))
        writer.settings(session.settings)
        writer.list("replays", session.replays.entries) { writer, replay in
            writer.object { $0.replay(replay, clock) }
        }
        return writer.bytes()
    }

    // MARK: The checksum

    private static let sumName = Array(",\"sum\":\"".utf8)
    /// The name, 16 digits, and the end of the object.
    private static let sumLength = sumName.count + 16 + 2

    /// An object with one more member: a checksum of the object without it.
    static func summed(_ object: [UInt8], by hash: KeyedHash) -> [UInt8] {
        var writer = JSONWriter(capacity: object.count + sumLength)
        writer.append(Array(object.dropLast()))
        writer.append(sumName)
        writer.append(hex: hash.sum(object))
        writer.append("\"}")
        return writer.bytes()
    }

    /// `meta` without its checksum.
    var object: [UInt8] { meta.dropLast(Self.sumLength) + [UInt8(ascii: "}")] }

    /// Whether `meta` is as it was written.
    func isWhole(by hash: KeyedHash) -> Bool { meta.count > Self.sumLength && Self.summed(object, by: hash) == meta }

    // MARK: Reading

    /// All sequences in records are below this, so calculations with them cannot overflow.
    fileprivate static let largestSequence: UInt64 = 1 << 62

    /// The session as of the checkpoint, without its history. Its digest is verified here if it is the head, otherwise
    /// at the end of the log.
    func session(named name: String, hash: KeyedHash, isHead: Bool) throws(Failure) -> Session {
        guard let members = JSONSlice.members(of: meta), let format = members["format"]?.integer else { throw .damaged }
        guard format == Self.format else { throw .format(format) }
        guard isWhole(by: hash) else { throw .damaged }
        let clock = WallClock()
        var provenance = try members.provenance(clock)
        guard let startedOverAt = members["startedOverAt"]?.integer, let replays = members["replays"]?.elements,
            let snapshot = try? Snapshot(json: head, limits: .none)
        else { throw .damaged }
        let settings = try members.settings()
        let fingerprints = Fingerprints(of: snapshot, by: hash, ignoring: settings.ignored)
        provenance.hasOldDigest = members["oldDigest"] != nil
        let isVerified = fingerprints.digest(salt: settings.salt(name)) == provenance.revision.digest
        guard !isHead || provenance.hasOldDigest || isVerified else { throw .damaged }
        let keys = try replays.map { (replay) throws(Failure) in try Self.replay(replay, clock) }
        return Session(
            head: Session.Head(provenance, snapshot: snapshot, fingerprints: fingerprints), settings: settings,
            replays: ReplayWindow(keys), startedOverAt: UInt64(clamping: startedOverAt))
    }

    static func replay(_ value: JSONSlice, _ clock: WallClock) throws(Failure) -> ReplayWindow.KeyedEntry {
        guard let members = value.members, let writer = members["writer"]?.string, let key = members["key"]?.string,
            let fingerprint = members["fingerprint"]?.string.flatMap({ UInt64($0, radix: 16) }),
            let status = members["status"]?.integer, [200, 201].contains(status), let done = members["done"]?.integer
        else { throw .damaged }
        return (
            ReplayWindow.Key(writer: writer, key: key),
            ReplayWindow.Entry(
                fingerprint: RequestFingerprint(value: fingerprint), made: status == 201,
                before: members.revision("before"),
                done: clock.past(milliseconds: done))
        )
    }
}

extension [String: JSONSlice] {
    func revision(_ name: String) -> Revision? { self[name]?.string.flatMap { Revision($0) } }

    func provenance(_ clock: WallClock) throws(SessionRecord.Failure) -> Session.Head.Provenance {
        guard let revision = revision("revision"), revision.sequence < SessionRecord.largestSequence,
            let made = self["made"]?.integer
        else { throw .damaged }
        let parent = self.revision("parent")
        guard parent == nil || parent?.sequence == revision.sequence &- 1 else { throw .damaged }
        let maker = self["maker"]?.string.flatMap { UInt64($0, radix: 16) }
        return Session.Head.Provenance(
            revision: revision, marks: try marks(), parent: parent,
            maker: maker.map { RequestFingerprint(value: $0) }, made: clock.past(milliseconds: made),
            fetched: self["fetched"]?.string.flatMap { UInt64($0, radix: 16) }.map(Session.FetchGround.init))
    }

    public func settings() throws(SessionRecord.Failure) -> Session.Settings {
        guard let ttl = self["ttl"]?.integer, (0...Session.Settings.maxTimeToLive).contains(ttl),
            let texts = self["ignore"]?.strings
        else { throw .damaged }
        let epoch = self["digestEpoch"]?.integer ?? 0
        let ignored = texts.compactMap { JSONPointer($0) }
        guard ignored.count == texts.count, (0..<Int.max).contains(epoch) else { throw .damaged }
        do throws(StateError) {
            var settings = Session.Settings(
                timeToLive: .seconds(ttl), ignored: ignored,
                shape: try self["shape"].map { (value) throws(StateError) in try StateShape(value) },
                keepsExpanded: self["keep"] != nil)
            (settings.digestEpoch, settings.ignoredOthers) = (epoch, self["ignoredOthers"] != nil)
            settings.isSaltedByEpoch = self["saltedByEpoch"] != nil
            settings.guessedAnswers = UInt8(clamping: self["guessedAnswers"]?.integer ?? 0)
            settings.emptyPlaces = self["emptyPlaces"]?.strings?.compactMap { JSONPointer($0) }
            settings.isPublic = self["public"]?.flag == true
            return settings
        } catch { throw .damaged }
    }

    private func marks() throws(SessionRecord.Failure) -> Marks {
        guard let value = self["marks"] else { return .none }
        guard let marks = Marks(value) else { throw .damaged }
        return marks
    }
}

extension JSONObject {
    public mutating func revision(_ name: StaticString, _ revision: Revision?) {
        guard let revision else { return }
        self.name(name)
        revision.write(into: &writer)
    }

    mutating func provenance(_ provenance: Session.Head.Provenance, _ clock: WallClock) {
        revision("revision", provenance.revision)
        revision("parent", provenance.parent)
        if let maker = provenance.maker { hex("maker", maker.value) }
        if let fetched = provenance.fetched { hex("fetched", fetched.value) }
        number("made", clock.milliseconds(provenance.made))
        guard !provenance.marks.isEmpty else { return }
        name("marks")
        provenance.marks.write(into: &writer)
    }

    mutating func replay(_ replay: ReplayWindow.KeyedEntry, _ clock: WallClock) {
        text("writer", replay.key.writer)
        text("key", replay.key.key)
        hex("fingerprint", replay.entry.fingerprint.value)
        number("status", replay.entry.made ? 201 : 200)
        revision("before", replay.entry.before)
        number("done", clock.milliseconds(replay.entry.done))
    }

    /// The settings that PUT takes; if all, also those at their defaults, but the shape.
    public mutating func named(_ settings: Session.Settings, all: Bool) {
        number("ttl", Int(settings.timeToLive.components.seconds))
        list("ignore", settings.ignored) { $0.writer.append(string: $1.description) }
        if let shape = settings.shape {
            name("shape")
            shape.write(into: &writer)
        }
        if all || settings.keepsExpanded {
            list("keep", settings.keepsExpanded ? ["expanded"] : []) { $0.writer.append(string: $1) }
        }
        if all || settings.isPublic { json("public", Array("\(settings.isPublic)".utf8)) }
    }

    public mutating func settings(_ settings: Session.Settings) {
        named(settings, all: false)
        if settings.digestEpoch > 0 { number("digestEpoch", settings.digestEpoch) }
        if settings.ignoredOthers { number("ignoredOthers", 1) }
        if settings.isSaltedByEpoch { number("saltedByEpoch", 1) }
        if settings.guessedAnswers > 0 { number("guessedAnswers", Int(settings.guessedAnswers)) }
        if let places = settings.emptyPlaces {
            list("emptyPlaces", places) { $0.writer.append(string: $1.description) }
        }
    }
}
