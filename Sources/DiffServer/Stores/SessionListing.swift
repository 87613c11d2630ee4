import DiffClock
import DiffSessions
import SnapshotKit

/// The sessions to list, in the byte order of their names.
public struct SessionRange: Sendable {
    /// Names are from `lower` up to, but not including, `upper`.
    public let lower, upper: String
    public let prefix: String
    public let limit: Int

    /// - Parameter after: the last name of the previous page, or empty.
    public init(prefix: String, after: String, limit: Int) {
        // Every character of a name is after "!" and before DEL.
        lower = after.isEmpty ? prefix : max(prefix, after + "!")
        upper = prefix + "\u{7F}"
        (self.prefix, self.limit) = (prefix, limit)
    }

    package func contains(_ name: String) -> Bool { lower <= name && name < upper }
}

/// A session in a listing.
public struct SessionEntry: Sendable, Equatable {
    public let name: String
    public let revision: String
    /// The visible rows of the head, and the bytes in the store.
    public let rows, bytes: Int
    public var expires: WallTime

    public init(name: String, revision: String, rows: Int, bytes: Int, expires: WallTime) {
        (self.name, self.revision, self.rows, self.bytes, self.expires) = (name, revision, rows, bytes, expires)
    }
}

/// A page of sessions, in order.
public struct SessionPage: Sendable, Equatable {
    public let entries: [SessionEntry]
    /// The last name, if others follow.
    public let next: String?

    public init(entries: [SessionEntry], next: String? = nil) { (self.entries, self.next) = (entries, next) }
}

/// The first names in a range, collected from names in any order.
public struct FirstNames: Sendable {
    private let range: SessionRange
    /// In order, with one more than wanted, to see whether more follow.
    private var found: [String] = []

    public init(_ range: SessionRange) { self.range = range }

    /// The names in order, and the last of them if more follow.
    public var page: (names: ArraySlice<String>, next: String?) {
        let names = found.prefix(range.limit)
        return (names, found.count > range.limit ? names.last : nil)
    }

    /// Whether a name would be among the first.
    func wants(_ name: String) -> Bool {
        range.contains(name) && (found.count <= range.limit || name < found[range.limit])
    }

    /// Inserts a name if it is among the first and not yet there.
    public mutating func insert(_ name: String) {
        guard wants(name) else { return }
        let index = found.indices.partitionPoint { found[$0] < name }
        if index < found.count, found[index] == name { return }
        if found.count > range.limit { found.removeLast() }
        found.insert(name, at: index)
    }
}

/// All slots of a table, each at an index that it keeps. So a listing can go through a stride at a time, let others use
/// the table in between, and still meet every slot that stays throughout. Adding and removing cost O(1).
struct SlotArray {
    /// Retained by the table; nil at a free index.
    private var slots: [Unmanaged<SessionSlot>?] = []
    private var free: [Int] = []

    mutating func add(_ slot: SessionSlot) {
        if free.isEmpty {
            free.append(slots.count)
            slots.append(nil)
        }
        let index = free.removeLast()
        slot.recency.index = UInt32(index)
        slots[index] = .passUnretained(slot)
    }

    mutating func remove(_ slot: SessionSlot) {
        free.append(Int(slot.recency.index))
        slots[Int(slot.recency.index)] = nil
    }

    /// Up to `count` slots from an index on; nil beyond the end.
    func slots(from index: Int, _ count: Int) -> [SessionSlot]? {
        guard index < slots.count else { return nil }
        return slots[index..<min(index + count, slots.count)].compactMap { $0?.takeUnretainedValue() }
    }
}

extension SessionTable {
    /// Looks at 1,024 slots at a time under the lock, for 0.1 ms; then uses the findings without it.
    func eachStride<Found>(_ look: (inout Registry, [SessionSlot]) -> Found, then use: (Found) -> Void) {
        let stride = 1024
        var index = 0
        while let found = registry.withLock({ registry in
            registry.slotArray.slots(from: index, stride).map { look(&registry, $0) }
        }) {
            use(found)
            index += stride
        }
    }

    /// The sessions in the table. O(all), but no caller waits for more than one stride. Does not count as use.
    func page(_ range: SessionRange, at now: Instant = .now) -> SessionPage {
        var first = FirstNames(range)
        eachStride { _, slots in
            slots.filter { first.wants($0.name) && $0.isAlive(at: now) }.map(\.name)
        } then: { names in
            for name in names { first.insert(name) }
        }
        let (names, next) = first.page
        return SessionPage(entries: names.compactMap { entry($0, at: now) }, next: next)
    }

    /// The sessions with most streams and held requests, awaited ones too, in order. O(all), like `page`.
    public func mostRead(_ limit: Int) -> [(name: String, readers: Int)] {
        var most: [(name: String, readers: Int)] = []
        func add(_ slots: [SessionSlot]) {
            let read = slots.lazy.map { (name: $0.name, readers: $0.readerCount) }.filter { $0.readers > 0 }
            most = Array((most + read).sorted { ($1.readers, $0.name) < ($0.readers, $1.name) }.prefix(limit))
        }
        eachStride({ _, slots in slots }, then: add)
        add(registry.withLock { $0.evicted.values.compactMap(\.slot) })
        return most
    }

    private func entry(_ name: String, at now: Instant) -> SessionEntry? {
        let found = registry.withLock { registry in
            registry.slots[name].map { (slot: $0, left: $0.recency.expires - now, bytes: $0.recency.bytes) }
        }
        guard let found, let session = found.slot.sessionInMemory else { return nil }
        return SessionEntry(
            name: name, revision: session.revision.text, rows: session.rows, bytes: found.bytes,
            expires: WallTime.after(max(.zero, found.left)))
    }

    /// When a session in the table expires unless it is used, and whether it is alive; nil if it is not in the table.
    public func end(of name: String, at now: Instant = .now) -> (expires: WallTime, isAlive: Bool)? {
        registry.withLock { registry in
            registry.slots[name].map { (WallTime.after(max(.zero, $0.recency.expires - now)), $0.isAlive(at: now)) }
        }
    }
}

extension SessionSlot {
    /// Whether the session has not expired. Call it under the table's lock.
    fileprivate func isAlive(at now: Instant) -> Bool { recency.expires > now || readerCount > 0 }
}
