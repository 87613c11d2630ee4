import HTTPCore
import SnapshotKit

/// Skeletons of a session's past, oldest first, bounded by count, age and bytes.
struct History: Sendable {
    /// One past revision. An object, since each commit copies the list of them, and a reference is copied at less cost
    /// than what it leads to.
    final class Entry: Sendable {
        let revision: Revision
        /// Nil while only the store has it.
        let skeleton: Skeleton?
        /// What the skeleton takes, here or where it would be, whether or not it shares some with its neighbours; and
        /// the marks.
        let bytes: Int
        /// Redrawn on the way to this revision.
        let marks: Marks
        let retired: Instant
        /// What a store that others write to calls the skeleton: as the version of the session with which it came. 0
        /// where it has no name.
        let name: UInt64
        private let records: ObjectIdentifier?
        private let recordsBytes: Int

        init(revision: Revision, skeleton: Skeleton?, bytes: Int, marks: Marks, retired: Instant, name: UInt64 = 0) {
            (self.revision, self.skeleton, self.bytes) = (revision, skeleton, bytes)
            (self.marks, self.retired, self.name) = (marks, retired, name)
            (records, recordsBytes) = (skeleton?.records, skeleton?.recordsFootprint ?? 0)
        }

        /// What it holds together with its neighbour.
        func sharedBytes(with next: Entry) -> Int { records == next.records ? recordsBytes : 0 }

        /// The skeleton of the state that came next.
        func following(_ head: Session.Head) -> Skeleton {
            Skeleton(of: head.snapshot, fingerprints: head.fingerprints, after: skeleton)
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

    // A commit copies what it changes, so the list is in pages: those that are full stay as they are.
    private var full: [Page] = []
    /// How many of the first page are forgotten, and go with it.
    private var forgotten = 0
    /// Fewer than a page.
    private var recent: [Entry] = []
    /// Bytes of those that are remembered.
    private(set) var footprint = 0
    private var forgottenBytes = 0

    private final class Page: Sendable {
        static let size = 8
        let entries: [Entry]

        init(_ entries: [Entry]) { self.entries = entries }
    }

    /// What a store knows, oldest first.
    init(_ entries: [Entry] = []) { set(entries) }

    /// Oldest first. O(entries).
    var entries: [Entry] { full.flatMap(\.entries).dropFirst(forgotten) + recent }

    /// Memory held, in bytes.
    var heldBytes: Int { footprint + forgottenBytes }

    private var count: Int { full.count * Page.size - forgotten + recent.count }

    private var newest: Entry? { recent.last ?? full.last?.entries.last }

    private subscript(index: Int) -> Entry {
        let (page, place) = (forgotten + index).quotientAndRemainder(dividingBy: Page.size)
        return page < full.count ? full[page].entries[place] : recent[place]
    }

    private mutating func set(_ entries: [Entry]) {
        (full, forgotten, forgottenBytes, recent, footprint) = ([], 0, 0, [], 0)
        for entry in entries { add(entry) }
    }

    private mutating func add(_ entry: Entry) {
        footprint += entry.bytes - (newest?.sharedBytes(with: entry) ?? 0)
        recent.append(entry)
        if recent.count == Page.size { full.append(Page(exchange(&recent, with: []))) }
    }

    // MARK: Changes

    /// Adds what was the head until now, and forgets what is out of bounds.
    mutating func retire(_ head: Session.Head, at now: Instant, bounds: Bounds) {
        let skeleton = newest?.following(head) ?? Skeleton(of: head.snapshot, fingerprints: head.fingerprints)
        let bytes = skeleton.footprint + head.marks.footprint
        add(Entry(revision: head.revision, skeleton: skeleton, bytes: bytes, marks: head.marks, retired: now))
        trim(at: now, bounds: bounds)
    }

    /// Forgets what is out of bounds.
    mutating func trim(at now: Instant, bounds: Bounds) {
        while count > 0 {
            let oldest = self[0]
            guard count > bounds.revisions || footprint > bounds.bytes || now - oldest.retired > bounds.age else {
                break
            }
            let bytes = oldest.bytes - (count > 1 ? oldest.sharedBytes(with: self[1]) : 0)
            footprint -= bytes
            if full.isEmpty {
                recent.removeFirst()
                continue
            }
            forgotten += 1
            forgottenBytes += bytes
            if forgotten == Page.size {
                full.removeFirst()
                (forgotten, forgottenBytes) = (0, 0)
            }
        }
        if forgottenBytes > max(4096, footprint / 8) { set(entries) }
    }

    /// Names the newest skeleton.
    mutating func nameNewest(_ name: UInt64) {
        guard let newest else { return }
        let named = newest.with(newest.skeleton, name: name)
        if recent.isEmpty { set(entries.dropLast() + [named]) } else { recent[recent.count - 1] = named }
    }

    /// Puts in the skeleton of a revision, or forgets the revision if nobody has its skeleton.
    mutating func recall(_ sequence: UInt64, _ skeleton: Skeleton?) {
        var entries = entries
        guard let index = entries.firstIndex(where: { $0.revision.sequence == sequence }) else { return }
        if let skeleton {
            entries[index] = entries[index].with(skeleton, name: entries[index].name)
        } else {
            entries.remove(at: index)
        }
        set(entries)
    }

    /// Takes over skeletons that another reading of the same past holds already.
    mutating func recall(from other: History) {
        let known = other.entries
        set(
            entries.map { entry in
                guard entry.skeleton == nil, let known = known.last(where: { $0.revision == entry.revision }) else {
                    return entry
                }
                return entry.with(known.skeleton, name: entry.name)
            })
    }

    // MARK: Looking back

    /// The newest revision with a digest; its own sequence first.
    func entry(_ revision: Revision, at now: Instant, bounds: Bounds) -> Entry? {
        var found: Entry?
        for index in (0..<count).reversed() {
            let entry = self[index]
            guard now - entry.retired <= bounds.age else { break }
            if entry.revision == revision { return entry }
            if found == nil, entry.revision.digest == revision.digest { found = entry }
        }
        return found
    }

    /// The sequence of the oldest revision that is still within its age.
    func oldest(at now: Instant, bounds: Bounds) -> UInt64? {
        (0..<count).first { now - self[$0].retired <= bounds.age }.map { self[$0].revision.sequence }
    }

    /// Marks of all revisions after a sequence.
    func marks(after sequence: UInt64) -> Marks {
        var marks = Marks.none
        for index in (0..<count).reversed() {
            guard self[index].revision.sequence > sequence else { break }
            if !self[index].marks.isEmpty { marks.formUnion(self[index].marks) }
        }
        return marks
    }
}
