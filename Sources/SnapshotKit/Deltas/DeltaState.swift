/// A state while deltas are applied to it. Nothing is copied until the last one is applied.
struct DeltaState {
    private let source: ColumnsView
    private var pieceTable: PieceTable
    /// Texts that the source does not contain.
    private var tail: TokenBuffer
    /// Contents that are not written yet.
    private var patched = PatchedContents()
    /// What is left of the delta that is being applied.
    private var reader = DeltaParser(UnsafeRawBufferPointer(start: nil, count: 0))

    init(_ source: ColumnsView) {
        self.source = source
        pieceTable = PieceTable(list: source.columns.list)
        tail = TokenBuffer(base: source.columns.text.count)
        for section in source.sections {
            pieceTable.beginSection(section)
            pieceTable.append(Int(section.firstItem)..<Int(section.endItem), isShared: true)
            pieceTable.endSection()
        }
    }

    /// The state's text and the parts it is made of; nil if the text is longer than records can address.
    consuming func finished() -> (TextRope, PieceTable)? {
        guard tail.count > 0 else { return (source.columns.text, pieceTable) }
        var count = tail.count
        pieceTable.setContentStarts { offset, length in
            if patched.contains(offset) { count += length + 1 }
            return offset
        }
        guard tail.start + count + JSONScanner.padding < patched.lowest else { return nil }
        var texts = TokenBuffer(base: tail.start, capacity: count)
        tail.bytes.withUnsafeBytes { tail in
            _ = texts.append(tail)
            pieceTable.setContentStarts { offset, count in
                guard patched.contains(offset) else { return offset }
                let start = texts.end
                patched.write(offset, count: count) { _ = texts.append(bytes(at: $0, $1, tail)) }
                texts.endValue()
                return UInt32(truncatingIfNeeded: start)
            }
        }
        return (source.columns.text.appending(texts, garbageBytes: pieceTable.bytesLeftBehind(of: source)), pieceTable)
    }

    private func bytes(at offset: UInt32, _ count: Int, _ tail: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard Int(offset) >= self.tail.start else { return source.text.bytes(at: offset, count) }
        return UnsafeRawBufferPointer(rebasing: tail.dropFirst(Int(offset) - self.tail.start).prefix(count))
    }

    /// Applies a delta. Returns false if it does not fit; then the state must not be used any more.
    mutating func apply(_ delta: SnapshotDelta) -> Bool {
        if delta == .unchanged { return true }
        return delta.bytes.withUnsafeBytes { bytes in
            do throws(DeltaMismatch) { try apply(bytes) } catch { return false }
            return true
        }
    }

    private mutating func apply(_ bytes: UnsafeRawBufferPointer) throws(DeltaMismatch) {
        reader = DeltaParser(bytes)
        let before = exchange(&pieceTable, with: PieceTable(list: ListContent()))
        let starts = before.pieceStarts
        pieceTable.list = try takeList(before.list)
        let (count, items) = (try reader.take(), try reader.take())
        let sections = try takeSections(count, before.sections)
        try require(sections.reduce(0) { $0 + $1.count } == items && items <= before.itemCount + bytes.count)
        reader.at = 0
        // The rest of the last run, which may extend over the ends of sections.
        var (run, isShared) = (0..<0, false)
        for section in sections {
            pieceTable.beginSection(section.record)
            let end = pieceTable.itemCount + section.count
            while pieceTable.itemCount < end {
                if run.isEmpty {
                    let (instruction, number) = try reader.takeInstruction()
                    switch instruction {
                    case .copy, .same:
                        let item = try reader.takeReference(count: number, of: before.itemCount)
                        (run, isShared) = (item..<item + number, instruction == .copy)
                    case .change:
                        let item = try reader.takeReference(count: 1, of: before.itemCount)
                        let old = element(item, of: before, starts)
                        let new = try changed(old, DeltaChanges(rawValue: number), isSection: false)
                        pieceTable.append(new.node, new.payload)
                        continue
                    case .add:
                        let new = try added(number, isSection: false)
                        pieceTable.append(new.node, new.payload)
                        continue
                    }
                }
                let next = min(run.upperBound, run.lowerBound + end - pieceTable.itemCount)
                copy(run.lowerBound..<next, of: before, starts, isShared: isShared)
                run = next..<run.upperBound
            }
            pieceTable.endSection()
        }
        try require(run.isEmpty && reader.isAtEnd)
    }

