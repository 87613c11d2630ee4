// Sessions as values. An operation (Operations) decides what becomes of a session, a `SessionTransition` makes the next
// one, and a store keeps it as `SessionRecord` and `LogEntry`. The target knows states and instants, but no request,
// token, lock or store. It knows views only by name, and those who must consent to edits only as `Consent`.

import DiffClock
import SnapshotKit

/// A session at one moment, which each commit replaces as a whole. An object, since it is passed on often.
public final class Session: Sendable {
    public let head: Head
    public let history: History
    public let settings: Settings
    public let replays: ReplayWindow
    /// The first sequence since PUT last started the session over, or 0. Readers of earlier ones are told `replaced`.
    public let startedOverAt: UInt64
    /// A store's name for this value, new with each commit; until then, that of the session before. 0 in memory.
    public let version: UInt64
    /// What a store holds of the session.
    public let log: SessionLog

    init(
        head: Head, history: History = History(), settings: Settings, replays: ReplayWindow = ReplayWindow(),
        startedOverAt: UInt64, version: UInt64 = 0, log: SessionLog = SessionLog()
    ) {
        (self.head, self.history, self.settings, self.replays) = (head, history, settings, replays)
        (self.startedOverAt, self.version, self.log) = (startedOverAt, version, log)
    }

    /// The session with other parts.
    public func with(
        head: Head? = nil, history: History? = nil, settings: Settings? = nil, replays: ReplayWindow? = nil,
        version: UInt64? = nil, log: SessionLog? = nil
    ) -> Session {
        Session(
            head: head ?? self.head, history: history ?? self.history, settings: settings ?? self.settings,
            replays: replays ?? self.replays, startedOverAt: startedOverAt, version: version ?? self.version,
            log: log ?? self.log)
    }

    /// The newest state. An object, shared by sessions that differ only in other parts.
    public final class Head: Sendable {
        let provenance: Provenance
        public let snapshot: Snapshot
        let fingerprints: Fingerprints
        /// Leads here from the previous state, for the log; nil if it would be as large as the state.
        let step: SnapshotDelta?
        /// The changeset from the previous head to this one, until the head's slot takes it, under its lock.
        private nonisolated(unsafe) var change: Changeset?
        public let footprint: Int

        /// How a state came about.
        struct Provenance: Sendable {
            let revision: Revision
            /// Rows and sections to redraw on the way to this revision.
            let marks: Marks
            /// The revision before, which the write changed into this one.
            let parent: Revision?
            /// The request that made this revision. With `parent` it tells a lost answer from a lost race.
            let maker: RequestFingerprint?
            let made: Instant
            /// Whether the digest is from a time when other places were ignored; it stays until the state changes.
            var hasOldDigest = false
            /// What this revision was made on if it is a fetch of one section; nil for any other write.
            var fetched: FetchGround?

            /// What the next fetch of a section builds on.
            var fetchGround: FetchGround { fetched ?? FetchGround(revision) }
        }

        public var revision: Revision { provenance.revision }
        public var marks: Marks { provenance.marks }
        public var parent: Revision? { provenance.parent }
        var maker: RequestFingerprint? { provenance.maker }
        public var made: Instant { provenance.made }
        var hasOldDigest: Bool { provenance.hasOldDigest }

        init(
            _ provenance: Provenance, snapshot: Snapshot, fingerprints: Fingerprints, step: SnapshotDelta? = nil,
            change: Changeset? = nil
        ) {
            (self.provenance, self.snapshot, self.fingerprints, self.step) = (provenance, snapshot, fingerprints, step)
            self.change = change
            footprint =
                snapshot.footprint + fingerprints.footprint + provenance.marks.footprint + (step?.bytes.capacity ?? 0)
        }

        public func takeChange() -> Changeset? { exchange(&change, with: nil) }
    }

    /// What the fetches of a list's sections build on: the last revision that none of them made, or the session's
    /// beginning. Any other write changes it, and so drops the fetches that are under way.
    public struct FetchGround: Sendable, Equatable {
        let value: UInt64

        init(value: UInt64) { self.value = value }

        /// A new session's. Odd, and never the same again, even if the session is made again.
        static var beginning: FetchGround { FetchGround(value: UInt64.random(in: 0...UInt64.max) | 1) }

        init(_ revision: Revision) { value = (revision.digest ^ revision.sequence &* 0x9E37_79B9_7F4A_7C15) & ~1 }

        /// Whether only fetches have written the session since it was made.
        public var isBeginning: Bool { value & 1 == 1 }

        public var text: String { String(value, radix: 16) }
    }

    /// The settings made by PUT or the first POST, with the changes of later PUTs without a state.
    public struct Settings: Sendable, Equatable {
        /// The longest time to live, in seconds: seven days. Tokens live no longer either.
        public static let maxTimeToLive = 7 * 24 * 3600

