// A session may have thousands of writers, each with its own keys, and each commit copies a session's value. So older
// entries are in blocks that all versions share, and a commit copies only the newest ones. Whenever these fill a block,
// all entries are checked once, and those too old or too many are dropped: amortized O(1) blocks per write.

import DiffClock
import SnapshotKit

/// Recent writes by their `Idempotency-Key`, so that a retry is not executed again. Refusals are not remembered.
public struct ReplayWindow: Sendable {
    /// A key and its sender: equal keys of different writers are different.
    public struct Key: Hashable, Sendable {
        public var writer: String
        public var key: String

        public init(writer: String, key: String) { (self.writer, self.key) = (writer, key) }
    }

    /// A write that was carried out.
    public struct Entry: Sendable {
        var fingerprint: RequestFingerprint
        /// Whether it made the session.
        var made: Bool
        /// The head before the write; nil if there was none.
        var before: Revision?
        var done: Instant
    }

    public typealias KeyedEntry = (key: Key, entry: Entry)

    /// The most writes remembered per writer.
    static let maxOfWriter = 64
    /// The most writes remembered per session.
    static let capacity = 4_096
    /// How long a write is remembered.
    static let age = Duration.seconds(600)

    /// Entries that no longer change, with the hashes of their keys.
    private final class Block: Sendable {
        static let size = 64
        let entries: [KeyedEntry]
        let hashes: [Int]
        let footprint: Int

        init(_ entries: some Collection<KeyedEntry>) {
            self.entries = Array(entries)
            hashes = entries.map(\.key.hashValue)
            footprint = 64 + ReplayWindow.footprint(of: self.entries) + hashes.count * 8
        }

        func last(_ key: Key, _ hash: Int) -> Int? {
            hashes.indices.reversed().first { hashes[$0] == hash && entries[$0].key == key }
        }
    }

    /// Oldest first; in front of `newest`.
    private var blocks: [Block] = []
    /// Fewer than a block.
    private var newest: [KeyedEntry] = []

    /// All of them, oldest first. O(n).
    public var entries: [KeyedEntry] { blocks.flatMap(\.entries) + newest }

    /// Memory held, in bytes. O(n / 64).
    var footprint: Int { blocks.reduce(Self.footprint(of: newest)) { $0 + 8 + $1.footprint } }

    private static func footprint(of entries: [KeyedEntry]) -> Int {
        entries.reduce(0) {
            $0 + MemoryLayout<KeyedEntry>.stride + 64 + $1.key.writer.utf8.count + $1.key.key.utf8.count
        }
    }

    /// The write of a key; nil if it is not remembered.
    func entry(_ key: Key, at now: Instant) -> Entry? {
        guard let (place, entry) = find(key), now - entry.done <= Self.age else { return nil }
        return isRecent(place, of: key.writer) ? entry : nil
    }

    /// The last entry, unless another window of the session has it.
    func newest(since before: ReplayWindow) -> KeyedEntry? {
        guard let last = newest.last ?? blocks.last?.entries.last else { return nil }
        return before.find(last.key)?.entry.done == last.entry.done ? nil : last
    }

    /// Takes over what another window of the same session has and this one lacks.
    ///
    /// Entries that come late are put last, so a window that has the last entry of another has all of them: the common
    /// case costs one search.
    public mutating func formUnion(_ other: ReplayWindow, at now: Instant) {
        guard let last = other.newest.last ?? other.blocks.last?.entries.last, find(last.key) == nil else { return }
        for (key, entry) in other.entries where now - entry.done <= Self.age {
            if find(key) == nil { remember(entry, by: key) }
        }
    }

    /// Replaces an entry of the same key, which was too old, or is the same write, read from a store.
    mutating func remember(_ entry: Entry, by key: Key) {
        newest.removeAll { $0.key == key }
        newest.append((key, entry))
        if newest.count == Block.size { pack(at: entry.done) }
    }

    /// Checks all entries and puts them into blocks. O(n).
    private mutating func pack(at now: Instant) {
        var keys: [String: Set<String>] = [:]
        var kept: [KeyedEntry] = []
        for each in entries.reversed() where now - each.entry.done <= Self.age {
            guard kept.count < Self.capacity - Block.size, keys[each.key.writer, default: []].count < Self.maxOfWriter,
                keys[each.key.writer, default: []].insert(each.key.key).inserted
            else { continue }
            kept.append(each)
        }
        kept.reverse()
        let whole = kept.count - kept.count % Block.size
        blocks = stride(from: 0, to: whole, by: Block.size).map { Block(kept[$0..<$0 + Block.size]) }
        newest = Array(kept[whole...])
    }

    /// The newest entry of a key, and how many there are before it.
    private func find(_ key: Key) -> (place: Int, entry: Entry)? {
        if let place = newest.lastIndex(where: { $0.key == key }) {
            return (blocks.count * Block.size + place, newest[place].entry)
        }
        if blocks.isEmpty { return nil }
        let hash = key.hashValue
        for (index, block) in blocks.enumerated().reversed() {
            if let place = block.last(key, hash) { return (index * Block.size + place, block.entries[place].entry) }
        }
        return nil
    }

    /// Whether the writer has sent fewer keys since than are remembered.
    private func isRecent(_ place: Int, of writer: String) -> Bool {
        entries[(place + 1)...].count { $0.key.writer == writer } < Self.maxOfWriter
    }
}
