// A state that is made of another one: by edits, or by what leads back to the past. It is said as a list of pieces,
// each a stretch of the other state's items or an item of its own, in document order and with the levels that they have
// now; parents and ends follow from levels. What is taken over is copied as memory, or shared where not even that is
// needed, and nothing is read, hashed or looked up again.

/// The items of a new state as stretches of another's items and items of its own, with its sections.
struct ColumnsAssembly {
    /// A stretch of items, of the other state or of `nodes`.
    struct Piece {
        var start: Int
        var count: Int
        var isOwn: Bool
        /// Whether nothing about the items has changed, their parents and children included.
        var isReused = false
        /// How much deeper the items are nested now.
        var levelShift = 0
    }

    private(set) var pieces: [Piece] = []
    private(set) var itemCount = 0
    /// Items of its own; those that go back to an item of the other state have its id.
    private(set) var nodes: [Node] = []
    private(set) var payloads: [Payload] = []
    private(set) var sections: [SectionNode] = []
    /// The list's own content.
    var list: ListContent

    init(list: ListContent) { self.list = list }

    /// The index of the first item of each piece.
    var pieceStarts: [Int] {
        var next = 0
        return pieces.map { piece in
            defer { next += piece.count }
            return next
        }
    }

    // MARK: Saying what it is made of

    /// Starts a section with the id, the content and the flags of this one.
    mutating func beginSection(_ section: SectionNode) {
        var section = section
        section.firstItem = UInt32(truncatingIfNeeded: itemCount)
        sections.append(section)
    }

    mutating func endSection() {
        sections[sections.count - 1].endItem = UInt32(truncatingIfNeeded: itemCount)
    }

    /// Takes over items of the other state.
    mutating func append(_ items: Range<Int>, isReused: Bool, levelShift: Int = 0) {
        guard !items.isEmpty else { return }
        itemCount += items.count
        if let last = pieces.last, !last.isOwn, last.start + last.count == items.lowerBound, last.isReused == isReused,
            last.levelShift == levelShift
        {
            pieces[pieces.count - 1].count += items.count
        } else {
            pieces.append(
                Piece(
                    start: items.lowerBound, count: items.count, isOwn: false, isReused: isReused,
                    levelShift: levelShift))
        }
    }

    /// Appends an item of its own.
    ///
    /// - Parameter node: its id, hash, flags and level; the rest is found out.
    mutating func append(_ node: Node, _ payload: Payload) {
        nodes.append(node)
        payloads.append(payload)
        itemCount += 1
        if let last = pieces.last, last.isOwn, last.start + last.count == nodes.count - 1 {
            pieces[pieces.count - 1].count += 1
        } else {
            pieces.append(Piece(start: nodes.count - 1, count: 1, isOwn: true))
        }
    }

    /// Bytes of texts in the source that the new state does not refer to, as far as that is told without a look at the
    /// items that it took over. O(items that it did not).
    func bytesLeftBehind(of source: ColumnsView) -> Int {
        let kept = pieces.filter { !$0.isOwn }.sorted { $0.start < $1.start }
        let end = UInt32(truncatingIfNeeded: source.columns.text.count)
        var bytes = 0
        kept.lazy.map { ReusedRun(old: $0.start, new: $0.start, count: $0.count) }.forOthers(of: source.nodes.count) {
            bytes += Self.bytes(of: source.nodes[$0], source.payload(ofItem: $0), before: end)
        }
        for (node, payload) in zip(nodes, payloads) { bytes -= Self.bytes(of: node, payload, before: end) }
        bytes += Int(source.columns.list.count)
        if list.start < end { bytes -= Int(list.count) }
        for section in source.sections { bytes += Int(section.idCount) + Int(section.contentCount) }
        for section in sections {
            if section.idStart < end { bytes -= Int(section.idCount) }
            if section.contentStart < end { bytes -= Int(section.contentCount) }
        }
        return max(0, bytes)
    }

    /// Bytes of an item's texts that stand before a place; an id inside its content counts once.
    private static func bytes(of node: Node, _ payload: Payload, before end: UInt32) -> Int {
        var bytes = payload.contentStart < end ? Int(payload.contentCount) : 0
        let content = payload.contentStart..<payload.contentStart + payload.contentCount
        if node.idStart < end, !content.contains(node.idStart) { bytes += Int(node.idCount) }
        return bytes
    }

