// Members must be named once (RFC 8259 §4 leaves it open; a strict reader refuses). Every object costs this check, so
// it must cost little: a 64-bit mark a name, compared one after another, which for the few names of common objects is a
// handful of compares of memory that is already there. Past `linearLimit` names a hash table takes over, so that an
// object of 100,000 names is no quadratic trap. Marks say "perhaps": two equal marks are settled by the texts. A mark
// leaves out what stands in the middle of a long name, so tables go by a keyed hash of the whole: nobody can choose
// names that meet in one place.

/// The names seen so far in each object that is open.
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
    }

    private static let linearLimit = 48

    /// The first `count` are of open objects; what follows is room.
    private var names: [Name] = []
    private var count = 0
    /// One table for each open object that outgrew the linear search; kept for the next one.
    private var tables: [[Slot]] = []
    private var openTables = 0

    /// Starts an object.
    @inline(__always)
    func open() -> Frame { Frame(start: count, tables: openTables) }

    /// Ends an object and forgets its names.
    @inline(__always)
    mutating func close(_ frame: Frame) {
        count = frame.start
        openTables = frame.tables
    }

    /// Adds a name; false if the object has it already.
    @inline(__always)
    mutating func insert(_ token: StringToken, in frame: Frame, text: UnsafeRawPointer) -> Bool {
        let start = text + token.start
        let mark = token.isEscaped ? Self.escapedMark(start, token.count) : Self.mark(start, token.count)
        if count - frame.start < Self.linearLimit {
            for index in frame.start..<count where names[index].mark == mark {
                if same(index, token, text) { return false }
            }
        } else {
            guard insertIntoTable(token, mark, frame, text) else { return false }
        }
        if count == names.count { grow() }
        names[count] = Name(
            mark: mark, start: UInt32(truncatingIfNeeded: token.start), count: Int32(truncatingIfNeeded: token.count),
            isEscaped: token.isEscaped)
        count += 1
        return true
    }

    @inline(never)
    private mutating func grow() { names.append(contentsOf: repeatElement(Name(), count: max(names.count, 16))) }

    // MARK: Tables

    /// Of a table: the hash of a name above its number, counted from 1 within its object; zero where there is none. The
    /// hash says nearly always that a name is another one, so that neither it nor the text is fetched.
    private typealias Slot = UInt64

    private mutating func insertIntoTable(
        _ token: StringToken, _ mark: UInt64, _ frame: Frame, _ text: UnsafeRawPointer
    ) -> Bool {
        let number = count - frame.start
        if openTables == frame.tables { openTable(frame, text) }
        if (number + 1) * 2 > tables[frame.tables].count { growTable(frame) }
        let hash = Self.hash(text + token.start, token.count, token.isEscaped)
        let mask = tables[frame.tables].count - 1
        var slot = Int(hash) & mask
        while tables[frame.tables][slot] != 0 {
            let entry = tables[frame.tables][slot]
            if entry >> 32 == hash {
                let index = frame.start + Int(entry & 0xFFFF_FFFF) - 1
                if names[index].mark == mark, same(index, token, text) { return false }
            }
            slot = (slot + 1) & mask
        }
        tables[frame.tables][slot] = hash << 32 | UInt64(truncatingIfNeeded: number + 1)
        return true
    }

    /// Starts a table with the names that the object has so far.
    private mutating func openTable(_ frame: Frame, _ text: UnsafeRawPointer) {
        openTables += 1
        if tables.count < openTables { tables.append([]) }
        let slots = names[frame.start..<count].enumerated().map { number, name in
            let hash = Self.hash(text + Int(name.start), Int(name.count), name.isEscaped)
            return hash << 32 | UInt64(truncatingIfNeeded: number + 1)
        }
        fillTable(frame, slots, size: 256)
    }

    private mutating func growTable(_ frame: Frame) {
        fillTable(frame, tables[frame.tables], size: tables[frame.tables].count * 4)
    }

    private mutating func fillTable(_ frame: Frame, _ slots: [Slot], size: Int) {
        var table = [Slot](repeating: 0, count: size)
        for entry in slots where entry != 0 {
            var slot = Int(entry >> 32) & (size - 1)
            while table[slot] != 0 { slot = (slot + 1) & (size - 1) }
            table[slot] = entry
        }
        tables[frame.tables] = table
    }

    /// 32 bits of a hash of the text, so that a name with escapes and the same one without meet.
    private static func hash(_ start: UnsafeRawPointer, _ count: Int, _ isEscaped: Bool) -> UInt64 {
        fingerprint(of: JSONString(start: start, count: count, isEscaped: isEscaped), by: .process) >> 32
    }

    // MARK: Names

    /// Exact for names of up to seven bytes; longer ones fold their two ends. `first` and `last`: eight bytes from
    /// either end.
    @inline(__always)
    private static func mark(_ first: UInt64, _ last: UInt64, _ count: Int) -> UInt64 {
        if count >= 8 { return (first ^ (last << 23 | last >> 41)) &+ UInt64(truncatingIfNeeded: count) }
        return count == 0 ? 0 : first << UInt64(64 - 8 * count)
    }

    /// Reads up to eight bytes from `start`.
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

    /// Whether a name that was seen has the text of one with the same mark.
    private func same(_ index: Int, _ token: StringToken, _ text: UnsafeRawPointer) -> Bool {
        let name = names[index]
        return JSONString(start: text + Int(name.start), count: Int(name.count), isEscaped: name.isEscaped)
            == JSONString(start: text + token.start, count: token.count, isEscaped: token.isEscaped)
    }
}
