/// The text of a valid JSON string, escapes resolved, from the raw bytes between its quotes.
///
/// A sequence rather than an array: comparing and hashing need each byte once.
package struct StringText: Sequence, IteratorProtocol {
    fileprivate var at: UnsafeRawPointer
    private let end: UnsafeRawPointer
    /// Bytes of an escaped character that are still to be returned, the next one lowest.
    private var pending: UInt32 = 0
    private var pendingCount = 0

    init(_ start: UnsafeRawPointer, _ count: Int) { (at, end) = (start, start + count) }

    /// Bytes as written from which it pays to look for runs without escapes.
    static let long = 64

    /// The rest of the text. O(bytes); runs without escapes are copied.
    func bytes() -> [UInt8] {
        if end - at < Self.long { return Array(self) }
        var rest = self
        return Array(unsafeUninitializedCapacity: pendingCount + (end - at)) { room, count in
            while true {
                if rest.pendingCount == 0, rest.at < end {
                    let run = (address(of: UInt8(ascii: "\\"), in: rest.at..<end) ?? end) - rest.at
                    UnsafeMutableRawPointer(room.baseAddress! + count).copyMemory(from: rest.at, byteCount: run)
                    rest.at += run
                    count += run
                }
                guard let byte = rest.next() else { return }
                room.initializeElement(at: count, to: byte)
                count += 1
            }
        }
    }

    package mutating func next() -> UInt8? {
        if pendingCount > 0 { return popPending() }
        guard at < end else { return nil }
        let byte = at.load(as: UInt8.self)
        guard byte == UInt8(ascii: "\\") else {
            at += 1
            return byte
        }
        let kind = at.load(fromByteOffset: 1, as: UInt8.self)
        guard kind == UInt8(ascii: "u") else {
            at += 2
            return simpleEscape(kind)
        }
        push(takeScalar())
        return popPending()
    }

    private mutating func popPending() -> UInt8 {
        defer {
            pending >>= 8
            pendingCount -= 1
        }
        return UInt8(truncatingIfNeeded: pending)
    }

    private func simpleEscape(_ kind: UInt8) -> UInt8 {
        switch kind {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: kind
        }
    }

    private mutating func takeUnit() -> UInt32 {
        var unit: UInt32 = 0
        for index in 2..<6 { unit = unit << 4 | (hexDigit(at.load(fromByteOffset: index, as: UInt8.self)) ?? 0) }
        at += 6
        return unit
    }

    private mutating func takeScalar() -> UInt32 {
        let high = takeUnit()
        guard high & 0xFC00 == 0xD800 else { return high }
        return 0x10000 + (high & 0x3FF) << 10 + (takeUnit() & 0x3FF)
    }

    private mutating func push(_ scalar: UInt32) {
        let tail = { (shift: UInt32) in 0x80 | (scalar >> shift & 0x3F) }
        switch scalar {
        case 0..<0x80: (pending, pendingCount) = (scalar, 1)
        case 0x80..<0x800: (pending, pendingCount) = (0xC0 | scalar >> 6 | tail(0) << 8, 2)
        case 0x800..<0x10000: (pending, pendingCount) = (0xE0 | scalar >> 12 | tail(6) << 8 | tail(0) << 16, 3)
        default: (pending, pendingCount) = (0xF0 | scalar >> 18 | tail(12) << 8 | tail(6) << 16 | tail(0) << 24, 4)
        }
    }
}

extension JSONString {
    /// What follows another text in this one, as written; nil if this one does not start with that. O(n).
    func rest(behind other: JSONString) -> JSONString? {
        var (mine, others) = rests(of: other)
        while let byte = others.next() { if mine.next() != byte { return nil } }
        return JSONString(start: mine.at, count: start + count - mine.at, isEscaped: nil)
    }
}

// MARK: - Searching