    // MARK: The state

    /// The state, made of `source`. O(items), as memory.
    ///
    /// - Parameters:
    ///   - text: of `source`, with what the items of its own refer to.
    ///   - isIndexed: whether its ids are to be found in O(1).
    consuming func finish(
        from source: ColumnsView, text: StateText, isIndexed: Bool
    ) -> (columns: Columns, reused: [ReusedRun]) {
        let hasCollapsed =
            !source.allVisible || nodes.contains { $0.flags.contains(.isCollapsed) }
            || sections.contains { $0.flags.contains(.isCollapsed) }
        let reused = reusedRuns()
        let columns: Columns
        if !hasCollapsed, hasStructure(of: source) {
            columns = withStructure(of: source, text)
        } else {
            columns = rebuilt(from: source, text, hasCollapsed: hasCollapsed, isIndexed: isIndexed)
        }
        return (columns, reused)
    }

    private func reusedRuns() -> [ReusedRun] {
        var runs: [ReusedRun] = []
        var new = 0
        for piece in pieces {
            if piece.isReused { runs.append(joining: ReusedRun(old: piece.start, new: new, count: piece.count)) }
            new += piece.count
        }
        return runs
    }

    /// Whether sections and items are those of the source, but for what they show.
    private func hasStructure(of source: ColumnsView) -> Bool {
        guard itemCount == source.nodes.count, sections.count == source.sections.count else { return false }
        var new = 0
        for piece in pieces {
            if piece.isOwn {
                for index in piece.start..<piece.start + piece.count {
                    let (node, old) = (nodes[index], source.nodes[new])
                    guard node.idStart == old.idStart, node.idCount == old.idCount, node.level == old.level,
                        node.flags == old.flags
                    else { return false }
                    new += 1
                }
            } else {
                guard piece.start == new, piece.levelShift == 0 else { return false }
                new += piece.count
            }
        }
        return zip(sections, source.sections).allSatisfy { section, old in
            section.idStart == old.idStart && section.idCount == old.idCount && section.flags == old.flags
                && section.firstItem == old.firstItem && section.endItem == old.endItem
        }
    }

    /// Shares all but what is shown.
    private consuming func withStructure(of source: ColumnsView, _ text: StateText) -> Columns {
        let columns = source.columns
        var payloads = columns.payloads
        if !nodes.isEmpty, !payloads.isEmpty {
            var new = 0
            for piece in pieces {
                if piece.isOwn {
                    for index in 0..<piece.count { payloads[new + index] = self.payloads[piece.start + index] }
                }
                new += piece.count
            }
        }
        for index in sections.indices {
            sections[index].hash = source.sections[index].hash
            (sections[index].firstRow, sections[index].endRow) = (sections[index].firstItem, sections[index].endItem)
        }
        return Columns(
            text: text, list: list, nodes: columns.nodes, sections: sections, payloads: payloads,
            itemTable: columns.itemTable,
            sectionTable: columns.sectionTable, structure: columns.structure)
    }

    private consuming func rebuilt(
        from source: ColumnsView, _ text: StateText, hasCollapsed: Bool, isIndexed: Bool
    ) -> Columns {
        let showsAnything =
            !source.payloads.isEmpty || nodes.contains { !$0.flags.isDisjoint(with: [.hasContent, .hasKind]) }
        var nodes = copiedNodes(from: source)
        var sections = sections
        let payloads = showsAnything ? copied(payloads, source.payloads, orElse: Payload()) : []
        Self.outline(&nodes, sections, from: unmoved(nodes, in: source))
        let (rowOfItem, itemOfRow) = ColumnsBuilder.countRows(&nodes, &sections, hasCollapsed: hasCollapsed)
        var tables = (IDTable.empty, IDTable.empty)
        if isIndexed {
            text.withView { text in
                sections.withUnsafeBufferPointer { tables.1 = IDTable($0, in: text) }
                nodes.withUnsafeBufferPointer { tables.0 = itemTable($0, from: source, text) }
            }
        }
        return Columns(
            text: text, list: list, nodes: nodes, sections: sections, payloads: payloads, itemTable: tables.0,
            sectionTable: tables.1, rowOfItem: rowOfItem, itemOfRow: itemOfRow)
    }

