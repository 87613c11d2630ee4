import SnapshotKit

/// Skeletons of a session's past, oldest first, bounded by count, age and bytes.
struct History: Sendable {
    /// One past revision. An object, since each commit copies the list of them, and a reference is copied at less cost than what it leads to.
    final class Entry: Sendable {
        let revision: Revision
        /// Nil while only the store has it.
        let skeleton: Skeleton?
        /// What the skeleton takes, here or where it would be, whether or not it shares some with its neighbours; and the marks.
        let bytes: Int
        /// Redrawn on the way to this revision.
        let marks: Marks
        let retired: Moment
        /// What a store that others write to calls the skeleton: as the version of the session with which it came. 0 where it has no name.
        let name: UInt64

        init(revision: Revision, skeleton: Skeleton?, bytes: Int, marks: Marks, retired: Moment, name: UInt64 = 0) {
            (self.revision, self.skeleton, self.bytes) = (revision, skeleton, bytes)
            (self.marks, self.retired, self.name) = (marks, retired, name)
        }

        /// What it holds together with its neighbour.
        func sharedBytes(with next: Entry) -> Int {
            guard let skeleton, let other = next.skeleton else { return 0 }
            return skeleton.sharedFootprint(with: other)
        }

        func with(_ skeleton: Skeleton?, name: UInt64) -> Entry {
            Entry(revision: revision, skeleton: skeleton, bytes: bytes, marks: marks, retired: retired, name: name)
        }
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
        let skeleton = Skeleton(of: head.snapshot, fingerprints: head.fingerprints, after: entries.last?.skeleton)
        let bytes = skeleton.footprint + head.marks.footprint
        let entry = Entry(revision: head.revision, skeleton: skeleton, bytes: bytes, marks: head.marks, retired: now)
        footprint += bytes - (entries.last?.sharedBytes(with: entry) ?? 0)
        entries.append(entry)
        trim(at: now, bounds: bounds)
    }

    /// Forgets what is out of bounds.
    mutating func trim(at now: Moment, bounds: Bounds) {
        var surplus = 0
        while surplus < entries.count {
            let entry = entries[surplus]
            guard entries.count - surplus > bounds.revisions || footprint > bounds.bytes || now - entry.retired > bounds.age
            else { break }
            surplus += 1
            footprint -= entry.bytes - (surplus < entries.count ? entry.sharedBytes(with: entries[surplus]) : 0)
        }
        if surplus > 0 { entries.removeFirst(surplus) }
    }

    /// What a store knows, oldest first.
    init(_ entries: [Entry] = []) {
        self.entries = entries
        count()
    }

    private mutating func count() {
        footprint = entries.reduce(0) { $0 + $1.bytes }
        for (entry, next) in zip(entries, entries.dropFirst()) { footprint -= entry.sharedBytes(with: next) }
    }

    /// Names the newest skeleton.
    mutating func nameNewest(_ name: UInt64) {
        guard let newest = entries.last else { return }
        entries[entries.count - 1] = newest.with(newest.skeleton, name: name)
    }

    /// Puts in the skeleton of a revision, or forgets the revision if nobody has its skeleton.
    mutating func recall(_ sequence: UInt64, _ skeleton: Skeleton?) {
        guard let index = entries.firstIndex(where: { $0.revision.sequence == sequence }) else { return }
        if let skeleton {
            entries[index] = entries[index].with(skeleton, name: entries[index].name)
        } else {
            entries.remove(at: index)
        }
        count()
    }

    /// Takes over skeletons that another reading of the same past holds already.
    mutating func recall(from other: History) {
        for index in entries.indices where entries[index].skeleton == nil {
            let entry = entries[index]
            guard let known = other.entries.last(where: { $0.revision == entry.revision }) else { continue }
            entries[index] = entry.with(known.skeleton, name: entry.name)
        }
        count()
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
