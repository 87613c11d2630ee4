// Open addressing with linear probing (Knuth vol. 3, §6.4) over 32-bit slots: the low bits hold an index plus one, all
// bits above it a piece of the hash. A probe for an id that is not there then almost never leaves the table: with
// 10,000 items 18 bits of hash stand in the slot. At most two thirds full.

/// Finds an item or a section by its id.
struct IDTable: Sendable {
    private let slots: [UInt32]
    private let indexMask: UInt32

    static let empty = IDTable(slots: [], indexMask: 0)

    var footprint: Int { slots.capacity * 4 }

    /// Nothing to look up in: a skeleton's.
    var isEmpty: Bool { slots.isEmpty }

    private init(slots: [UInt32], indexMask: UInt32) {
        self.slots = slots
        self.indexMask = indexMask
    }

    /// A table of records with hashed ids, which stand in `text`. `onDuplicate` hears of every later one whose id an
    /// earlier one has; one whose id is missing is no duplicate of another such. O(records).
    @inline(__always)
    init<Record: IdentifiedRecord>(
        _ records: UnsafeBufferPointer<Record>, in text: UnsafeRawPointer,
        onDuplicate: (_ first: Int, _ later: Int) -> Void = { _, _ in }
    ) {
        let count = records.count
        guard count > 0 else {
            self = .empty
            return
        }
        let capacity = 1 << (Int.bitWidth - (count + count / 2).leadingZeroBitCount)
        let indexMask = UInt32(truncatingIfNeeded: (1 << (Int.bitWidth - count.leadingZeroBitCount)) - 1)
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
