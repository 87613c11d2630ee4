import HTTPCore
import SnapshotKit

/// Which sessions to list, in the order of their names' bytes.
struct SessionRange: Sendable {
    /// Names are from `lower` up to, not including, `upper`.
    let lower, upper: String
    let prefix: String
    let limit: Int

    /// - Parameters:
    ///   - prefix: of all names, or empty.
    ///   - after: the last name of the page before, or empty.
    ///   - limit: how many at most.
    init(prefix: String, after: String, limit: Int) {
        // Every character of a name is after "!" and before DEL.
        lower = after.isEmpty ? prefix : max(prefix, after + "!")
        upper = prefix + "\u{7F}"
        (self.prefix, self.limit) = (prefix, limit)
    }

    func contains(_ name: String) -> Bool { lower <= name && name < upper }
}

/// A session in a list.
struct SessionEntry: Sendable, Equatable {
    let name: String
    /// The revision's text.
    let revision: String
    /// Visible rows of the head, and the bytes that the session takes in its store; nil if an older process wrote it.
    let rows, bytes: Int?
    var expires: WallTime
}

/// Some sessions, in order.
struct SessionPage: Sendable, Equatable {
    let entries: [SessionEntry]
    /// The last name, if others follow.
    let next: String?
}

/// The first 16 bytes of a name, as a number. Numbers that differ are in the order of their names.
struct NameStart: Comparable {
    private let high, low: UInt64

    init(_ name: String) {
        var (high, low): (UInt64, UInt64) = (0, 0)
        for (index, byte) in name.utf8.prefix(16).enumerated() {
            let shift = UInt64(56 - 8 * (index & 7))
            if index < 8 { high |= UInt64(byte) << shift } else { low |= UInt64(byte) << shift }
        }
        (self.high, self.low) = (high, low)
    }

    static func < (one: NameStart, other: NameStart) -> Bool { (one.high, one.low) < (other.high, other.low) }
}

/// The first names in a range, of names that come in any order.
struct FirstNames {
    private let range: SessionRange
    /// In order, and one more than is wanted, to see whether more follow.
    private var found: [String] = []
    /// The starts of names that may be among them.
    private(set) var starts: ClosedRange<NameStart>

    init(_ range: SessionRange) {
        self.range = range
        let (lower, upper) = (NameStart(range.lower), NameStart(range.upper))
        starts = lower...max(lower, upper)
    }

    /// The names, in order, and the last of them if others follow.
    var page: (names: ArraySlice<String>, next: String?) {
        let names = found.prefix(range.limit)
        return (names, found.count > range.limit ? names.last : nil)
    }

    /// Whether a name would be among them.
    func wants(_ name: String) -> Bool {
        guard range.contains(name) else { return false }
        return found.count <= range.limit || name < found[range.limit]
    }

    /// Takes a name in, once, if it is among the first.
    mutating func meet(_ name: String) {
        guard wants(name) else { return }
        let place = found.indices.border { found[$0] < name }
        if place < found.count, found[place] == name { return }
        if found.count > range.limit { found.removeLast() }
        found.insert(name, at: place)
        if found.count > range.limit {
            starts = starts.lowerBound...max(starts.lowerBound, NameStart(found[range.limit]))
        }
    }
}

/// All slots of a table, each at an index that it keeps while it is there. So a list can go through some at a time, and
/// let others use the table in between, and still meets every slot that is there all the while. Adding and removing one
/// costs O(1).
struct SlotPlaces {
    /// A slot, which the table retains; nil in a free place. The start of its name is here too, so that a list of a few
    /// touches no other slots.
    private var places: [(start: NameStart, slot: Unmanaged<SessionSlot>?)] = []
    private var free: [Int] = []

    mutating func add(_ slot: SessionSlot) {
        if free.isEmpty {
            free.append(places.count)
            places.append((NameStart(slot.name), nil))
        }
        let place = free.removeLast()
        slot.recency.place = UInt32(place)
        places[place] = (NameStart(slot.name), .passUnretained(slot))
    }

    mutating func remove(_ slot: SessionSlot) {
        let place = Int(slot.recency.place)
        places[place].slot = nil
        free.append(place)
    }

    /// Calls `body` with the slots at `count` places from one on whose names start so; false if there are no more
    /// places.
    func each(from place: Int, _ count: Int, _ starts: ClosedRange<NameStart>, _ body: (SessionSlot) -> Void) -> Bool {
        guard place < places.count else { return false }
        for index in place..<min(place + count, places.count) where starts.contains(places[index].start) {
            if let slot = places[index].slot { body(slot.takeUnretainedValue()) }
        }
        return true
    }
}

extension SessionTable {
    /// Places that are looked at under one lock: it takes some microseconds, or 0.1 ms if all names start alike.
    private static let stride = 1024

    /// The sessions in the table. O(all), though nobody waits for more than a stride of them. Does not count as use.
    func page(_ range: SessionRange, at now: Instant = .now) -> SessionPage {
        var first = FirstNames(range)
        for place in sequence(first: 0, next: { $0 + Self.stride }) {
            var met: [String] = []
            let goesOn = registry.withLock { registry in
                registry.places.each(from: place, Self.stride, first.starts) { slot in
                    if first.wants(slot.name), slot.isAlive(at: now) { met.append(slot.name) }
                }
            }
            guard goesOn else { break }
            for name in met { first.meet(name) }
        }
        let (names, next) = first.page
        return SessionPage(entries: names.compactMap { entry($0, at: now) }, next: next)
    }

    /// A session as it is listed; nil if it is gone by now.
    private func entry(_ name: String, at now: Instant) -> SessionEntry? {
        let found = registry.withLock { registry in
            registry.slots[name].map { (slot: $0, left: $0.recency.expires - now, bytes: $0.recency.bytes) }
        }
        guard let found, let session = found.slot.sessionInMemory else { return nil }
        return SessionEntry(
            name: name, revision: session.revision.text, rows: session.rows, bytes: found.bytes,
            expires: WallTime.after(max(.zero, found.left)))
    }

    /// When a session in the table will end unless it is used, and whether it is alive; nil if it is not there.
    func end(of name: String, at now: Instant = .now) -> (expires: WallTime, isAlive: Bool)? {
        registry.withLock { registry in
            registry.slots[name].map { slot in
                (WallTime.after(max(.zero, slot.recency.expires - now)), slot.isAlive(at: now))
            }
        }
    }
}

extension SessionSlot {
    /// Whether its time is not over. The table's lock is held.
    fileprivate func isAlive(at now: Instant) -> Bool { recency.expires > now || readerCount > 0 }
}