    private func copiedNodes(from source: ColumnsView) -> [Node] {
        var nodes = copied(nodes, source.nodes)
        var next = 0
        for piece in pieces {
            if piece.levelShift != 0 {
                for item in next..<next + piece.count {
                    nodes[item].level = UInt8(truncatingIfNeeded: Int(nodes[item].level) + piece.levelShift)
                }
            }
            next += piece.count
        }
        return nodes
    }

    /// The records of all items, piece by piece; empty ones where the source has none.
    private func copied<Record>(_ own: [Record], _ others: UnsafeBufferPointer<Record>, orElse none: Record? = nil)
        -> [Record]
    {
        // Whoever makes an array of no elements this way writes to the one that all threads share.
        if itemCount == 0 { return [] }
        return Array(unsafeUninitializedCapacity: itemCount) { memory, count in
            own.withUnsafeBufferPointer { own in
                for piece in pieces {
                    let start = memory.baseAddress! + count
                    let records = piece.isOwn ? own : others
                    if let none, records.isEmpty {
                        start.initialize(repeating: none, count: piece.count)
                    } else {
                        start.initialize(from: records.baseAddress! + piece.start, count: piece.count)
                    }
                    count += piece.count
                }
            }
        }
    }

    /// How many items both states begin with that have kept their sections and places, in whole subtrees.
    private func unmoved(_ nodes: [Node], in source: ColumnsView) -> Int {
        guard source.allVisible else { return 0 }
        var count = 0
        for piece in pieces {
            guard !piece.isOwn, piece.start == count, piece.levelShift == 0 else { break }
            count += piece.count
        }
        for (section, old) in zip(sections, source.sections) {
            if section.firstItem == old.firstItem, section.endItem == old.endItem { continue }
            let isSameStart = section.firstItem == old.firstItem
            count = min(
                count, Int(isSameStart ? min(section.endItem, old.endItem) : min(section.firstItem, old.firstItem)))
            break
        }
        let covered = min(
            sections.last.map { Int($0.endItem) } ?? 0, source.sections.last.map { Int($0.endItem) } ?? 0)
        count = min(count, covered)
        while count > 0,
            count < nodes.count && nodes[count].level > 0
                || count < source.nodes.count && source.nodes[count].level > 0
        {
            count -= 1
        }
        return count
    }

    /// Finds sections, parents and ends, which follow from levels. O(items behind `first`).
    static func outline(_ nodes: inout [Node], _ sections: [SectionNode], from first: Int) {
        nodes.withUnsafeMutableBufferPointer { nodes in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Int(UInt8.max) + 1) { open in
                for (index, section) in sections.enumerated() where Int(section.endItem) > first {
                    let end = Int(section.endItem)
                    var depth = 0
                    for item in max(first, Int(section.firstItem))..<end {
                        // Whatever instructions say, no item is below one that is not there.
                        let level = min(Int(nodes[item].level), depth)
                        while depth > level {
                            depth -= 1
                            nodes[Int(open[depth])].end = UInt32(truncatingIfNeeded: item)
                        }
                        nodes[item].level = UInt8(truncatingIfNeeded: level)
                        nodes[item].flags.remove(.isHidden)
                        nodes[item].section = UInt32(truncatingIfNeeded: index)
                        nodes[item].parent = depth > 0 ? Int32(truncatingIfNeeded: open[depth - 1]) : -1
                        if item + 1 < end, Int(nodes[item + 1].level) > level {
                            open[depth] = UInt32(truncatingIfNeeded: item)
                            depth += 1
                        } else {
                            nodes[item].end = UInt32(truncatingIfNeeded: item + 1)
                        }
                    }
                    while depth > 0 {
                        depth -= 1
                        nodes[Int(open[depth])].end = section.endItem
                    }
                }
            }
        }
    }

    /// The table of the new state's ids.
    private func itemTable(_ nodes: UnsafeBufferPointer<Node>, from source: ColumnsView, _ text: TextView) -> IDTable {
        var runs: [ReusedRun] = []
        var new = 0
        for piece in pieces {
            if !piece.isOwn { runs.append(ReusedRun(old: piece.start, new: new, count: piece.count)) }
            new += piece.count
        }
        return source.itemTable(carriedOver: runs, to: nodes, in: text) ?? IDTable(nodes, in: text)
    }
}