    private mutating func takeList(_ before: ListContent) throws(DeltaMismatch) -> ListContent {
        let flags = DeltaFlags(rawValue: try reader.take())
        try require(flags.isSubset(of: .all))
        if flags.contains(.hasList) {
            return ListContent(try takeValue(over: Int(before.start)..<Int(before.start) + Int(before.count)))
        }
        return flags.isDisjoint(with: [.isWhole, .hasNoList]) ? before : ListContent()
    }

    /// Takes all sections, each with its number of items.
    private mutating func takeSections(
        _ count: Int, _ before: [SectionNode]
    ) throws(DeltaMismatch) -> [(record: SectionNode, count: Int)] {
        var sections: [(record: SectionNode, count: Int)] = []
        while sections.count < count {
            let (instruction, number) = try reader.takeInstruction()
            switch instruction {
            case .copy:
                let first = try reader.takeReference(count: number, of: before.count)
                try require(number <= count - sections.count)
                sections += before[first..<first + number].map { ($0, Int($0.endItem - $0.firstItem)) }
            case .change:
                let index = try reader.takeReference(count: 1, of: before.count)
                let items = try reader.takeCount()
                let old = before[index].asItem
                let section = try changed(old, DeltaChanges(rawValue: number), isSection: true)
                sections.append((SectionNode(section), items))
            case .add:
                let items = try reader.takeCount()
                sections.append((SectionNode(try added(number, isSection: true)), items))
            case .same: throw DeltaMismatch()
            }
        }
        return sections
    }

    // MARK: Elements

    private typealias Element = (node: Node, payload: Payload)

    private mutating func copy(_ items: Range<Int>, of before: PieceTable, _ starts: [Int], isShared: Bool) {
        var item = items.lowerBound
        var index = starts.lastIndex(notAbove: item)
        while item < items.upperBound {
            let piece = before.pieces[index]
            let start = piece.start + item - starts[index]
            let end = min(piece.start + piece.count, start + items.upperBound - item)
            if piece.isOwn {
                for own in start..<end { pieceTable.append(before.nodes[own], before.payloads[own]) }
            } else {
                pieceTable.append(start..<end, isShared: isShared && piece.isShared, levelShift: piece.levelShift)
            }
            item += end - start
            index += 1
        }
    }

    private func element(_ item: Int, of before: PieceTable, _ starts: [Int]) -> Element {
        let index = starts.lastIndex(notAbove: item)
        let piece = before.pieces[index]
        let record = piece.start + item - starts[index]
        if piece.isOwn { return (before.nodes[record], before.payloads[record]) }
        var node = source.nodes[record]
        node.level = UInt8(truncatingIfNeeded: Int(node.level) + piece.levelShift)
        return (node, source.payload(ofItem: record))
    }

    private mutating func added(_ flags: Int, isSection: Bool) throws(DeltaMismatch) -> Element {
        var (node, payload) = (Node(), Payload())
        node.flags = try NodeFlags(number: flags)
        if !isSection { node.level = try reader.takeLevel() }
        try takeID(of: &node)
        if node.flags.contains(.hasContent) { payload.setContent(try takeValue()) }
        if node.flags.contains(.hasKind) { payload.setKind(try takeValue()) }
        return (node, payload)
    }

