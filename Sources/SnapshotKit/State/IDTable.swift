// Open addressing with linear probing (Knuth vol. 3, §6.4) over 32-bit slots: the low bits hold an index plus one, all
// bits above it a piece of the hash. A probe for an id that is not there then almost never leaves the table: with
// 10,000 items 18 bits of hash stand in the slot. At most two thirds full.

/// Finds an item or a section by its id.
struct IDTable: Sendable {
    private let slots: [UInt32]
    private let indexMask: UInt32
    /// Where the entered items stand now; nil where they stand where they were entered.
    private let renumbering: Renumbering?

    static let empty = IDTable(slots: [], indexMask: 0)

    var footprint: Int { slots.capacity * 4 + (renumbering?.footprint ?? 0) }

    /// Nothing to look up in.
    var isEmpty: Bool { slots.isEmpty }

    private init(slots: [UInt32], indexMask: UInt32, renumbering: Renumbering? = nil) {
        (self.slots, self.indexMask, self.renumbering) = (slots, indexMask, renumbering)
    }

    /// A table of records with hashed ids, which stand in `text`. `onDuplicate` hears of every later one whose id an
    /// earlier one has; one whose id is missing is no duplicate of another such. O(records).
    @inline(__always)
    init<Record: IdentifiedRecord>(
        _ records: UnsafeBufferPointer<Record>, in text: TextView,
        onDuplicate: (_ first: Int, _ later: Int) -> Void = { _, _ in }
    ) {
        let count = records.count
        guard count > 0 else {
            self = .empty
            return
        }
        let capacity = Self.capacity(for: count)
        let indexMask = Self.indexMask(for: count)
        slots = [UInt32](unsafeUninitializedCapacity: capacity) { slots, used in
            slots.initialize(repeating: 0)
            for index in 0..<count {
                let mark = records[index].hash
                var slot = Int(mark) & (capacity - 1)
                // The table's own bits choose the slot; rotated, other bits of the hash stand in it.
                let tag = Self.tag(mark) & ~indexMask
                while slots[slot] != 0 {
                    if slots[slot] & ~indexMask == tag {
                        let earlier = Int(slots[slot] & indexMask) - 1
                        if records[earlier].hasSameID(as: records[index], text, text) {
                            if records[index].idCount > 0 { onDuplicate(earlier, index) }
                            break
                        }
                    }
                    slot = (slot + 1) & (capacity - 1)
                }
                if slots[slot] == 0 { slots[slot] = tag | UInt32(truncatingIfNeeded: index + 1) }
            }
            used = capacity
        }
        self.indexMask = indexMask
        renumbering = nil
    }

    /// The table of a state that was made of the one with this table; nil where it is better made anew, or where two
    /// items have the same id. O((kept + arrivals) · log of that), and as much for what was told before.
    ///
    /// - Parameters:
    ///   - kept: items with the same ids in both states, in any order.
    ///   - arrivals: items whose ids the old state does not have.
    ///   - new: hashed.
    func renumbered(
        _ kept: [ReusedRun], _ arrivals: [Renumbering.Arrival], to new: UnsafeBufferPointer<Node>, in text: TextView
    ) -> IDTable? {
        let most = max(64, new.count / 64)
        guard !slots.isEmpty, !new.isEmpty, kept.count + arrivals.count <= 2 * most else { return nil }
        let kept = kept.sorted { $0.old < $1.old }
        guard kept.areDisjoint else { return nil }
        let renumbering = Renumbering(kept, arrivals, behind: renumbering)
        guard renumbering.count <= most,
            renumbering.areUnique({ new[$0].hasSameID(as: new[$1], text, text) })
        else { return nil }
        return IDTable(slots: slots, indexMask: indexMask, renumbering: renumbering)
    }

    private static func capacity(for count: Int) -> Int {
        1 << (Int.bitWidth - (count + count / 2).leadingZeroBitCount)
    }

    private static func indexMask(for count: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: (1 << (Int.bitWidth - count.leadingZeroBitCount)) - 1)
    }

    @inline(__always)
    private static func tag(_ hash: UInt32) -> UInt32 { hash &* 0x9E37_79B1 }

    /// The index whose id is meant, as `matches` says. Expected O(1), and O(log n) where items came, went or moved
    /// since the table was made.
    @inline(__always)
    func first(_ hash: UInt32, where matches: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        let entered: Int? = slots.withUnsafeBufferPointer { slots in
            let tag = Self.tag(hash) & ~indexMask
            var slot = Int(hash) & (slots.count - 1)
            while slots[slot] != 0 {
                if slots[slot] & ~indexMask == tag {
                    let entered = Int(slots[slot] & indexMask) - 1
                    let index = renumbering.map { $0.index(ofEntered: entered) ?? -1 } ?? entered
                    if index >= 0, matches(index) { return index }
                }
                slot = (slot + 1) & (slots.count - 1)
            }
            return nil
        }
        return entered ?? renumbering?.arrival(hash, where: matches)
    }
}
