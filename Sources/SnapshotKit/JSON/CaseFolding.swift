// Strings without their case: each scalar by its simple lower-case mapping (Unicode, UnicodeData.txt).
//
// UTF-8 is folded as the bytes that it is, by a table in two levels: a page holds the 64 scalars that differ only in
// the last byte. Rejected: the properties of scalars, which make a String of each; text that is not ASCII cost fifteen
// times as much.

/// The simple lower-case mappings.
private struct LowerCase: Sendable {
    /// Made at first use, in a few milliseconds.
    static let mappings = LowerCase()

    /// Where the page of a scalar begins, by the bits above its last six. The first page has no mappings.
    private let pages: [UInt16]
    /// UTF-8, its first byte lowest; 0 if the scalar is its own mapping.
    private let mapped: [UInt32]

    private init() {
        // No script beyond the first two planes has a case.
        let end: UInt32 = 0x20000
        var (pages, mapped) = ([UInt16](repeating: 0, count: Int(end >> 6)), [UInt32](repeating: 0, count: 64))
        for value in 0x80..<end {
            guard let scalar = Unicode.Scalar(value), scalar.properties.changesWhenLowercased else { continue }
            // The full mapping is the simple one, except for this scalar, which it turns into two.
            let mapping = value == 0x130 ? "i" : scalar.properties.lowercaseMapping
            let page = Int(value >> 6)
            if pages[page] == 0 {
                pages[page] = UInt16(mapped.count)
                mapped += repeatElement(0, count: 64)
            }
            mapped[Int(pages[page]) + Int(value & 63)] = mapping.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        (self.pages, self.mapped) = (pages, mapped)
    }

    /// A mapping may be one byte longer than a scalar of two.
    static func room(for count: Int) -> Int { count + count / 2 + JSONScanner.padding }

    /// Writes UTF-8 in lower case to memory of `room(for:)` bytes; returns how many it takes. O(bytes).
    func fold(_ text: UnsafeRawBufferPointer, to start: UnsafeMutableRawPointer) -> Int {
        guard var at = text.baseAddress else { return 0 }
        let end = at + text.count
        var to = start
        while at < end {
            let first = at.load(as: UInt8.self)
            if first < 0x80 {
                to.storeBytes(of: first &- UInt8(ascii: "A") < 26 ? first | 0x20 : first, as: UInt8.self)
                (at, to) = (at + 1, to + 1)
                continue
            }
            // The text is valid, and padding follows it.
            let count = Self.length(first)
            var scalar = Int(first) & 0x7F >> count
            for index in 1..<count { scalar = scalar << 6 | Int((at + index).load(as: UInt8.self) & 0x3F) }
            let page = scalar >> 6
            let mapping = page < pages.count ? mapped[Int(pages[page]) + scalar & 63] : 0
            if mapping == 0 {
                to.copyMemory(from: at, byteCount: count)
                to += count
            } else {
                to.storeBytes(of: mapping.littleEndian, as: UInt32.self)
                to += Self.length(UInt8(truncatingIfNeeded: mapping))
            }
            at += count
        }
        return to - start
    }

    /// The bytes of a scalar, by its first one.
    private static func length(_ first: UInt8) -> Int { first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4 }
}

/// Memory for a text that is made of another; each replaces the one before.
package final class TextRoom {
    private var memory: UnsafeMutableRawPointer?
    private var size = 0

    package init() {}

    deinit { memory?.deallocate() }

    fileprivate func start(of count: Int) -> UnsafeMutableRawPointer {
        if let memory, count <= size { return memory }
        memory?.deallocate()
        size = max(count, 2 * size)
        memory = .allocate(byteCount: size, alignment: 8)
        return memory!
    }
}

extension OrderedValue {
    /// The same value, a string without its case, whose text is then in `room`. O(bytes).
    package func withoutCase(in room: TextRoom) -> OrderedValue {
        guard rank == .string else { return self }
        let size = LowerCase.room(for: text.count)
        let start = room.start(of: isEscaped ? size + text.count + JSONScanner.padding : size)
        let count = LowerCase.mappings.fold(isEscaped ? resolved(to: start + size) : text, to: start)
        return OrderedValue(text: start, count)
    }

    /// The same value, a string without escapes. O(bytes), or O(1) if it has none.
    package func withoutEscapes(in room: TextRoom) -> OrderedValue {
        guard isEscaped else { return self }
        let start = room.start(of: text.count + JSONScanner.padding)
        return OrderedValue(text: start, resolved(to: start).count)
    }

    private func resolved(to start: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        var end = start
        for byte in string.text {
            end.storeBytes(of: byte, as: UInt8.self)
            end += 1
        }
        return UnsafeRawBufferPointer(start: start, count: end - start)
    }

    /// A string in memory with room for the padding.
    private init(text start: UnsafeMutableRawPointer, _ count: Int) {
        (start + count).initializeMemory(as: UInt8.self, repeating: 0, count: JSONScanner.padding)
        self.init(JSONString(start: start, count: count, isEscaped: false))
    }
}