        public var timeToLive: Duration
        /// Places in items' contents that equality and digest leave out.
        public var ignored: [JSONPointer]
        /// Nil for the native one.
        public var shape: StateShape?
        /// Whether items keep the head's expansion if the posted state does not mention it.
        var keepsExpanded = false
        public var isPublic = false
        /// Of how many answers of its source the shape was guessed; 0 if it is not, or not yet.
        package internal(set) var guessedAnswers: UInt8 = 0
        /// Where those answers had no elements beside the guessed list. One that has some later may be what was meant.
        /// Nil for none, which costs less to copy.
        var emptyPlaces: [JSONPointer]?
        /// How often the ignored places have changed since the session was made.
        var digestEpoch = 0
        /// Whether the ignored places are no part of the salt, as in records of the former format.
        var isSaltedByEpoch = false
        /// Whether other places were ignored before, so that readers may have any values there.
        public var ignoredOthers = false

        /// The salt of the digests. States that were equal may differ once other places are ignored, so an earlier
        /// digest must never recur for a later state, not even if the session is made again.
        func salt(_ name: String) -> String {
            let places = isSaltedByEpoch ? [] : ignored
            return digestEpoch == 0 && places.isEmpty
                ? name : "\(name)/\(digestEpoch)\(places.map { "/\($0.description.utf8.count)\($0)" }.joined())"
        }

        /// Each is looked up in every content.
        fileprivate static let maxIgnored = 64

        static let maxEmptyPlaces = 6

        var footprint: Int {
            (ignored + (emptyPlaces ?? [])).reduce(shape?.footprint ?? 0) {
                $0 + 48 + $1.tokens.reduce(0) { $0 + 48 + $1.count }
            }
        }
    }

    public var footprint: Int { head.footprint + Self.footprint(of: history, settings, replays, log) }

    /// Memory held besides the state.
    static func footprint(of history: History, _ settings: Settings, _ replays: ReplayWindow, _ log: SessionLog) -> Int
    {
        history.heldBytes + settings.footprint + replays.footprint + log.footprint + 1024
    }
}

extension Session {
    /// The settings that a request names; nil for the others.
    public struct SettingsChange: Sendable, Equatable {
        var timeToLive: Duration?
        public var ignored: [JSONPointer]?
        /// The native one takes away the session's.
        public var shape: StateShape?
        public var keepsExpanded: Bool?
        public var isPublic: Bool?

        public init() {}

        public func applied(to settings: Settings) -> Settings {
            var next = settings
            if let timeToLive { next.timeToLive = timeToLive }
            if let ignored { next.ignored = ignored }
            if let shape { next.shape = shape == .native ? nil : shape }
            if let keepsExpanded { next.keepsExpanded = keepsExpanded }
            if let isPublic { next.isPublic = isPublic }
            return next
        }
    }
}

/// A hash of a request's body, and of its parameters about the body's shape.
public struct RequestFingerprint: Sendable, Hashable {
    let value: UInt64
}

extension RequestFingerprint {
    /// - Parameters:
    ///   - shape: names and values of parameters, in a fixed order.
    ///   - hash: the store's, so that all processes that share sessions agree.
    public init(of body: some Collection<UInt8>, _ shape: [String], by hash: KeyedHash) {
        let start = body.withContiguousStorageIfAvailable { hash.digest(of: UnsafeRawBufferPointer($0)) } ?? 0
        value = shape.reduce(start) { hash.sum(Array("\($0) \($1)".utf8)) }
    }
}

// MARK: - Settings

extension Session.Settings {
    public init(timeToLive: Duration, ignored: [JSONPointer], shape: StateShape? = nil, keepsExpanded: Bool = false) {
        self.init(timeToLive: timeToLive, ignored: ignored, shape: shape, keepsExpanded: keepsExpanded, digestEpoch: 0)
    }

    /// The members of a body that set them.
    public enum Member: String, CaseIterable {
        case ttl, ignore, shape, keep, `public`
    }

    public static let members = Member.allCases.map(\.rawValue)
    public static let besideState = Envelope.Members(states: ["state"], values: members, shape: "shape")
}

extension Session.SettingsChange {
    /// - Parameter defaults: what `null` stands for.
    public init(_ envelope: Envelope, defaults: Session.Settings) throws(StateError) {
        self.init()
        for member in Session.Settings.Member.allCases {
            guard let value = envelope.values[member.rawValue] else { continue }
            if value.isNull { reset(member, to: defaults) } else { try take(member, value) }
        }
    }

    private mutating func reset(_ member: Session.Settings.Member, to defaults: Session.Settings) {
        switch member {
        case .ttl: timeToLive = defaults.timeToLive
        case .ignore: ignored = defaults.ignored
        case .shape: shape = defaults.shape ?? .native
        case .keep: keepsExpanded = defaults.keepsExpanded
        case .public: isPublic = defaults.isPublic
        }
    }

