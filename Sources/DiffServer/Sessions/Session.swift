import HTTPCore
import SnapshotKit

/// A session at one moment, which each commit replaces as a whole. An object, since it is passed on often.
final class Session: Sendable {
    let head: Head
    let history: History
    let settings: Settings
    let replays: ReplayWindow
    /// The first sequence since PUT last started the session over; readers of earlier ones are told `replaced`. 0 if it
    /// never was.
    let startedOverAt: UInt64
    /// A store's name for this value, which is new with each commit; 0 in memory. Before a commit it is still the one
    /// of the session that this was made of.
    let version: UInt64
    /// What a store has of it.
    let log: SessionLog

    init(
        head: Head, history: History = History(), settings: Settings, replays: ReplayWindow = ReplayWindow(),
        startedOverAt: UInt64, version: UInt64 = 0, log: SessionLog = SessionLog()
    ) {
        (self.head, self.history, self.settings, self.replays) = (head, history, settings, replays)
        (self.startedOverAt, self.version, self.log) = (startedOverAt, version, log)
    }

    /// The session with other parts.
    func with(
        head: Head? = nil, history: History? = nil, settings: Settings? = nil, replays: ReplayWindow? = nil,
        version: UInt64? = nil, log: SessionLog? = nil
    ) -> Session {
        Session(
            head: head ?? self.head, history: history ?? self.history, settings: settings ?? self.settings,
            replays: replays ?? self.replays, startedOverAt: startedOverAt, version: version ?? self.version,
            log: log ?? self.log)
    }

    /// The newest state. An object, which sessions share that differ only in other things.
    final class Head: Sendable {
        let origin: Origin
        let snapshot: Snapshot
        let fingerprints: Fingerprints
        /// Leads here from the state before, for the log; nil if there is none, or if it would be as large as the
        /// state.
        let step: SnapshotDelta?
        /// The changeset from the head before to this one, while the writer or readers hold it.
        weak let change: Changeset?
        /// Memory held, in bytes.
        let footprint: Int

        /// How a state came about.
        struct Origin: Sendable {
            let revision: Revision
            /// Rows and sections to be redrawn on the way to this revision.
            let marks: Marks
            let made: Instant
            private let parentDigest: UInt64?
            /// The request that made this revision. With `parent` it tells a lost answer from a lost race.
            let maker: RequestFingerprint?
            /// Whether the digest is from another function, until the state changes: from a record of an older format,
            /// or from a time when other places were ignored.
            var hasOldDigest: Bool

            /// - Parameter parent: the revision before this one, if there was one.
            init(
                revision: Revision, marks: Marks, parent: Revision?, maker: RequestFingerprint?, made: Instant,
                hasOldDigest: Bool = false
            ) {
                (self.revision, self.marks, self.made, self.maker) = (revision, marks, made, maker)
                (parentDigest, self.hasOldDigest) = (parent?.digest, hasOldDigest)
            }

            /// The revision from which the write made this one.
            var parent: Revision? {
                parentDigest.map { Revision(sequence: revision.sequence &- 1, digest: $0) }
            }
        }

        var revision: Revision { origin.revision }
        var marks: Marks { origin.marks }
        var parent: Revision? { origin.parent }
        var maker: RequestFingerprint? { origin.maker }
        var made: Instant { origin.made }
        var hasOldDigest: Bool { origin.hasOldDigest }

        init(
            _ origin: Origin, snapshot: Snapshot, fingerprints: Fingerprints, step: SnapshotDelta? = nil,
            change: Changeset? = nil
        ) {
            (self.origin, self.snapshot, self.fingerprints, self.step) = (origin, snapshot, fingerprints, step)
            self.change = change
            footprint =
                snapshot.footprint + fingerprints.footprint + origin.marks.footprint + (step?.bytes.capacity ?? 0)
        }
    }

    /// What PUT or the first POST determined, and PUT without a state has changed since.
    struct Settings: Sendable, Equatable {
        var timeToLive: Duration
        /// Places in items' contents that equality and digest leave out.
        var ignored: [JSONPointer]
        /// Where posted documents have the list; nil: they are states of the native shape.
        var shape: StateShape?
        /// Whether items of which a posted state does not say so are expanded as in the head.
        var keepsExpanded = false
        /// How often the ignored places have changed since the session was made.
        var digestEpoch = 0

        /// The salt of the digests. States that were equal before may differ once fewer places are ignored, so a digest
        /// from before must never be that of a later state.
        func salt(_ name: String) -> String { digestEpoch == 0 ? name : "\(name)/\(digestEpoch)" }

        /// How many places may be ignored: each is looked up in every content.
        static let maxIgnored = 64

        /// Memory held, in bytes.
        var footprint: Int {
            ignored.reduce(shape?.footprint ?? 0) { $0 + 48 + $1.tokens.reduce(0) { $0 + 48 + $1.count } }
        }
    }

    /// Memory held, in bytes.
    var footprint: Int { head.footprint + Self.footprint(of: history, settings, replays, log) }

    /// Memory held besides the state.
    static func footprint(
        of history: History, _ settings: Settings, _ replays: ReplayWindow, _ log: SessionLog
    ) -> Int {
        history.heldBytes + settings.footprint + replays.footprint + log.footprint + 1024
    }
}

extension Session {
    /// The settings that a request names; nil for the others.
    struct SettingsChange: Sendable, Equatable {
        var timeToLive: Duration?
        var ignored: [JSONPointer]?
        var shape: StateShape?
        var keepsExpanded: Bool?

        func applied(to settings: Settings) -> Settings {
            var next = settings
            if let timeToLive { next.timeToLive = timeToLive }
            if let ignored { next.ignored = ignored }
            if let shape { next.shape = shape }
            if let keepsExpanded { next.keepsExpanded = keepsExpanded }
            return next
        }
    }
}

/// A hash of a request's body, and of its parameters about the body's shape.
struct RequestFingerprint: Sendable, Hashable {
    var value: UInt64
}

extension RequestFingerprint {
    /// - Parameters:
    ///   - shape: names and values of parameters, in a fixed order.
    ///   - hash: the store's, so that all processes that share sessions agree.
    init(of body: some Collection<UInt8>, _ shape: [String], by hash: KeyedHash) {
        value = body.withContiguousStorageIfAvailable { hash.digest(of: UnsafeRawBufferPointer($0)) } ?? 0
        for said in shape {
            let text = Array("\(value) \(said)".utf8)
            value = text.withUnsafeBytes { hash.digest(of: $0) }
        }
    }
}
