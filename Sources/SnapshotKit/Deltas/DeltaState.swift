/// A state while deltas are applied to it: stretches of the one that they began with, and what is not in that. Nothing
/// is copied before the last one is applied.
struct DeltaState {
    private let source: ColumnsView
    private var assembly: ColumnsAssembly
    /// Texts that are not in the source's.
    private var tail: TokenBuffer
    private let base: UInt32

    init(_ source: ColumnsView) {
        self.source = source
        assembly = ColumnsAssembly(list: source.columns.list)
        base = UInt32(truncatingIfNeeded: source.columns.text.count)
        tail = TokenBuffer(base: source.columns.text.count)
        for index in source.sections.indices {
            assembly.beginSection(source.sections[index])
            let items = Int(source.sections[index].firstItem)..<Int(source.sections[index].endItem)
            assembly.append(items, isReused: true)
            assembly.endSection()
        }
    }

    /// The text that the state refers to, and what it is made of; nil where that is more than places can name.
    consuming func finished() -> (StateText, ColumnsAssembly)? {
        guard tail.count > 0 else { return (source.columns.text, assembly) }
        guard source.columns.text.count + tail.count < Int(UInt32.max) - JSONScanner.padding else { return nil }
        let dead = assembly.bytesLeftBehind(of: source)
        let text = tail.padded().withUnsafeBytes { source.columns.text.appending($0, dead: dead) }
        return (text, assembly)
    }

    /// Does what a delta says; false where it does not fit, and then the state is not to be used any more.
    mutating func apply(_ delta: SnapshotDelta) -> Bool {
        if delta == .unchanged { return true }
        return delta.bytes.withUnsafeBytes { bytes in
            var reader = DeltaReader(bytes)
            let before = exchange(&assembly, with: ColumnsAssembly(list: ListContent()))
            let starts = before.pieceStarts
            guard let flags = reader.take().flatMap(DeltaFlags.init), let list = takeList(flags, &reader, before.list)
            else { return false }
            assembly.list = list
            guard let count = reader.take(), let items = reader.take(),
                let sections = takeSections(count, &reader, before.sections),
                sections.reduce(0, { $0 + $1.count }) == items, items <= before.itemCount + bytes.count
            else { return false }
            reader.at = 0
            var section = -1
            var rest = 0
            // Runs may reach over the ends of sections.
            let open = { (assembly: inout ColumnsAssembly) in
                while rest == 0, section + 1 < sections.count {
                    if section >= 0 { assembly.endSection() }
                    section += 1
                    assembly.beginSection(sections[section].record)
                    rest = sections[section].count
                }
            }
            open(&assembly)
            while assembly.itemCount < items {
                guard let (instruction, number) = reader.takeInstruction() else { return false }
                switch instruction {
                case .copy, .same:
                    guard number > 0, var item = reader.takeReference(count: number),
                        item + number <= before.itemCount, number <= items - assembly.itemCount
                    else { return false }
                    var left = number
                    while left > 0 {
                        let taken = min(left, rest)
                        copy(item..<item + taken, of: before, starts, isReused: instruction == .copy)
                        (item, left, rest) = (item + taken, left - taken, rest - taken)
                        open(&assembly)
                    }
                case .change, .add:
                    let node =
                        instruction == .add
                        ? added(number, &reader) : changed(DeltaChanges(rawValue: number), &reader, before, starts)
                    guard let node else { return false }
                    assembly.append(node.0, node.1)
                    rest -= 1
                    open(&assembly)
                }
            }
            if section >= 0 { assembly.endSection() }
            return section + 1 == sections.count && reader.isAtEnd
        }
    }

    /// Takes the list's own content.
    private mutating func takeList(
        _ flags: DeltaFlags, _ reader: inout DeltaReader, _ before: ListContent
    ) -> ListContent? {
        if flags.contains(.hasList) {
            return takeContent(&reader, over: (before.start, before.count)).map {
                ListContent(start: $0.start, count: $0.count)
            }
        }
        return flags.isDisjoint(with: [.isWhole, .hasNoList]) ? before : ListContent()
    }

    // MARK: Sections