    /// Applies a member. Pointers in errors start from the object that holds it.
    public mutating func take(_ member: Session.Settings.Member, _ value: JSONSlice) throws(StateError) {
        switch member {
        case .ttl:
            guard let seconds = value.integer, (1...Session.Settings.maxTimeToLive).contains(seconds) else {
                let most = Session.Settings.maxTimeToLive
                throw .wrongMember("/ttl", "ttl must be a whole number of seconds from 1 to \(most)")
            }
            timeToLive = .seconds(seconds)
        case .ignore:
            guard let texts = value.strings else { throw Self.wrongIgnore }
            guard texts.count <= Session.Settings.maxIgnored else {
                throw .limitExceeded(
                    what: "pointers", limit: Session.Settings.maxIgnored, actual: texts.count, pointer: "/ignore")
            }
            let pointers = texts.compactMap { JSONPointer($0) }
            guard pointers.count == texts.count, pointers.allSatisfy({ $0.tokens.count <= StateShape.maxSegments })
            else { throw Self.wrongIgnore }
            ignored = pointers
        case .shape: shape = try StateShape(value, at: "/shape")
        case .keep:
            guard let names = value.strings, names.allSatisfy({ $0 == "expanded" }) else {
                throw .wrongMember("/keep", "keep must be [\"expanded\"] or an empty array")
            }
            keepsExpanded = !names.isEmpty
        case .public:
            guard let flag = value.flag else { throw .wrongMember("/public", "public must be true or false") }
            isPublic = flag
        }
    }

    private static let wrongIgnore = StateError.wrongMember(
        "/ignore",
        "ignore must be an array of JSON Pointers into contents, each of at most \(StateShape.maxSegments) segments"
    )
}

extension StateError {
    /// A member, besides states and edits, that has the wrong type.
    public static func wrongMember(_ pointer: String, _ detail: String) -> StateError {
        .wrongShape([Violation(pointer: pointer, code: "wrong-type", detail: detail)])
    }
}

// MARK: - Names

/// A session's name: `[A-Za-z0-9._~:-]{1,128}`, not `.` or `..`.
public enum SessionName {
    public static let rule = "a session's name must be 1 to 128 letters, digits and ._~:-, but not \".\" or \"..\""

    /// The rule, and the character of a text that breaks it.
    public static func rule(brokenBy text: String) -> String {
        let wrong = text.unicodeScalars.first { !$0.isASCII || !isOfName(UInt8($0.value)) }
        guard let wrong else { return rule }
        return "\(rule); write . in place of \(wrong.shown), or a hash: percent-encoding does not help"
    }

    public static let maxBytes = 128

    public static func isWhole(_ text: String) -> Bool {
        var text = text
        return text.withUTF8(isWhole)
    }

    public static func isWhole(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        // Clients remove the path segments `.` and `..`.
        let dots = name.count { $0 == UInt8(ascii: ".") }
        return (1...maxBytes).contains(name.count) && (dots > 2 || dots < name.count) && name.allSatisfy(isOfName)
    }

    /// Whether a text, which must not be empty, may be the start of a name.
    public static func isStart(_ text: String) -> Bool {
        (1...maxBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isOfName)
    }

    public static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
            UInt8(ascii: ":"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension Unicode.Scalar {
    /// The character for a message: in quotes, or as U+XXXX if it would not be visible.
    public var shown: String {
        switch properties.generalCategory {
        case _ where isInvisible, .nonspacingMark, .enclosingMark, .privateUse, .unassigned: break
        case .spaceSeparator where !isASCII: break
        default: return "\"\(self)\""
        }
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether a terminal may act on it rather than show it: controls, direction marks, and line separators.
    package var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

// MARK: - In memory

/// A session in memory, awake or packed.
public protocol SessionInMemory: AnyObject, Sendable {
    var revision: Revision { get }
    /// Visible rows of the head.
    var rows: Int { get }
    var settings: Session.Settings { get }
    var replays: ReplayWindow { get }
    var version: UInt64 { get }
    var fetchGround: Session.FetchGround { get }
}

extension Session: SessionInMemory {
    public var revision: Revision { head.revision }
    public var rows: Int { head.snapshot.rowCount }
    public var fetchGround: FetchGround { head.provenance.fetchGround }
}

/// A session that has not been used recently, packed into as little memory as possible.
public final class CompactSession: SessionInMemory {
    private let head: Session.Head.Provenance
    private let snapshot: PackedSnapshot
    private let history: History
    public let settings: Session.Settings
    public let replays: ReplayWindow
    private let startedOverAt: UInt64
    public let version: UInt64
    public let rows: Int
    private let log: SessionLog

    public var revision: Revision { head.revision }
    public var fetchGround: Session.FetchGround { head.fetchGround }

    /// O(items).
    public init(_ session: Session) {
        head = session.head.provenance
        rows = session.head.snapshot.rowCount
        snapshot = PackedSnapshot(session.head.snapshot, session.head.fingerprints)
        (history, settings, replays) = (session.history, session.settings, session.replays)
        (startedOverAt, version, log) = (session.startedOverAt, session.version, session.log)
    }

    /// O(items).
    public func woken() -> Session {
        let (snapshot, fingerprints) = snapshot.opened()
        return Session(
            head: Session.Head(head, snapshot: snapshot, fingerprints: fingerprints), history: history,
            settings: settings, replays: replays, startedOverAt: startedOverAt, version: version, log: log)
    }

    public var footprint: Int {
        snapshot.footprint + head.marks.footprint + Session.footprint(of: history, settings, replays, log)
    }
}
