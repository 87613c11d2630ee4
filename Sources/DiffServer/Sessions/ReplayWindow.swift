// A session may have thousands of writers, each with its own keys, and each commit copies a session's value. So older
// entries are in blocks that all versions share, and a commit copies only the newest ones. Surplus entries are removed
// in batches, by one pass over all: amortized O(1) per write. Until then, they are not found.

import DiffClock
import SnapshotKit

/// Recent writes by their `Idempotency-Key`, so that a retry is not executed again. Refusals are not remembered.
///
/// When the window is full, the oldest entry of the writer with the most is forgotten. So a writer with many keys has
/// all the room that others leave.
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

    /// The most writes remembered per session.
    static let capacity = 4_096
    /// How long a write is remembered.
    static let age = Duration.seconds(600)

    /// Entries that no longer change, with the hashes of their keys.
    private final class Block: Sendable {
        static let size = 64
        let entries: [KeyedEntry]
        private let hashes: [Int]
        /// A filter: one bit for each value of a hash's low 10 bits. Most blocks are skipped without comparing hashes.
        private let ends: [UInt64]
        let footprint: Int

        init(_ entries: some Collection<KeyedEntry>) {
            self.entries = Array(entries)
            hashes = entries.map(\.key.hashValue)
            ends = hashes.reduce(into: [UInt64](repeating: 0, count: 16)) { $0[$1 >> 6 & 15] |= 1 << ($1 & 63) }
            footprint = 224 + ReplayWindow.footprint(of: self.entries) + hashes.count * 8
        }

        func index(of key: Key, _ hash: Int) -> Int? {
            guard ends[hash >> 6 & 15] & 1 << (hash & 63) != 0 else { return nil }
            return hashes.indices.first { hashes[$0] == hash && entries[$0].key == key }
        }
    }

    /// How many surplus entries one pass removes.
    private static let slack = 8 * Block.size

    /// Oldest first; in front of `newest`. No key is in two entries.
    private var blocks: [Block] = []
    /// Fewer than a block.
    private var newest: [KeyedEntry] = []

    init() {}

    /// - Parameter entries: oldest first.
    init(_ entries: [KeyedEntry]) { set(entries) }

    private mutating func set(_ entries: [KeyedEntry]) {
        let whole = entries.count - entries.count % Block.size
        blocks = stride(from: 0, to: whole, by: Block.size).map { Block(entries[$0..<$0 + Block.size]) }
        newest = Array(entries[whole...])
    }

    /// All entries, oldest first. O(n).
    public var entries: [KeyedEntry] { blocks.flatMap(\.entries) + newest }

    public var isEmpty: Bool { count == 0 }

    /// O(n / 64).
    var count: Int { blocks.reduce(newest.count) { $0 + $1.entries.count } }

    /// O(n / 64).
    var footprint: Int { blocks.reduce(Self.footprint(of: newest)) { $0 + 8 + $1.footprint } }

    private static func footprint(of entries: [KeyedEntry]) -> Int {
        entries.reduce(0) {
            $0 + MemoryLayout<KeyedEntry>.stride + 64 + $1.key.writer.utf8.count + $1.key.key.utf8.count
        }
    }

    func entry(_ key: Key, at now: Instant) -> Entry? {
        guard let entry = find(key)?.entry, now - entry.done <= Self.age else { return nil }
        guard count <= Self.capacity || remembered(at: now).contains(where: { $0.key == key }) else { return nil }
        return entry
    }

    /// The last entry, unless another window of the session has it.
    func newest(since before: ReplayWindow) -> KeyedEntry? {
        guard let last else { return nil }
        return before.find(last.key)?.entry.done == last.entry.done ? nil : last
    }

    private var last: KeyedEntry? { newest.last ?? blocks.last?.entries.last }

    /// Adds what another window of the same session has more. Late entries are appended, so a window that has the last
    /// entry of another has all of its entries: the common case costs one search.
    public mutating func formUnion(_ other: ReplayWindow, at now: Instant) {
        guard let last = other.last, find(last.key) == nil else { return }
        for (key, entry) in other.entries where now - entry.done <= Self.age {
            if find(key) == nil { remember(entry, by: key) }
        }
    }

    /// Adds an entry. It replaces one of the same key, which was too old, or is the same write, read from a store.
    mutating func remember(_ entry: Entry, by key: Key) {
        forget(key)
        newest.append((key, entry))
        guard newest.count == Block.size else { return }
        blocks.append(Block(exchange(&newest, with: [])))
        while let oldest = blocks.first, oldest.entries.allSatisfy({ entry.done - $0.entry.done > Self.age }) {
            blocks.removeFirst()
        }
        if count > Self.capacity + Self.slack - Block.size { set(remembered(at: entry.done)) }
    }

    private mutating func forget(_ key: Key) {
        guard let (block, index, _) = find(key) else { return }
        guard block < blocks.count else {
            newest.remove(at: index)
            return
        }
        var entries = blocks[block].entries
        entries.remove(at: index)
        blocks[block] = Block(entries)
    }

    /// The entries that there is room for, oldest first. O(n).
    func remembered(at now: Instant) -> [KeyedEntry] {
        let entries = entries.filter { now - $0.entry.done <= Self.age }
        let counts = entries.reduce(into: [String: Int]()) { $0[$1.key.writer, default: 0] += 1 }
        // The most entries per writer, and how many writers may have one more.
        var (most, extra) = (entries.count, 0)
        let sum = { (most: Int) in counts.values.reduce(0) { $0 + min($1, most) } }
        if entries.count > Self.capacity {
            most = (0..<entries.count).partitionPoint { sum($0) <= Self.capacity } - 1
            extra = Self.capacity - sum(most)
        }
        var taken: [String: Int] = [:]
        let kept = entries.reversed().filter { each in
            let count = taken[each.key.writer, default: 0]
            guard count < most || count == most && extra > 0 else { return false }
            if count == most { extra -= 1 }
            taken[each.key.writer] = count + 1
            return true
        }
        return kept.reversed()
    }

    /// The block and index of a key's entry; in `newest`, the block is the number of blocks.
    private func find(_ key: Key) -> (block: Int, index: Int, entry: Entry)? {
        if let index = newest.lastIndex(where: { $0.key == key }) {
            return (blocks.count, index, newest[index].entry)
        }
        if blocks.isEmpty { return nil }
        let hash = key.hashValue
        for (number, block) in blocks.enumerated().reversed() {
            if let index = block.index(of: key, hash) { return (number, index, block.entries[index].entry) }
        }
        return nil
    }
}