    /// Takes all sections, and how many items each has.
    private mutating func takeSections(
        _ count: Int, _ reader: inout DeltaReader, _ before: [SectionNode]
    ) -> [(record: SectionNode, count: Int)]? {
        var sections: [(record: SectionNode, count: Int)] = []
        while sections.count < count {
            guard let (instruction, number) = reader.takeInstruction() else { return nil }
            switch instruction {
            case .copy:
                guard let first = reader.takeReference(count: number), number > 0,
                    first + number <= before.count, number <= count - sections.count
                else { return nil }
                for section in before[first..<first + number] {
                    sections.append((section, Int(section.endItem - section.firstItem)))
                }
            case .change:
                let changes = DeltaChanges(rawValue: number)
                guard let index = reader.takeReference(count: 1), index < before.count,
                    let items = reader.take()
                else { return nil }
                var section = before[index]
                if changes.contains(.flags) {
                    guard let flags = reader.takeFlags(), changes.contains(.id) || flags.isKeptAlike(section.flags)
                    else { return nil }
                    section.flags = flags
                }
                if changes.contains(.id) {
                    guard let id = takeID(&reader, section.flags) else { return nil }
                    (section.idStart, section.idCount, section.hash) = (id.start, id.count, id.hash)
                }
                if changes.contains(.content) {
                    let old = (section.contentStart, section.contentCount)
                    guard let content = takeContent(&reader, over: old) else { return nil }
                    (section.contentStart, section.contentCount) = content
                }
                if !section.flags.contains(.hasContent) { (section.contentStart, section.contentCount) = (0, 0) }
                guard section.contentCount > 0 || !section.flags.contains(.hasContent) else { return nil }
                sections.append((section, items))
            case .add:
                guard let flags = NodeFlags(number: number), let items = reader.take(),
                    let id = takeID(&reader, flags)
                else { return nil }
                var section = SectionNode()
                (section.flags, section.idStart, section.idCount, section.hash) = (flags, id.start, id.count, id.hash)
                if flags.contains(.hasContent) {
                    guard let content = takeContent(&reader) else { return nil }
                    (section.contentStart, section.contentCount) = content
                }
                sections.append((section, items))
            case .same: return nil
            }
        }
        return sections.allSatisfy { $0.count <= reader.most } ? sections : nil
    }

    // MARK: Items

    /// Takes over items of the state before, be they stretches of the source or not.
    private mutating func copy(
        _ items: Range<Int>, of before: ColumnsAssembly, _ starts: [Int], isReused: Bool
    ) {
        var item = items.lowerBound
        var index = starts.lastIndex(notAbove: item)
        while item < items.upperBound {
            let piece = before.pieces[index]
            let offset = item - starts[index]
            let count = min(piece.count - offset, items.upperBound - item)
            let start = piece.start + offset
            if piece.isOwn {
                for place in start..<start + count { assembly.append(before.nodes[place], before.payloads[place]) }
            } else {
                assembly.append(
                    start..<start + count, isReused: isReused && piece.isReused, levelShift: piece.levelShift)
            }
            item += count
            index += 1
        }
    }

    private mutating func added(_ number: Int, _ reader: inout DeltaReader) -> (Node, Payload)? {
        guard let flags = NodeFlags(number: number), let level = reader.takeLevel(), let id = takeID(&reader, flags)
        else { return nil }
        var (node, payload) = (Node(), Payload())
        (node.flags, node.level, node.idStart, node.idCount, node.hash) = (flags, level, id.start, id.count, id.hash)
        if flags.contains(.hasContent) {
            guard let content = takeContent(&reader) else { return nil }
            (payload.contentStart, payload.contentCount) = content
        }
        if flags.contains(.hasKind) {
            guard let kind = takeContent(&reader) else { return nil }
            payload.kindStart = kind.start
        }
        return (node, payload)
    }

    private mutating func changed(
        _ changes: DeltaChanges, _ reader: inout DeltaReader, _ before: ColumnsAssembly, _ starts: [Int]
    ) -> (Node, Payload)? {
        guard let item = reader.takeReference(count: 1), item < before.itemCount else { return nil }
        let index = starts.lastIndex(notAbove: item)
        let piece = before.pieces[index]
        let place = piece.start + item - starts[index]
        var (node, payload) =
            piece.isOwn
            ? (before.nodes[place], before.payloads[place]) : (source.nodes[place], source.payload(ofItem: place))
        node.level = UInt8(truncatingIfNeeded: Int(node.level) + piece.levelShift)
        if changes.contains(.flags) {
            guard let flags = reader.takeFlags(), let level = reader.takeLevel(),
                changes.contains(.id) || flags.isKeptAlike(node.flags)
            else { return nil }
            (node.flags, node.level) = (flags, level)
        }
        if changes.contains(.id) {
            guard let id = takeID(&reader, node.flags) else { return nil }
            (node.idStart, node.idCount, node.hash) = (id.start, id.count, id.hash)
        }
        if changes.contains(.content) {
            let old = (payload.contentStart, payload.contentCount)
            guard let content = takeContent(&reader, over: old) else { return nil }
            (payload.contentStart, payload.contentCount) = content
        }
        if !node.flags.contains(.hasContent) { (payload.contentStart, payload.contentCount) = (0, 0) }
        if changes.contains(.kind) {
            guard let kind = takeContent(&reader) else { return nil }
            payload.kindStart = kind.start
        }
        let hasContent = !node.flags.contains(.hasContent) || payload.contentCount > 0
        return hasContent && (!node.flags.contains(.hasKind) || payload.kindStart > 0) ? (node, payload) : nil
    }

