import DiffClock
import SnapshotKit

/// Makes the session that follows another one.
public struct SessionTransition: Sendable {
    let name: String
    let bounds: History.Bounds
    public let hash: KeyedHash
    let now: Instant
    /// Whether a store keeps a log.
    var isLogged = false

    public init(name: String, bounds: History.Bounds, hash: KeyedHash, now: Instant, isLogged: Bool = false) {
        (self.name, self.bounds, self.hash, self.now, self.isLogged) = (name, bounds, hash, now, isLogged)
    }

    /// A new session, or one that starts `before` over: the sequence continues, and answered keys stay answered.
    public func firstSession(
        _ snapshot: Snapshot, settings: Session.Settings, after before: Session?, maker: RequestFingerprint?,
        isOfFetch: Bool = false
    ) -> Session {
        let parent = before?.head.revision
        let sequence = parent?.sequence ?? 0
        var settings = settings
        let snapshot = snapshot.continuesHead && sequence > 0 ? snapshot.numbered(sequence + 1) : snapshot
        if let before {
            // A reader with an equal earlier state continues from here. If other places were ignored then, its values
            // may differ in places that count now, so no earlier state may have the digest of a later one.
            let isOther = settings.ignored != before.settings.ignored || before.settings.ignoredOthers
            settings.digestEpoch = before.settings.digestEpoch + (isOther ? 1 : 0)
        }
        let fingerprints = Fingerprints(of: snapshot, by: hash, ignoring: settings.ignored)
        let revision = Revision(sequence: sequence + 1, digest: fingerprints.digest(salt: settings.salt(name)))
        let provenance = Session.Head.Provenance(
            revision: revision, marks: .none, parent: parent, maker: maker, made: now,
            fetched: isOfFetch ? .beginning : nil)
        return Session(
            head: Session.Head(provenance, snapshot: snapshot, fingerprints: fingerprints), settings: settings,
            replays: before?.replays ?? ReplayWindow(),
            startedOverAt: sequence == 0 ? 0 : revision.sequence, version: before?.version ?? 0)
    }

    /// The session with other settings; state, revision and history stay. If the ignored places change, later states
    /// are compared accordingly, while the revision keeps its digest.
    public func session(_ before: Session, settled settings: Session.Settings) -> Session {
        let old = before.settings
        var settings = settings
        (settings.digestEpoch, settings.ignoredOthers) = (old.digestEpoch, old.ignoredOthers)
        settings.isSaltedByEpoch = old.isSaltedByEpoch
        if settings == old { return before }
        guard settings.ignored != old.ignored else { return before.with(settings: settings) }
        (settings.digestEpoch, settings.isSaltedByEpoch) = (old.digestEpoch + 1, false)
        if !old.ignored.isEmpty { settings.ignoredOthers = true }
        return before.with(head: before.head.ignoring(settings.ignored), settings: settings)
    }

    /// The session with a new state, or unchanged if that equals its head; and the changeset between them.
    ///
    /// - Parameter isOfFetch: whether the fetch of one section makes it.
    public func session(
        after before: Session, _ snapshot: Snapshot, _ shared: SharedRuns? = nil, marks: Marks = .none,
        maker: RequestFingerprint?, isOfFetch: Bool = false
    ) -> (Session, Changeset) {
        let (old, ignored) = (before.head, before.settings.ignored)
        let changeset = Changeset(
            from: old.snapshot, to: snapshot, marks: marks, ignoring: ignored,
            patchesItems: !before.settings.ignoredOthers, shared: shared)
        let fingerprints = Fingerprints(
            of: snapshot, ignoring: ignored, from: old.fingerprints, reusing: changeset.shared)
        // Digests are not compared, since the head's may be from a time when other places were ignored.
        let isSame = fingerprints.areOfSameState(as: old.fingerprints)
        if isSame, marks.isEmpty { return (before, changeset) }
        var history = before.history
        let back = isSame ? SnapshotDelta.unchanged : SnapshotDelta(backOver: changeset)
        history.retire(old.revision, marks: old.marks, back: back, at: now, bounds: bounds)
        let digest = isSame ? old.revision.digest : fingerprints.digest(salt: before.settings.salt(name))
        let provenance = Session.Head.Provenance(
            revision: Revision(sequence: old.revision.sequence + 1, digest: digest), marks: marks,
            parent: old.revision, maker: maker, made: now, hasOldDigest: isSame && old.hasOldDigest,
            fetched: isOfFetch ? before.fetchGround : nil)
        // If only marks are new, the old snapshot stays: ignored places change only together with others, and the
        // writer is told what is stored.
        let reported =
            isSame && !snapshot.isIdentical(to: old.snapshot)
            ? Changeset(
                from: old.snapshot, to: old.snapshot, marks: marks, ignoring: ignored,
                patchesItems: !before.settings.ignoredOthers) : changeset
        let head = Session.Head(
            provenance, snapshot: isSame ? old.snapshot : snapshot, fingerprints: fingerprints,
            step: !isLogged
                ? nil : isSame ? .unchanged : SnapshotDelta(over: changeset, besides: before.replays.footprint),
            change: reported)
        return (before.with(head: head, history: history), reported)
    }
}

extension Session.Head {
    /// The head with fingerprints that ignore other places. O(bytes).
    fileprivate func ignoring(_ ignored: [JSONPointer]) -> Session.Head {
        var provenance = provenance
        provenance.hasOldDigest = true
        return Session.Head(
            provenance, snapshot: snapshot,
            fingerprints: Fingerprints(of: snapshot, by: fingerprints.hash, ignoring: ignored))
    }
}
