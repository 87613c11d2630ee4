import HTTPCore
import SnapshotKit

/// Which sessions are listed: names of the alphabet of names, in the order of their bytes.
struct SessionRange: Sendable {
    /// The first name that there could be, and the first one behind all of them.
    let lower, upper: String
    let prefix: String
    let limit: Int

    /// - Parameters:
    ///   - prefix: of all names, or empty.
    ///   - after: the name behind which they begin, or empty.
    ///   - limit: how many at most.
    init(prefix: String, after: String, limit: Int) {
        // No letter of a name is before "!", and none behind DEL.
        lower = after.isEmpty ? prefix : max(prefix, after + "!")
        upper = prefix + "\u{7F}"
        (self.prefix, self.limit) = (prefix, limit)
    }

    func contains(_ name: String) -> Bool { lower <= name && name < upper }
}

/// A session as it is listed.
struct SessionEntry: Sendable, Equatable {
    let name: String
    /// The revision's text.
    let revision: String
    /// Visible rows of the head, and the bytes that the session takes where it is kept; nil where an older process
    /// wrote it last.
    let rows, bytes: Int?
    let expires: WallTime

    /// The same with another end.
    func ending(_ expires: WallTime) -> SessionEntry {
        SessionEntry(name: name, revision: revision, rows: rows, bytes: bytes, expires: expires)
    }
}

/// Some sessions, in their order.
struct SessionPage: Sendable, Equatable {
    let entries: [SessionEntry]
    /// The last name, if others follow.
    let next: String?
}

/// How a name starts: its first 16 bytes, as a number. Numbers are in the order of their names, where they differ.
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

/// The first names of those that are met in any order.
struct FirstNames {
    private let range: SessionRange
    /// One more than is wanted, to see whether more follow.
    private var found: [String] = []
    /// How a name may start to be among them.
    private(set) var starts: ClosedRange<NameStart>

    init(_ range: SessionRange) {
        self.range = range
        let (lower, upper) = (NameStart(range.lower), NameStart(range.upper))
        starts = lower...max(lower, upper)
    }

    /// The names, in their order, and the last of them if others follow.
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

/// All slots of a table, each at a place that it keeps for as long as it is there. So they can be looked through some
/// at a time, while others get on in between, and whoever is there all the while is met. Adding and removing one costs
/// O(1).
struct SlotPlaces {
    /// A slot, which the table holds on to; nil where there is none. How its name starts stands here, so that who looks
    /// for a few touches no others.
    private var places: [(start: NameStart, slot: Unmanaged<SessionSlot>?)] = []
    private var free: [Int] = []

    mutating func add(_ slot: SessionSlot) {
        if free.isEmpty {
            free.append(places.count)
            places.append((NameStart(slot.name), nil))
        }
        slot.recency.place = free.removeLast()
        places[slot.recency.place] = (NameStart(slot.name), .passUnretained(slot))
    }

    mutating func remove(_ slot: SessionSlot) {
        places[slot.recency.place].slot = nil
        free.append(slot.recency.place)
    }

    /// Calls with the slots at `count` places from one on whose names start so; false if there are no more places.
    func each(from place: Int, _ count: Int, _ starts: ClosedRange<NameStart>, _ body: (SessionSlot) -> Void) -> Bool {
        guard place < places.count else { return false }
        for index in place..<min(place + count, places.count) where starts.contains(places[index].start) {
            if let slot = places[index].slot { body(slot.takeUnretainedValue()) }
        }
        return true
    }
}

extension SessionTable {
    /// Places that are looked at in one go: some microseconds, or 0.1 ms where all names start alike.
    private static let stride = 1024

    /// The sessions that are here. O(all), though nobody has to wait for more than a stride of them; no use of any.
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
            expires: WallTime.now.adding(max(.zero, found.left)))
    }

    /// When a session ends that is here unless it is used, and whether it has not ended; nil where it is not here.
    func end(of name: String, at now: Instant = .now) -> (expires: WallTime, isAlive: Bool)? {
        registry.withLock { registry in
            registry.slots[name].map { slot in
                (WallTime.now.adding(max(.zero, slot.recency.expires - now)), slot.isAlive(at: now))
            }
        }
    }
}

extension SessionSlot {
    /// Whether its time is not over, by what the table knows, whose lock is held.
    fileprivate func isAlive(at now: Instant) -> Bool { recency.expires > now || readerCount > 0 }
}