/// Searches text for several parts at once: O(length) for any text (Aho and Corasick 1975).
package struct TextSearch: Sendable {
    /// Parts, by their index.
    package typealias Found = UInt16

    /// The beginning of a part, at its last byte. Those that continue one beginning are a list of siblings.
    private struct Node {
        let byte: UInt8
        /// The parts that end here.
        var ends: Found = 0
        var child: UInt32 = 0
        var sibling: UInt32 = 0
        /// The longest beginning that this one ends with.
        var fallback: UInt32 = 0
    }

    /// The first one is the empty beginning.
    private var nodes = [Node(byte: 0)]
    /// The beginnings of one byte, by that; 0 for none.
    private var roots = [UInt32](repeating: 0, count: 256)
    private var all: Found = 0

    package var footprint: Int { nodes.capacity * MemoryLayout<Node>.stride + 4 * roots.count }

    /// - Parameter wanted: at most 16.
    package init(_ wanted: [[UInt8]]) {
        for (index, part) in wanted.enumerated() {
            let node = part.reduce(0) { node, byte in child(of: node, byte) ?? insert(byte, below: node) }
            nodes[node].ends |= 1 << Found(index)
            all |= 1 << Found(index)
        }
        // Shorter beginnings first.
        var parents = [0]
        var index = 0
        while index < parents.count {
            let parent = parents[index]
            index += 1
            var child = Int(nodes[parent].child)
            while child != 0 {
                let fallback = parent == 0 ? 0 : next(after: Int(nodes[parent].fallback), nodes[child].byte)
                nodes[child].fallback = UInt32(truncatingIfNeeded: fallback)
                nodes[child].ends |= nodes[fallback].ends
                parents.append(child)
                child = Int(nodes[child].sibling)
            }
        }
    }

    private mutating func insert(_ byte: UInt8, below parent: Int) -> Int {
        let new = UInt32(truncatingIfNeeded: nodes.count)
        nodes.append(Node(byte: byte, sibling: nodes[parent].child))
        nodes[parent].child = new
        if parent == 0 { roots[Int(byte)] = new }
        return Int(new)
    }

    @inline(__always)
    private func child(of node: Int, _ byte: UInt8) -> Int? {
        var child = Int(node == 0 ? roots[Int(byte)] : nodes[node].child)
        while child != 0, nodes[child].byte != byte { child = Int(nodes[child].sibling) }
        return child == 0 ? nil : child
    }

    /// The longest beginning after one more byte.
    @inline(__always)
    private func next(after node: Int, _ byte: UInt8) -> Int {
        var node = node
        while true {
            if let child = child(of: node, byte) { return child }
            if node == 0 { return 0 }
            node = Int(nodes[node].fallback)
        }
    }

    /// The parts that are in a text without escapes.
    package func found(in text: UnsafeRawBufferPointer) -> Found {
        var (found, node) = (nodes[0].ends, 0)
        for byte in text {
            if found == all { break }
            node = next(after: node, byte)
            found |= nodes[node].ends
        }
        return found
    }
}

// MARK: - Lone surrogates
//
// A text cut inside an emoji ends with half of it: `"cut \ud83d"`. That is not Unicode text, so strict readers refuse
// the whole document. An escape and its replacement have the same length, so the document is changed in place.

extension [UInt8] {
    /// Replaces each escape of a surrogate without its other half, in texts and names of a JSON document, by `\ufffd`
    /// (U+FFFD, the replacement character); returns how many. O(n).
    mutating func replaceLoneSurrogates() -> Int {
        guard contains(UInt8(ascii: "\\")) else { return 0 }
        return withUnsafeMutableBufferPointer { text in
            var replaced = 0
            var at = 0
            while let escape = text[at...].firstIndex(of: UInt8(ascii: "\\")) {
                at = Swift.min(escape + 2, text.count)
                guard let unit = Self.codeUnit(in: text, at: escape) else { continue }
                at = escape + 6
                guard UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) else { continue }
                if UTF16.isLeadSurrogate(unit), Self.codeUnit(in: text, at: at).map(UTF16.isTrailSurrogate) == true {
                    at += 6
                } else {
                    for (offset, digit) in "fffd".utf8.enumerated() { text[escape + 2 + offset] = digit }
                    replaced += 1
                }
            }
            return replaced
        }
    }

    /// The UTF-16 code unit of an escape `\uXXXX`; nil if there is none.
    private static func codeUnit(in text: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> UInt16? {
        guard start + 6 <= text.count, text[start] == UInt8(ascii: "\\"), text[start + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for digit in text[start + 2..<start + 6] {
            guard let value = hexDigit(digit) else { return nil }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }
}