    private mutating func changed(
        _ old: Element, _ changes: DeltaChanges, isSection: Bool
    ) throws(DeltaMismatch) -> Element {
        var (node, payload) = old
        if changes.contains(.flags) {
            node.flags = try NodeFlags(number: reader.take())
            if !isSection { node.level = try reader.takeLevel() }
            if !changes.contains(.id) {
                node.flags.subtract(.idStorage)
                node.flags.formUnion(old.node.flags.intersection(.idStorage))
            }
        }
        if changes.contains(.id) { try takeID(of: &node) }
        if changes.contains(.content) { payload.setContent(try takeValue(over: old.payload.content)) }
        if changes.contains(.kind) { payload.setKind(try takeValue()) }
        if node.flags.contains(.hasContent) {
            try require(payload.contentCount > 0)
        } else {
            (payload.contentStart, payload.contentCount) = (0, 0)
        }
        try require(!node.flags.contains(.hasKind) || payload.kindStart > 0)
        return (node, payload)
    }

    // MARK: Texts

    private mutating func takeID(of node: inout Node) throws(DeltaMismatch) {
        let text = try reader.takeBytes()
        try require((1...StateLimits.maxIDBytes).contains(text.count))
        let start: Int
        if node.flags.contains(.escapedID) {
            let token = try reader.takeBytes()
            try require(token.count <= Int(UInt16.max))
            start = tail.append(escapedID: token, text: text)
        } else if node.flags.contains(.integerID) {
            start = tail.append(value: text)
        } else {
            start = tail.append(string: text)
        }
        node.setID(FoundID(start: start, count: text.count, flags: node.flags.intersection(.idStorage)))
        node.hash = idHash(text.baseAddress!, text.count)
    }

    private mutating func takeValue() throws(DeltaMismatch) -> Range<Int> {
        let bytes = try reader.takeBytes()
        try require(!bytes.isEmpty)
        let start = tail.append(value: bytes)
        return start..<start + bytes.count
    }

    /// Takes a content written as the part between the start and the end that it shares with an old one.
    private mutating func takeValue(over old: Range<Int>) throws(DeltaMismatch) -> Range<Int> {
        let (start, end) = (try reader.take(), try reader.take())
        let middle = try reader.takeBytes()
        try require(start <= old.count && end <= old.count - start && start + end + middle.count > 0)
        let offset = tail.append(value: middle)
        let added = offset..<offset + middle.count
        if start + end == 0 { return added }
        try require(tail.end < patched.lowest)
        return patched.append(old, start: start, added, end: end)
    }
}

extension Payload {
    fileprivate mutating func setContent(_ range: Range<Int>) { setContent(range.lowerBound, range.count) }
    fileprivate mutating func setKind(_ range: Range<Int>) { kindStart = UInt32(truncatingIfNeeded: range.lowerBound) }
}

extension NodeFlags {
    fileprivate init(number: Int) throws(DeltaMismatch) {
        try require((0..<128).contains(number))
        self = NodeFlags(rawValue: UInt8(number)).subtracting(.isHidden)
    }
}

extension [Int] {
    fileprivate func lastIndex(notAbove value: Int) -> Int { indices.partitionPoint { self[$0] <= value } - 1 }
}

/// A delta is malformed, or does not fit the state.
private struct DeltaMismatch: Error {}

private func require(_ condition: Bool) throws(DeltaMismatch) { if !condition { throw DeltaMismatch() } }

