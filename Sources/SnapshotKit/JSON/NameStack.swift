// Members must be named once (RFC 8259 §4 leaves it open; a strict reader refuses). Every object costs this check, so it must
// cost little: a 64-bit mark a name, compared one after another, which for the few names of common objects is a handful of
// compares of memory that is already there. Past `linearLimit` names a hash table takes over, so that an object of 100,000
// names is no quadratic trap. Marks say "perhaps": two equal marks are settled by the texts.

/// The names seen so far in each object that is open.
struct NameStack {
    /// Where an object's names begin.
    struct Frame {
        fileprivate let start: Int
        fileprivate let tables: Int
    }

    private struct Name {
        var start: Int
        var count: Int
        var isEscaped: Bool
    }

    private static let linearLimit = 48

    private var marks: [UInt64] = []
    private var names: [Name] = []
    /// One table for each open object that outgrew the linear search; kept for the next one.
    private var tables: [[UInt32]] = []
    private var openTables = 0

    /// Starts an object.
    @inline(__always)
    func open() -> Frame { Frame(start: marks.count, tables: openTables) }

    /// Ends an object and forgets its names.
    @inline(__always)
    mutating func close(_ frame: Frame) {
        let count = marks.count - frame.start
        marks.removeLast(count)
        names.removeLast(count)
        openTables = frame.tables
    }

    /// Adds a name; false if the object has it already.
    @inline(__always)
    mutating func insert(_ token: StringToken, in frame: Frame, text: UnsafeRawPointer) -> Bool {
        let name = Name(start: token.start, count: token.count, isEscaped: token.isEscaped)
        let mark = token.isEscaped ? Self.escapedMark(name, text) : Self.mark(text + token.start, token.count)
        if marks.count - frame.start >= Self.linearLimit {
            guard insertIntoTable(name, mark, frame, text) else { return false }
        } else {
            for index in frame.start..<marks.count where marks[index] == mark {
                if Self.same(names[index], name, text) { return false }
            }
        }
        marks.append(mark)
        names.append(name)
        return true
    }

    private mutating func insertIntoTable(
        _ name: Name, _ mark: UInt64, _ frame: Frame, _ text: UnsafeRawPointer
    ) -> Bool {
        let count = marks.count - frame.start
        if openTables == frame.tables {
            openTables += 1
            if tables.count < openTables { tables.append([]) }
            rebuild(frame, capacity: Self.linearLimit * 4)
        } else if (count + 1) * 2 > tables[frame.tables].count {
            rebuild(frame, capacity: tables[frame.tables].count * 4)
        }
        let mask = tables[frame.tables].count - 1
        var slot = Self.slot(mark, mask)
        while tables[frame.tables][slot] != 0 {
            let index = frame.start + Int(tables[frame.tables][slot]) - 1
            if marks[index] == mark, Self.same(names[index], name, text) { return false }
            slot = (slot + 1) & mask
        }
        tables[frame.tables][slot] = UInt32(count + 1)
        return true
    }

    private mutating func rebuild(_ frame: Frame, capacity: Int) {
        let size = 1 << (Int.bitWidth - (capacity - 1).leadingZeroBitCount)
        var table = [UInt32](repeating: 0, count: size)
        for index in frame.start..<marks.count {
            var slot = Self.slot(marks[index], size - 1)
            while table[slot] != 0 { slot = (slot + 1) & (size - 1) }
            table[slot] = UInt32(index - frame.start + 1)
        }
        tables[frame.tables] = table
    }

    private static func slot(_ mark: UInt64, _ mask: Int) -> Int {
        Int(truncatingIfNeeded: KeyedHash.process.mixed(mark)) & mask
    }

    /// Exact for names of up to eight bytes; longer ones fold their two ends. Reads up to eight bytes from `start`.
    @inline(__always)
    private static func mark(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
        if count >= 8 {
            let first = load64(start)
            let last = load64(start + count - 8)
            return (first ^ (last << 23 | last >> 41)) &+ UInt64(truncatingIfNeeded: count)
        }
        return count == 0 ? 0 : load64(start) << UInt64(64 - 8 * count)
    }

    private static func escapedMark(_ name: Name, _ text: UnsafeRawPointer) -> UInt64 {
        let decoded = Array(StringText(text + name.start, name.count)) + [UInt8](repeating: 0, count: 8)
        return decoded.withUnsafeBytes { mark($0.baseAddress!, decoded.count - 8) }
    }

    private static func same(_ one: Name, _ other: Name, _ text: UnsafeRawPointer) -> Bool {
        if !one.isEscaped, !other.isEscaped {
            return one.count == other.count && sameBytes(text + one.start, text + other.start, one.count)
        }
        return StringText(text + one.start, one.count).elementsEqual(StringText(text + other.start, other.count))
    }
}
