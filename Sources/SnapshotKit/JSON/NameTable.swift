/// Finds the names of one object by the hash of their text: open addressing with linear probing, at most half full.
struct NameTable {
    /// The hash in the upper half, the name's number plus one in the lower; zero where there is none. Another hash
    /// nearly always rules a name out, so that neither it nor its text is fetched.
    private var slots: [UInt64]
    private var count = 0

    /// An empty table with room for `names`.
    init(_ names: Int) {
        slots = [UInt64](filled: 0, count: 1 << (Int.bitWidth - (2 * names | 15).leadingZeroBitCount))
    }

    /// 32 bits of a hash of the text, so that a name written with escapes and the same one without have equal hashes.
    static func hash(_ name: JSONString) -> UInt64 { fingerprint(of: name, by: .process) >> 32 }

    /// The slot of the number with this hash that `matches` accepts, else the empty one where it belongs.
    @inline(__always)
    private func slot(_ hash: UInt64, where matches: (Int) -> Bool) -> Int {
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0, slots[slot] >> 32 != hash || !matches(Self.number(slots[slot])) {
            slot = (slot + 1) & (slots.count - 1)
        }
        return slot
    }

    private static func number(_ entry: UInt64) -> Int { Int(truncatingIfNeeded: entry & 0xFFFF_FFFF) - 1 }

    /// The number with this hash that `matches` accepts. Expected O(1).
    @inline(__always)
    func first(_ hash: UInt64, where matches: (Int) -> Bool) -> Int? {
        let entry = slots[slot(hash, where: matches)]
        return entry == 0 ? nil : Self.number(entry)
    }

    /// Enters a number under its hash; false if there is one that `matches` accepts. Amortised O(1).
    @inline(__always)
    mutating func insert(_ hash: UInt64, _ number: Int, unless matches: (Int) -> Bool = { _ in false }) -> Bool {
        if (count + 1) * 2 > slots.count { grow() }
        let slot = slot(hash, where: matches)
        guard slots[slot] == 0 else { return false }
        slots[slot] = hash << 32 | UInt64(truncatingIfNeeded: number + 1)
        count += 1
        return true
    }

    private mutating func grow() {
        let entries = exchange(&slots, with: [UInt64](filled: 0, count: slots.count * 4))
        for entry in entries where entry != 0 { slots[slot(entry >> 32) { _ in false }] = entry }
    }
}
