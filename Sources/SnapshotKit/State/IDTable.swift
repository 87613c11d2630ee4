// Open addressing with linear probing (Knuth vol. 3, §6.4) over 32-bit slots: the low bits hold an index plus one, all
// bits above it a piece of the hash. A probe for an id that is not there then almost never leaves the table: with
// 10,000 items 18 bits of hash stand in the slot. At most two thirds full.

/// Finds an item or a section by its id.
struct IDTable: Sendable {
    private let slots: [UInt32]
    private let indexMask: UInt32

    static let empty = IDTable(slots: [], indexMask: 0)

    var footprint: Int { slots.capacity * 4 }

    /// Nothing to look up in.
    var isEmpty: Bool { slots.isEmpty }

    private init(slots: [UInt32], indexMask: UInt32) {
        self.slots = slots
        self.indexMask = indexMask
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
    }

    /// The table of a state that has most items of the one with this table: what is gone leaves it, what has moved is
    /// entered by its new index, what has come is added. O(capacity), without reading an id but for those that came;
    /// nil where a table made anew would have another size, or where two of those that came have the same id as
    /// another.
    ///
    /// - Parameters:
    ///   - old: what this table was made of.
    ///   - new: hashed.
    ///   - newOfOld: the new index of each old record plus one, behind a zero; zero for one that is gone.
    ///   - arrivals: indexes of the new records that are none of the old ones.
    func carried(
        from old: UnsafeBufferPointer<Node>, to new: UnsafeBufferPointer<Node>, in text: TextView, _ newOfOld: [UInt32],
        arrivals: [Int]
    ) -> IDTable? {
        guard !slots.isEmpty, slots.count == Self.capacity(for: new.count), indexMask == Self.indexMask(for: new.count)
        else { return nil }
        var slots = slots
        let isDone = slots.withUnsafeMutableBufferPointer { slots in
            let mask = slots.count - 1
            let wasFound = newOfOld.withUnsafeBufferPointer { newOfOld in
                for item in old.indices where newOfOld[item + 1] == 0 {
                    var slot = Int(old[item].hash) & mask
                    while slots[slot] & indexMask != UInt32(truncatingIfNeeded: item + 1) {
                        if slots[slot] == 0 { return false }
                        slot = (slot + 1) & mask
                    }
                    Self.close(slot, slots, old, indexMask)
                }
                // An empty slot stays one: nothing leads to nothing.
                for slot in slots.indices {
                    slots[slot] = slots[slot] & ~indexMask | newOfOld[Int(slots[slot] & indexMask)]
                }
                return true
            }
            guard wasFound else { return false }
            for item in arrivals {
                let tag = Self.tag(new[item].hash) & ~indexMask
                var slot = Int(new[item].hash) & mask
                while slots[slot] != 0 {
                    if slots[slot] & ~indexMask == tag,
                        new[Int(slots[slot] & indexMask) - 1].hasSameID(as: new[item], text, text)
                    {
                        return false
                    }
                    slot = (slot + 1) & mask
                }
                slots[slot] = tag | UInt32(truncatingIfNeeded: item + 1)
            }
            return true
        }
        return isDone ? IDTable(slots: slots, indexMask: indexMask) : nil
    }

    /// Empties a slot, and has those behind it that could not stand where they belong move up (Knuth vol. 3, §6.4,
    /// algorithm R).
    private static func close(
        _ slot: Int, _ slots: UnsafeMutableBufferPointer<UInt32>, _ records: UnsafeBufferPointer<Node>,
        _ indexMask: UInt32
    ) {
        let mask = slots.count - 1
        var (gap, next) = (slot, slot)
        while true {
            next = (next + 1) & mask
            guard slots[next] != 0 else { break }
            let home = Int(records[Int(slots[next] & indexMask) - 1].hash) & mask
            // It may move up unless its own place lies behind the gap.
            if (next - home) & mask >= (next - gap) & mask {
                slots[gap] = slots[next]
                gap = next
            }
        }
        slots[gap] = 0
    }

    private static func capacity(for count: Int) -> Int {
        1 << (Int.bitWidth - (count + count / 2).leadingZeroBitCount)
    }

    private static func indexMask(for count: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: (1 << (Int.bitWidth - count.leadingZeroBitCount)) - 1)
    }

    @inline(__always)
    private static func tag(_ hash: UInt32) -> UInt32 { hash &* 0x9E37_79B1 }

    /// The index whose id is meant, as `matches` says. Expected O(1).
    @inline(__always)
    func first(_ hash: UInt32, where matches: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        return slots.withUnsafeBufferPointer { slots in
            let tag = Self.tag(hash) & ~indexMask
            var slot = Int(hash) & (slots.count - 1)
            while slots[slot] != 0 {
                if slots[slot] & ~indexMask == tag {
                    let index = Int(slots[slot] & indexMask) - 1
                    if matches(index) { return index }
                }
                slot = (slot + 1) & (slots.count - 1)
            }
            return nil
        }
    }
}
