import HTTPCore
import SnapshotKit

/// All that is known of a session at one moment: replaced as a whole by each commit. An object, since it goes through
/// many hands on its way.
final class Session: Sendable {
    let head: Head
    let history: History
    let settings: Settings
    let replays: ReplayWindow
    /// First sequence since the session was last started over by PUT; readers of earlier ones are told `replaced`. 0:
    /// it never was.
    let startedOverAt: UInt64
    /// What a store other than memory calls this value: a new name with each commit. 0 where it has none; of a session
    /// that is to be committed, the one that it was made of.
    let version: UInt64
    /// What such a store has written down of it.
    let log: SessionLog

    init(
        head: Head, history: History = History(), settings: Settings, replays: ReplayWindow = ReplayWindow(),
        startedOverAt: UInt64, version: UInt64 = 0, log: SessionLog = SessionLog()
    ) {
        (self.head, self.history, self.settings, self.replays) = (head, history, settings, replays)
        (self.startedOverAt, self.version, self.log) = (startedOverAt, version, log)
    }

    /// The same with another part.
    func with(
        head: Head? = nil, history: History? = nil, settings: Settings? = nil, replays: ReplayWindow? = nil,
        version: UInt64? = nil, log: SessionLog? = nil
    ) -> Session {
        Session(
            head: head ?? self.head, history: history ?? self.history, settings: settings ?? self.settings,
            replays: replays ?? self.replays, startedOverAt: startedOverAt, version: version ?? self.version,
            log: log ?? self.log)
    }

    /// The newest state. An object, which the sessions share that differ in nothing else but what is remembered beside
    /// it.
    final class Head: Sendable {
        let origin: Origin
        let snapshot: Snapshot
        let fingerprints: Fingerprints
        /// Leads here from the state before, for whoever writes it down; nil where nobody does, or where that is not
        /// less.
        let step: SnapshotDelta?
        /// The changeset to here from the head before, for as long as whoever committed it, or readers, hold it.
        weak let change: Changeset?
        /// Memory held, in bytes.
        let footprint: Int

        /// Where a state comes from.
        struct Origin: Sendable {
            let revision: Revision
            /// Rows and sections to be redrawn on the way to this revision.
            let marks: Marks
            /// What the write that made this revision started from, and which request it was: tells a lost answer from
            /// a lost race.
            let parent: Revision?
            let maker: RequestFingerprint?
            let made: Instant
            /// Whether the digest is that of another function, of which only the state is left: of a record of an older
            /// format, or of when other places were ignored; until the state changes.
            var hasOldDigest = false
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

        convenience init(
            revision: Revision, snapshot: Snapshot, fingerprints: Fingerprints, marks: Marks, parent: Revision? = nil,
            maker: RequestFingerprint? = nil, made: Instant, hasOldDigest: Bool = false, step: SnapshotDelta? = nil,
            change: Changeset? = nil
        ) {
            let origin = Origin(
                revision: revision, marks: marks, parent: parent, maker: maker, made: made, hasOldDigest: hasOldDigest)
            self.init(origin, snapshot: snapshot, fingerprints: fingerprints, step: step, change: change)
        }
    }

    /// What PUT or the creating POST settled, and PUT without a state has changed since.
    struct Settings: Sendable, Equatable {
        var timeToLive: Duration
        /// Places in items' contents that equality and digest leave out.
        var ignored: [JSONPointer]
        /// Where the list stands in the bodies of its writers; nil: in a state of the native shape.
        var shape: StateShape?
        /// Whether what a posted state says nothing of is expanded or not as it is in the head.
        var keepsExpanded = false
        /// How often other places have come to be ignored since the session was made.
        var digestEpoch = 0

        /// What sets the digests of a session apart. What was ignored then may tell two states from each other now, so
        /// digests from before are never those of states that come.
        func salt(_ name: String) -> String { digestEpoch == 0 ? name : "\(name)/\(digestEpoch)" }

        /// How many places may be ignored: each is looked for in each content.
        static let maxIgnored = 64

        /// Memory held, in bytes.
        var footprint: Int {
            ignored.reduce(shape?.footprint ?? 0) { $0 + 48 + $1.tokens.reduce(0) { $0 + 48 + $1.count } }
        }
    }

    /// Memory held, in bytes.
    var footprint: Int { head.footprint + Self.footprint(of: history, settings, replays, log) }

    /// What is held besides a state.
    static func footprint(
        of history: History, _ settings: Settings, _ replays: ReplayWindow, _ log: SessionLog
    ) -> Int {
        history.heldBytes + settings.footprint + replays.footprint + log.footprint + 1024
    }
}

/// A hash of a request's body, and of what the request says of its shape.
struct RequestFingerprint: Sendable, Hashable {
    var value: UInt64
}

extension RequestFingerprint {
    /// By the store's hash, so that all who share sessions agree.
    ///
    /// - Parameter shape: names and values of parameters, in a fixed order.
    init(of body: some Collection<UInt8>, _ shape: [String], by hash: KeyedHash) {
        value = body.withContiguousStorageIfAvailable { hash.digest(of: UnsafeRawBufferPointer($0)) } ?? 0
        for said in shape {
            let text = Array("\(value) \(said)".utf8)
            value = text.withUnsafeBytes { hash.digest(of: $0) }
        }
    }
}
