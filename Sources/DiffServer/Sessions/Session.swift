import SnapshotKit

/// All that is known of a session at one moment: a value, replaced as a whole by each commit.
struct Session: Sendable {
    var head: Head
    var history: History
    var settings: Settings
    var replays = ReplayWindow()
    /// First sequence since the session was last started over by PUT; readers of earlier ones are told `replaced`. 0: it never was.
    var startedOverAt: UInt64
    /// What a store other than memory calls this value: a new name with each commit. 0 where it has none; of a session that is to be
    /// committed, the one that it was made of.
    var version: UInt64 = 0

    /// The newest state. An object: a session is copied several times on its way, and then this is one reference.
    final class Head: Sendable {
        let revision: Revision
        let snapshot: Snapshot
        let fingerprints: Fingerprints
        /// Rows and sections to be redrawn on the way to this revision.
        let marks: Marks
        /// What the write that made this revision started from, and which request it was: tells a lost answer from a lost race.
        let parent: Revision?
        let maker: RequestFingerprint?
        let made: Moment

        init(
            revision: Revision, snapshot: Snapshot, fingerprints: Fingerprints, marks: Marks, parent: Revision? = nil,
            maker: RequestFingerprint? = nil, made: Moment = .now
        ) {
            (self.revision, self.snapshot, self.fingerprints, self.marks) = (revision, snapshot, fingerprints, marks)
            (self.parent, self.maker, self.made) = (parent, maker, made)
        }

        var footprint: Int { snapshot.footprint + fingerprints.footprint + marks.footprint }
    }

    /// What PUT or the creating POST settled.
    struct Settings: Sendable, Equatable {
        var timeToLive: Duration
        /// Places in items' contents that equality and digest leave out.
        var ignored: [JSONPointer]

        /// How many places may be ignored: each is looked for in each content.
        static let maxIgnored = 64

        /// Memory held, in bytes.
        var footprint: Int {
            ignored.reduce(0) { $0 + 48 + $1.tokens.reduce(0) { $0 + 48 + $1.count } }
        }
    }

    /// Memory held, in bytes.
    var footprint: Int { head.footprint + history.footprint + settings.footprint + replays.footprint + 512 }
}

/// A hash of a request's method, target and body.
struct RequestFingerprint: Sendable, Hashable {
    var value: UInt64
}
