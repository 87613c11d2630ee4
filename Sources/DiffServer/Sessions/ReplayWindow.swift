import HTTPCore

/// Recent writes by their `Idempotency-Key`, so that a retry is not executed again. Refusals are not remembered.
struct ReplayWindow: Sendable {
    /// Who sent which key: equal keys of different writers are different.
    struct Key: Hashable, Sendable {
        var writer: String
        var key: String
    }

    /// A write that was carried out.
    struct Entry: Sendable {
        var fingerprint: RequestFingerprint
        /// Whether it made the session.
        var made: Bool
        /// The head before the write; nil if there was none.
        var before: Revision?
        var done: Instant
    }

    typealias KeyedEntry = (key: Key, entry: Entry)

    /// Writes remembered per session.
    static let capacity = 64
    /// How long a write is remembered.
    static let age = Duration.seconds(600)

    private(set) var entries: [KeyedEntry] = []

    /// Memory held, in bytes.
    var footprint: Int {
        entries.reduce(0) {
            $0 + MemoryLayout<KeyedEntry>.stride + 64 + $1.key.writer.utf8.count + $1.key.key.utf8.count
        }
    }

    func entry(_ key: Key, at now: Instant) -> Entry? {
        entries.last { $0.key == key && now - $0.entry.done <= Self.age }?.entry
    }

    /// Appends an entry of a record.
    mutating func remember(_ recorded: KeyedEntry) { entries.append(recorded) }

    /// Takes over what another window of the same session has and this one lacks.
    ///
    /// Entries that come late are put last, so a window that has the last entry of another has all of them: the common
    /// case costs one search.
    mutating func formUnion(_ other: ReplayWindow, at now: Instant) {
        guard let last = other.entries.last, !entries.contains(where: { $0.key == last.key }) else { return }
        for (key, entry) in other.entries where now - entry.done <= Self.age {
            if !entries.contains(where: { $0.key == key }) { remember(entry, by: key) }
        }
    }

    mutating func remember(_ entry: Entry, by key: Key) {
        entries.removeAll { entry.done - $0.entry.done > Self.age || $0.key == key }
        if entries.count >= Self.capacity { entries.removeFirst() }
        entries.append((key, entry))
    }
}