    // MARK: Texts

    private mutating func takeID(
        _ reader: inout DeltaReader, _ flags: NodeFlags
    ) -> (start: UInt32, count: UInt16, hash: UInt32)? {
        guard let text = reader.takeBytes(), let first = text.baseAddress, text.count > 0,
            text.count <= StateLimits.maxIDBytes
        else { return nil }
        let start: Int
        if flags.contains(.escapedID) {
            guard let token = reader.takeBytes(), token.count <= Int(UInt16.max) else { return nil }
            start = tail.append(escapedID: token, text: text)
        } else if flags.contains(.integerID) {
            start = tail.append(value: text)
        } else {
            start = tail.append(string: text)
        }
        return (UInt32(truncatingIfNeeded: start), UInt16(text.count), idHash(first, text.count))
    }

    private mutating func takeContent(_ reader: inout DeltaReader) -> (start: UInt32, count: UInt32)? {
        guard let bytes = reader.takeBytes(), bytes.count > 0 else { return nil }
        return (UInt32(truncatingIfNeeded: tail.append(value: bytes)), UInt32(truncatingIfNeeded: bytes.count))
    }

    private mutating func takeContent(
        _ reader: inout DeltaReader, over old: (start: UInt32, count: UInt32)
    ) -> (start: UInt32, count: UInt32)? {
        guard let start = reader.take(), let end = reader.take(), let middle = reader.takeBytes(),
            start <= Int(old.count), end <= Int(old.count) - start, start + end + middle.count > 0
        else { return nil }
        // What it begins and ends with may stand in the same buffer, which moves while it grows.
        let before =
            old.start < base
            ? Array(source.text.bytes(at: old.start, Int(old.count)))
            : tail.bytes(at: Int(old.start), Int(old.count))
        let place = tail.append(before.prefix(start), middle, before.suffix(end))
        return (UInt32(truncatingIfNeeded: place), UInt32(truncatingIfNeeded: start + end + middle.count))
    }
}

extension NodeFlags {
    /// Flags as a delta has them; nil for what none are.
    fileprivate init?(number: Int) {
        guard (0..<128).contains(number) else { return nil }
        self = NodeFlags(rawValue: UInt8(number)).subtracting(.isHidden)
    }
}

extension [Int] {
    /// The last index whose value is not above another; the first value is not.
    fileprivate func lastIndex(notAbove value: Int) -> Int { indices.border { self[$0] <= value } - 1 }
}

/// Reads what `DeltaWriter` wrote; nil where that ends too early.
private struct DeltaReader {
    private var rest: UnsafeRawBufferPointer
    /// Where the last reference to the source ended.
    var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }
    /// No list is longer.
    var most: Int { Int(Int32.max) }

    mutating func take() -> Int? {
        var (number, shift) = (0, 0)
        while let byte = rest.first, shift < 56 {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
            number |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        return nil
    }

    mutating func takeInstruction() -> (DeltaInstruction, Int)? {
        take().flatMap { number in DeltaInstruction(rawValue: number & 3).map { ($0, number >> 2) } }
    }

    mutating func takeReference(count: Int) -> Int? {
        guard let number = take() else { return nil }
        let start = at + (number >> 1 ^ -(number & 1))
        guard start >= 0, count <= most else { return nil }
        at = start + count
        return start
    }

    mutating func takeFlags() -> NodeFlags? { take().flatMap { NodeFlags(number: $0) } }

    mutating func takeLevel() -> UInt8? {
        guard let level = take(), level < StateLimits.none.maxNesting else { return nil }
        return UInt8(level)
    }

    mutating func takeBytes() -> UnsafeRawBufferPointer? {
        guard let count = take(), count <= rest.count else { return nil }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count)) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }
}
