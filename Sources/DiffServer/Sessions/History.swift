import DiffClock
import SnapshotKit

/// Past revisions of a session, oldest first, bounded by count, age and bytes. Each has a delta that leads back to it
/// from the next one, so memory grows with the changes, not with the list. The newest is kept for some seconds even if
/// it alone exceeds the bound on bytes: readers at the head get the next changes, whatever their size.
public struct History: Sendable {
    /// One past revision. An object, since each commit copies references to them.
    public final class Entry: Sendable {
        let revision: Revision
        /// Leads here from the state of the next revision.
        let back: SnapshotDelta
        /// Rows and sections to redraw on the way to this revision.
        let marks: Marks
        let retired: Instant
        let bytes: Int

        init(revision: Revision, back: SnapshotDelta, marks: Marks, retired: Instant) {
            (self.revision, self.back, self.marks, self.retired) = (revision, back, marks, retired)
            bytes = back.bytes.capacity + marks.footprint + 192
        }
    }

    /// The bounds on what is remembered.
    public struct Bounds: Sendable {
        public var revisions = 64
        /// How long a revision is remembered after it was the head. Default 1 h.
        public var age = Duration.seconds(3600)
        public var bytes = 1 << 20

        /// How long the newest entry is kept, however large it is.
        public static let graceTime = Duration.seconds(5)

        public init() {}
    }

    // Each commit copies the list, so it is split into pages: full ones are shared.
    private var full: [Page] = []
    /// How many entries of the first page are forgotten. They are freed with the page.
    private var forgotten = 0
    /// Fewer than a page.
    private var recent: [Entry] = []
    private(set) var footprint = 0
    private var forgottenBytes = 0

    public init() {}

    private final class Page: Sendable {
        static let size = 8
        let entries: [Entry]

        init(_ entries: [Entry]) { self.entries = entries }
    }

    var entries: [Entry] { full.flatMap(\.entries).dropFirst(forgotten) + recent }

    var heldBytes: Int { footprint + forgottenBytes }

    private var count: Int { full.count * Page.size - forgotten + recent.count }

    /// The revision before the head.
    var newest: Entry? { recent.last ?? full.last?.entries.last }

    var oldestSequence: UInt64? { count > 0 ? self[0].revision.sequence : nil }

    private subscript(index: Int) -> Entry {
        let (page, offset) = (forgotten + index).quotientAndRemainder(dividingBy: Page.size)
        return page < full.count ? full[page].entries[offset] : recent[offset]
    }

    private mutating func set(_ entries: [Entry]) {
        (full, forgotten, forgottenBytes, recent, footprint) = ([], 0, 0, [], 0)
        for entry in entries { add(entry) }
    }

    private mutating func add(_ entry: Entry) {
        footprint += entry.bytes
        recent.append(entry)
        if recent.count == Page.size { full.append(Page(exchange(&recent, with: []))) }
    }

    // MARK: Changes

    /// Adds a revision that was the head until now, with the way back to it, and forgets what is out of bounds.
    mutating func retire(_ revision: Revision, marks: Marks, back: SnapshotDelta, at now: Instant, bounds: Bounds) {
        add(Entry(revision: revision, back: back, marks: marks, retired: now))
        trim(at: now, bounds: bounds)
    }

    public mutating func trim(at now: Instant, bounds: Bounds) {
        while count > 0 {
            let oldest = self[0]
            let isTooMuch = count > bounds.revisions || count > 1 && footprint > bounds.bytes
            guard isTooMuch || now - oldest.retired > maxAge(bounds) else { break }
            footprint -= oldest.bytes
            if full.isEmpty {
                recent.removeFirst()
                continue
            }
            forgotten += 1
            forgottenBytes += oldest.bytes
            if forgotten == Page.size {
                full.removeFirst()
                (forgotten, forgottenBytes) = (0, 0)
            }
        }
        if forgottenBytes > max(4096, footprint / 8) { set(entries) }
    }

    /// Whether the newest entry is kept only for its grace time; it is then the only one.
    public func isOversize(_ bounds: Bounds) -> Bool { footprint > bounds.bytes && count == 1 }

    private func maxAge(_ bounds: Bounds) -> Duration {
        isOversize(bounds) ? min(bounds.age, Bounds.graceTime) : bounds.age
    }

    // MARK: Looking back

    /// The index of a revision, or else of the newest one with its digest.
    func index(of revision: Revision, at now: Instant, bounds: Bounds) -> Int? {
        var found: Int?
        let age = maxAge(bounds)
        for index in (0..<count).reversed() {
            let entry = self[index]
            guard now - entry.retired <= age else { break }
            if entry.revision == revision { return index }
            if found == nil, entry.revision.digest == revision.digest { found = index }
        }
        return found
    }

    public func revision(at index: Int) -> Revision { self[index].revision }

    func revision(_ sequence: UInt64) -> Revision? {
        guard let oldest = oldestSequence, sequence >= oldest else { return nil }
        return (0..<count).reversed().lazy.map { self[$0].revision }.first { $0.sequence == sequence }
    }

    /// Whether a revision (or its successor, if it is gone) has used up half of any bound: count, bytes or age.
    public func isFading(_ sequence: UInt64, at now: Instant, bounds: Bounds) -> Bool {
        guard let index = (0..<count).first(where: { self[$0].revision.sequence >= sequence }) else { return false }
        let newer = (index..<count).reduce(0) { $0 + self[$1].bytes }
        return (count - index) * 2 > bounds.revisions || newer * 2 > bounds.bytes
            || (now - self[index].retired) * 2 > bounds.age
    }

    /// The deltas that lead from the head to an index, in order.
    func way(to oldest: Int) -> [SnapshotDelta] {
        var way: [SnapshotDelta] = []
        for index in (oldest..<count).reversed() {
            let back = self[index].back
            if back.isWhole { way.removeAll(keepingCapacity: true) }
            way.append(back)
        }
        return way
    }

    /// The sequence of the oldest revision that is still within its age.
    func oldest(at now: Instant, bounds: Bounds) -> UInt64? {
        let age = maxAge(bounds)
        return (0..<count).first { now - self[$0].retired <= age }.map { self[$0].revision.sequence }
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
