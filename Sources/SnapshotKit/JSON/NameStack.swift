// Members must be named once (RFC 8259 §4 leaves it open; a strict reader refuses repetitions). Every object pays for
// this check, so it must be cheap: 64-bit marks of its few names are compared one after another. Equal marks only
// suggest equal names; the texts decide. Past `linearLimit` names a hash table takes over. A mark ignores the middle of
// a long name, so tables use a keyed hash of the whole: nobody can choose names that collide.

/// The names seen so far in each open object.
struct NameStack {
    /// Where an object's names begin.
    struct Frame {
        fileprivate let start: Int
        fileprivate let tables: Int
    }

    private struct Name {
        var mark: UInt64 = 0
        var start: UInt32 = 0
        var count: Int32 = 0
        var isEscaped = false

        func string(in text: UnsafeRawPointer) -> JSONString {
            JSONString(start: text + Int(start), count: Int(count), isEscaped: isEscaped)
        }
    }

    private static let linearLimit = 48

    /// The first `count` belong to open objects; the rest is spare room.
    private var names: [Name] = []
    private var count = 0
    /// One for each open object that outgrew the linear search.
    private var tables: [NameTable] = []

    @inline(__always)
    func open() -> Frame { Frame(start: count, tables: tables.count) }

    @inline(__always)
    mutating func close(_ frame: Frame) {
        count = frame.start
        if tables.count > frame.tables { tables.removeLast() }
    }

    /// Adds a name; false if the object already has it.
    @inline(__always)
    mutating func insert(_ token: StringToken, in frame: Frame, text: UnsafeRawPointer) -> Bool {
        let start = text + token.start
        let mark = token.isEscaped ? Self.escapedMark(start, token.count) : Self.mark(start, token.count)
        let name = Name(
            mark: mark, start: UInt32(truncatingIfNeeded: token.start), count: Int32(truncatingIfNeeded: token.count),
            isEscaped: token.isEscaped)
        if count - frame.start < Self.linearLimit {
            for index in frame.start..<count where names[index].mark == mark {
                if names[index].string(in: text) == name.string(in: text) { return false }
            }
        } else if !insertIntoTable(name, frame, text) {
            return false
        }
        if count == names.count { append(name) } else { names[count] = name }
        count += 1
        return true
    }

    @inline(never)
    private mutating func append(_ name: Name) {
        if names.isEmpty { names.reserveCapacity(16) }
        names.append(name)
    }

    @inline(never)
    private mutating func insertIntoTable(_ name: Name, _ frame: Frame, _ text: UnsafeRawPointer) -> Bool {
        let names = names[frame.start..<count]
        if tables.count == frame.tables {
            var table = NameTable(2 * Self.linearLimit)
            for (number, name) in names.enumerated() { _ = table.insert(NameTable.hash(name.string(in: text)), number) }
            tables.append(table)
        }
        return tables[frame.tables].insert(NameTable.hash(name.string(in: text)), names.count) { number in
            let other = names[names.startIndex + number]
            return other.mark == name.mark && other.string(in: text) == name.string(in: text)
        }
    }

    /// Exact for names of up to seven bytes; longer ones fold their first and last eight bytes.
    @inline(__always)
    private static func mark(_ first: UInt64, _ last: UInt64, _ count: Int) -> UInt64 {
        if count >= 8 { return (first ^ (last << 23 | last >> 41)) &+ UInt64(truncatingIfNeeded: count) }
        return count == 0 ? 0 : first << UInt64(64 - 8 * count)
    }

    @inline(__always)
    private static func mark(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
        mark(load64(start), count >= 8 ? load64(start + count - 8) : 0, count)
    }

    @inline(never)
    private static func escapedMark(_ start: UnsafeRawPointer, _ rawCount: Int) -> UInt64 {
        var (first, last, count): (UInt64, UInt64, Int) = (0, 0, 0)
        for byte in StringText(start, rawCount) {
            if count < 8 { first |= UInt64(byte) << UInt64(count * 8) }
            last = last >> 8 | UInt64(byte) << 56
            count += 1
        }
        return mark(first, last, count)
    }
}

// MARK: - The table

/// Finds texts by their hashes, such as the names of an object: open addressing with linear probing, at most half full.
struct NameTable {
    /// The hash in the upper half, the text's number plus one in the lower; zero where there is none.
    private var buckets: [UInt64]
    private var count = 0

    init(_ names: Int) {
        buckets = [UInt64](filled: 0, count: 1 << (Int.bitWidth - (2 * names | 15).leadingZeroBitCount))
    }

    var footprint: Int { buckets.capacity * 8 }

    /// 32 bits of a hash of the text, so a name has the same hash with and without escapes.
    static func hash(_ name: JSONString) -> UInt64 { fingerprint(of: name, by: .process) >> 32 }

    /// The bucket of the number with this hash that `matches` accepts, else the empty one where it belongs.
    @inline(__always)
    private func bucket(_ hash: UInt64, where matches: (Int) -> Bool) -> Int {
        var bucket = Int(truncatingIfNeeded: hash) & (buckets.count - 1)
        while buckets[bucket] != 0, buckets[bucket] >> 32 != hash || !matches(Self.number(buckets[bucket])) {
            bucket = (bucket + 1) & (buckets.count - 1)
        }
        return bucket
    }

    private static func number(_ entry: UInt64) -> Int { Int(truncatingIfNeeded: entry & 0xFFFF_FFFF) - 1 }

    /// The number with this hash that `matches` accepts. Expected O(1).
    @inline(__always)
    func first(_ hash: UInt64, where matches: (Int) -> Bool) -> Int? {
        let entry = buckets[bucket(hash, where: matches)]
        return entry == 0 ? nil : Self.number(entry)
    }

    /// Enters a number under its hash; false if `matches` accepts one already there. Amortised O(1).
    @inline(__always)
    mutating func insert(_ hash: UInt64, _ number: Int, unless matches: (Int) -> Bool = { _ in false }) -> Bool {
        if (count + 1) * 2 > buckets.count { grow() }
        let bucket = bucket(hash, where: matches)
        guard buckets[bucket] == 0 else { return false }
        buckets[bucket] = hash << 32 | UInt64(truncatingIfNeeded: number + 1)
        count += 1
        return true
    }

    private mutating func grow() {
        let entries = exchange(&buckets, with: [UInt64](filled: 0, count: buckets.count * 4))
        for entry in entries where entry != 0 { buckets[bucket(entry >> 32) { _ in false }] = entry }
    }
}
