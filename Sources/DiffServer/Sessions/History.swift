import SnapshotKit

/// Skeletons of a session's past, oldest first, bounded by count, age and bytes.
struct History: Sendable {
    /// One past revision.
    struct Entry: Sendable {
        var revision: Revision
        /// Nil while only the store has it.
        var skeleton: Skeleton?
        /// What the skeleton takes, here or where it would be, and the marks.
        var bytes: Int
        /// Redrawn on the way to this revision.
        var marks: Marks
        var retired: Moment
        /// What a store that others write to calls the skeleton: as the version of the session with which it came. 0 where it has no name.
        var name: UInt64 = 0
    }

    /// How much is remembered.
    struct Bounds: Sendable {
        /// Revisions. Default 64.
        var revisions = 64
        /// Since it was the head. Default 1 h.
        var age = Duration.seconds(3600)
        /// Of all skeletons of a session. Default 1 MiB.
        var bytes = 1 << 20
    }

    private(set) var entries: [Entry] = []
    private(set) var footprint = 0

    /// Adds what was the head until now, and forgets what is out of bounds.
    mutating func retire(_ head: Session.Head, at now: Moment, bounds: Bounds) {
        let skeleton = Skeleton(of: head.snapshot, fingerprints: head.fingerprints)
        let bytes = skeleton.footprint + head.marks.footprint
        entries.append(
            Entry(revision: head.revision, skeleton: skeleton, bytes: bytes, marks: head.marks, retired: now))
        footprint += bytes
        trim(at: now, bounds: bounds)
    }

    /// Forgets what is out of bounds.
    mutating func trim(at now: Moment, bounds: Bounds) {
        var surplus = 0
        while surplus < entries.count {
            let entry = entries[surplus]
            guard entries.count - surplus > bounds.revisions || footprint > bounds.bytes || now - entry.retired > bounds.age
            else { break }
            footprint -= entry.bytes
            surplus += 1
        }
        if surplus > 0 { entries.removeFirst(surplus) }
    }

    /// What a store knows, oldest first.
    init(_ entries: [Entry] = []) {
        self.entries = entries
        footprint = entries.reduce(0) { $0 + $1.bytes }
    }

    /// Names the newest skeleton.
    mutating func nameNewest(_ name: UInt64) {
        if !entries.isEmpty { entries[entries.count - 1].name = name }
    }

    /// Puts in the skeleton of a revision, or forgets the revision if nobody has its skeleton.
    mutating func recall(_ sequence: UInt64, _ skeleton: Skeleton?) {
        guard let index = entries.firstIndex(where: { $0.revision.sequence == sequence }) else { return }
        if let skeleton {
            entries[index].skeleton = skeleton
        } else {
            footprint -= entries[index].bytes
            entries.remove(at: index)
        }
    }

    /// Takes over skeletons that another reading of the same past holds already.
    mutating func recall(from other: History) {
        for index in entries.indices where entries[index].skeleton == nil {
            let revision = entries[index].revision
            entries[index].skeleton = other.entries.last { $0.revision == revision }?.skeleton
        }
    }

    /// The newest revision with a digest; its own sequence first.
    func entry(_ revision: Revision, at now: Moment, bounds: Bounds) -> Entry? {
        let fresh = entries.filter { now - $0.retired <= bounds.age }
        return fresh.last { $0.revision == revision } ?? fresh.last { $0.revision.digest == revision.digest }
    }

    /// The sequence of the oldest revision that is still within its age.
    func oldest(at now: Moment, bounds: Bounds) -> UInt64? {
        entries.first { now - $0.retired <= bounds.age }?.revision.sequence
    }

    /// Marks of all revisions after a sequence.
    func marks(after sequence: UInt64) -> Marks {
        var marks = Marks.none
        for entry in entries where entry.revision.sequence > sequence { marks.formUnion(entry.marks) }
        return marks
    }
}