/// Reads what `DeltaWriter` wrote.
private struct DeltaParser {
    private var rest: UnsafeRawBufferPointer
    /// Where the last reference to the source ended.
    var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take() throws(DeltaMismatch) -> Int {
        var (number, shift) = (0, 0)
        while let byte = rest.first, shift < 56 {
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
            number |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        throw DeltaMismatch()
    }

    /// A number of elements: no list has more than 2^31.
    mutating func takeCount() throws(DeltaMismatch) -> Int {
        let count = try take()
        try require(count <= Int(Int32.max))
        return count
    }

    mutating func takeInstruction() throws(DeltaMismatch) -> (DeltaInstruction, Int) {
        let number = try take()
        guard let instruction = DeltaInstruction(rawValue: number & 3) else { throw DeltaMismatch() }
        return (instruction, number >> 2)
    }

    /// Takes where `count` elements of `all` are.
    mutating func takeReference(count: Int, of all: Int) throws(DeltaMismatch) -> Int {
        let number = try take()
        let start = at + (number >> 1 ^ -(number & 1))
        try require(start >= 0 && count > 0 && start + count <= all)
        at = start + count
        return start
    }

    mutating func takeLevel() throws(DeltaMismatch) -> UInt8 {
        let level = try take()
        try require(level < StateLimits.none.maxNesting)
        return UInt8(level)
    }

    mutating func takeBytes() throws(DeltaMismatch) -> UnsafeRawBufferPointer {
        let count = try take()
        try require(count <= rest.count)
        defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count)) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }
}

// MARK: - Contents that are patched
//
// For a changed content, a delta says how much of its start and its end are the old one's. Over many deltas the same
// long content may change a little each time, so the parts are only noted, and the bytes written once, for the contents
// left at the end. Copying them for each delta took 2 GB for a list of 12 MB of which 60 revisions were undone.

/// Contents put together from older ones. Records refer to them by addresses from `UInt32.max` down.
private struct PatchedContents {
    private struct Patch {
        /// The offset of the older content in the text, or its address here.
        let old: UInt32
        let oldCount: UInt32
        /// How many of its first and last bytes are taken.
        let start: UInt32
        let end: UInt32
        /// What is new between them.
        let middle: UInt32
        let middleCount: UInt32
    }

    private var patches: [Patch] = []

    var lowest: Int { Int(UInt32.max) + 1 - patches.count }

    /// Notes a content, and returns its address: this many bytes from the start of an older one, which may be one of
    /// these, the new ones in the middle, and this many from its end.
    mutating func append(_ old: Range<Int>, start: Int, _ middle: Range<Int>, end: Int) -> Range<Int> {
        let number = { (value: Int) in UInt32(truncatingIfNeeded: value) }
        patches.append(
            Patch(
                old: number(old.lowerBound), oldCount: number(old.count), start: number(start), end: number(end),
                middle: number(middle.lowerBound), middleCount: number(middle.count)))
        return lowest..<lowest + start + middle.count + end
    }

    func contains(_ offset: UInt32) -> Bool { Int(offset) >= lowest }

    /// Hands out the stretches of the texts that make a content. O(bytes + d²) after d changes, at worst.
    func write(_ offset: UInt32, count: Int, _ emit: (UInt32, Int) -> Void) {
        let patch = patches[Int(UInt32.max - offset)]
        guard contains(patch.old) else {
            // Most have changed once, and need no list.
            emit(patch.old, Int(patch.start))
            emit(patch.middle, Int(patch.middleCount))
            return emit(patch.old + patch.oldCount - patch.end, Int(patch.end))
        }
        // What is left to write, last in, first out: of the content at an offset, some of its bytes.
        var stretches = [(offset, 0..<count)]
        while let (offset, wanted) = stretches.popLast() {
            guard contains(offset) else {
                emit(offset + UInt32(truncatingIfNeeded: wanted.lowerBound), wanted.count)
                continue
            }
            let patch = patches[Int(UInt32.max - offset)]
            let (start, end) = (Int(patch.start), Int(patch.start) + Int(patch.middleCount))
            for (offset, bytes, shift) in [
                (patch.old, end..<Int.max, Int(patch.oldCount) - Int(patch.end) - end),
                (patch.middle, start..<end, -start), (patch.old, 0..<start, 0),
            ] where bytes.overlaps(wanted) {
                let part = wanted.clamped(to: bytes)
                stretches.append((offset, part.lowerBound + shift..<part.upperBound + shift))
            }
        }
    }
}
