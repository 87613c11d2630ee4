/// Builds columns item by item, in document order. Finds every duplicate id when it finishes.
package struct ColumnsBuilder {
    var nodes: [Node] = []
    var payloads: [Payload] = []
    var sections: [SectionNode] = []
    package var list = ListContent()
    var settings = ParseSettings.nowhere
    var documentOrder: [UInt32] = []
    /// The section of each group, if rows have groups.
    var sectionOfGroup: [UInt32] = []
    var hasCollapsed = false
    /// Whether any item has a content or a kind.
    var showsAnything = false
    var isFlat = true
    var contextAncestors = 0
    var childCounts: [UInt32] = []

    mutating func expect(items: Int) {
        nodes.reserveCapacity(items)
        payloads.reserveCapacity(items)
    }

    var openSection: Int { sections.count - 1 }

    // MARK: Sections and items

    /// Starts a section. Its fields may be set until the next one starts.
    mutating func beginSection() {
        var section = SectionNode()
        section.firstItem = UInt32(truncatingIfNeeded: nodes.count)
        section.endItem = section.firstItem
        sections.append(section)
    }

    mutating func endSection() { sections[sections.count - 1].endItem = UInt32(truncatingIfNeeded: nodes.count) }

    /// Starts an item below `parent` (-1: none) in the open section and returns its index.
    @inline(__always)
    mutating func beginItem(parent: Int, level: Int) -> Int {
        var node = Node()
        node.section = UInt32(truncatingIfNeeded: sections.count - 1)
        node.parent = Int32(truncatingIfNeeded: parent)
        node.level = UInt8(truncatingIfNeeded: level)
        if level > 0 { isFlat = false }
        nodes.append(node)
        payloads.append(Payload())
        return nodes.count - 1
    }

    @inline(__always)
    mutating func endItem(_ item: Int) { nodes[item].end = UInt32(truncatingIfNeeded: nodes.count) }

    /// Appends items of another state, in whole subtrees, whose text is `shift` bytes further on here. O(items).
    package mutating func append(
        _ others: Slice<UnsafeBufferPointer<Node>>, _ shown: Slice<UnsafeBufferPointer<Payload>>?, shiftedBy shift: Int
    ) {
        let first = nodes.count
        let moved = first - others.startIndex
        let section = UInt32(truncatingIfNeeded: sections.count - 1)
        nodes.append(contentsOf: others)
        if let shown { payloads += shown } else { payloads += repeatElement(Payload(), count: others.count) }
        var (all, levels): (NodeFlags, UInt8) = ([], 0)
        for node in others {
            all.formUnion(node.flags)
            levels |= node.level
        }
        // Usually they keep their indexes, and the text before them has the same length.
        if moved != 0 || shift != 0 || others.first?.section != section || all.contains(.isHidden) {
            move(from: first, by: moved, to: section, shiftedBy: shift, all, areNested: levels > 0)
        }
        if !all.isDisjoint(with: [.hasContent, .hasKind]) { showsAnything = true }
        if all.contains(.isCollapsed) { hasCollapsed = true }
        if levels > 0 || all.contains(.escapedID) { isFlat = false }
    }

    /// Adapts items copied from another state, of which any has the flags `all`. There is a loop for each thing that
    /// may have to be set: few of them run, and the processor handles several items at once.
    private mutating func move(
        from first: Int, by moved: Int, to section: UInt32, shiftedBy shift: Int, _ all: NodeFlags, areNested: Bool
    ) {
        let (count, shift) = (nodes.count - first, UInt32(truncatingIfNeeded: shift))
        nodes.withUnsafeMutableBufferPointer { nodes in
            let nodes = nodes.baseAddress! + first
            for index in 0..<count {
                nodes[index].idStart &+= shift
                nodes[index].section = section
                nodes[index].end &+= UInt32(truncatingIfNeeded: moved)
            }
            if areNested {
                for index in 0..<count where nodes[index].parent >= 0 {
                    nodes[index].parent &+= Int32(truncatingIfNeeded: moved)
                }
            }
            if all.contains(.isHidden) { for index in 0..<count { nodes[index].flags.remove(.isHidden) } }
            guard shift != 0 else { return }
            payloads.withUnsafeMutableBufferPointer { payloads in
                let payloads = payloads.baseAddress! + first
                if !all.contains(.hasKind), (0..<count).allSatisfy({ nodes[$0].flags.contains(.hasContent) }) {
                    for index in 0..<count { payloads[index].contentStart &+= shift }
                } else {
                    for index in 0..<count { payloads[index].shift(by: shift, nodes[index].flags) }
                }
            }
        }
    }

    @inline(__always)
    mutating func setID(ofItem item: Int, _ id: FoundID) {
        nodes[item].setID(id)
        if id.flags.contains(.escapedID) { isFlat = false }
    }

    @inline(__always)
    mutating func setContent(ofItem item: Int, _ range: Range<Int>) {
        payloads[item].setContent(range.lowerBound, range.count)
        nodes[item].flags.insert(.hasContent)
        showsAnything = true
    }

    mutating func setKind(ofItem item: Int, start: Int) {
        payloads[item].kindStart = UInt32(truncatingIfNeeded: start)
        nodes[item].flags.insert(.hasKind)
        showsAnything = true
    }

    mutating func setID(ofSection section: Int, _ id: FoundID) { sections[section].setID(id) }

    mutating func setContent(ofSection section: Int, _ range: Range<Int>) { sections[section].setContent(range) }

    mutating func collapse(_ record: RecordIndex) {
        switch record {
        case .section(let section): sections[section].flags.insert(.isCollapsed)
        case .item(let item): nodes[item].flags.insert(.isCollapsed)
        }
        hasCollapsed = true
    }

    /// Clears the ids of a skipped record and all below, so that the check for duplicates ignores them. O(their items).
    mutating func clearID(_ record: RecordIndex) {
        let items: Range<Int>
        switch record {
        case .item(let item): items = item..<Int(nodes[item].end)
        case .section(let section):
            sections[section].idCount = 0
            items = Int(sections[section].firstItem)..<nodes.count
        }
        for item in items { (nodes[item].idCount, nodes[item].hash) = (0, 0) }
    }

    // MARK: The end

    /// Two items, or two sections, that share an id.
    struct Duplicate {
        var isSection: Bool
        var first: Int
        var later: Int

        var records: [RecordIndex] { [first, later].map(isSection ? RecordIndex.section : RecordIndex.item) }
    }

    /// The columns over `text`, and all duplicates: if there are any, the columns are no state, and have no tables of
    /// ids. Also what they share with `known`, the state that the document was compared with, if they reuse any of it:
    /// `runs`. O(items).
    consuming func finish(
        text: TextRope, known: Columns? = nil, reusing runs: [SharedRuns.Run] = []
    ) -> (columns: Columns, duplicates: [Duplicate], shared: SharedRuns?) {
        let known = runs.isEmpty ? nil : known
        if let known, text.withView({ hasStructure(of: known, reusing: runs, in: $0) }) {
            let columns = columns(text, Tables(items: known.itemTable, sections: known.sectionTable))
            return (columns, [], SharedRuns(runs, hasSameStructure: true, from: known, to: columns))
        }
        let found = known.flatMap { pairs(with: $0, runs, in: text) }
        let tables = tables(text, items: found?.table)
        let columns = columns(text, tables)
        return (columns, tables.duplicates, known.map { SharedRuns(runs, pairs: found?.pairs, from: $0, to: columns) })
    }

    /// What a state whose ids are known to be distinct shares with the one that it is made from. `isIndexed` as for
    /// `PieceTable.finish`.
    ///
    /// - Parameters:
    ///   - runs: items that are the same in both.
    ///   - alike: items with the same ids, in ascending order of the new state.
    consuming func finishDistinct(
        text: TextRope, from known: Columns, reusing runs: [SharedRuns.Run], pairing alike: [SharedRuns.Run],
        isIndexed: Bool
    ) -> SharedRuns {
        let found = pairs(with: known, alike, in: text)
        let columns = columns(text, isIndexed ? tables(text, items: found?.table) : Tables())
        return SharedRuns(runs, pairs: found?.pairs, from: known, to: isIndexed ? columns.compactedIfNeeded : columns)
    }

    /// Tables of ids, and all ids that occur twice.
    struct Tables {
        var items = IDTable.empty
        var sections = IDTable.empty
        var duplicates: [Duplicate] = []
    }

    /// Hashes all ids and makes tables of them, unless the items' table is known.
    mutating func tables(_ text: TextRope, items known: IDTable? = nil) -> Tables {
        text.withView { text in
            var tables = Tables()
            tables.sections = sections.withUnsafeMutableBufferPointer { sections in
                for index in sections.indices where sections[index].hash == 0 { _ = sections[index].hashedID(in: text) }
                return IDTable(UnsafeBufferPointer(sections), in: text) {
                    tables.duplicates.append(Duplicate(isSection: true, first: $0, later: $1))
                }
            }
            tables.items =
                known
                ?? nodes.withUnsafeMutableBufferPointer { nodes in
                    for index in nodes.indices where nodes[index].hash == 0 { _ = nodes[index].hashedID(in: text) }
                    return IDTable(UnsafeBufferPointer(nodes), in: text) {
                        tables.duplicates.append(Duplicate(isSection: false, first: $0, later: $1))
                    }
                }
            return tables
        }
    }

    /// As `ColumnsView.pairs`, but hashes the ids that were not taken over.
    private mutating func pairs(
        with known: Columns, _ runs: [SharedRuns.Run], in text: TextRope
    ) -> (pairs: Pairing, table: IDTable?)? {
        text.withView { text in
            runs.forOthers(of: nodes.count) { _ = nodes[$0].hashedID(in: text) }
            return nodes.withUnsafeBufferPointer { nodes in
                known.withView { $0.pairs(with: nodes, in: text, runs: runs) }
            }
        }
    }

    private consuming func columns(_ text: TextRope, _ tables: Tables) -> Columns {
        let (rowOfItem, itemOfRow) = countRows()
        let areDistinct = tables.duplicates.isEmpty
        // Moved out, since a copy of each would be retained first.
        return Columns(
            text: text, list: list, nodes: Self.exact(exchange(&nodes, with: [])),
            sections: Self.exact(exchange(&sections, with: [])),
            payloads: showsAnything ? Self.exact(exchange(&payloads, with: [])) : [],
            itemTable: areDistinct ? tables.items : .empty, sectionTable: areDistinct ? tables.sections : .empty,
            rowOfItem: rowOfItem, itemOfRow: itemOfRow, childCounts: exchange(&childCounts, with: []),
            contextAncestors: contextAncestors, settings: settings,
            documentOrder: exchange(&documentOrder, with: []), isFlat: isFlat)
    }

    /// The array without the spare room that growth left, which a state would hold for its whole life.
    private static func exact<Element>(_ array: consuming [Element]) -> [Element] {
        if array.isEmpty { return [] }
        return array.capacity - array.count <= array.count / 64
            ? array
            : Array(unsafeUninitializedCapacity: array.count) {
                _ = $0.initialize(from: array)
                $1 = array.count
            }
    }

    /// Marks hidden items and numbers the rows of each section. O(sections), or O(items) if anything is no row.
    private mutating func countRows() -> (rowOfItem: [Int32], itemOfRow: [UInt32]) {
        guard hasCollapsed || contextAncestors > 0 else {
            for index in sections.indices {
                sections[index].firstRow = sections[index].firstItem
                sections[index].endRow = sections[index].endItem
            }
            return ([], [])
        }
        var rowOfItem = [Int32](repeating: -1, count: nodes.count)
        var itemOfRow: [UInt32] = []
        for index in sections.indices {
            let section = sections[index]
            sections[index].firstRow = UInt32(truncatingIfNeeded: itemOfRow.count)
            var visible = section.flags.contains(.isCollapsed) ? section.endItem : section.firstItem
            for item in section.firstItem..<section.endItem {
                if item < visible || item < contextAncestors {
                    nodes[Int(item)].flags.insert(.isHidden)
                } else {
                    rowOfItem[Int(item)] = Int32(truncatingIfNeeded: itemOfRow.count)
                    itemOfRow.append(item)
                    if nodes[Int(item)].flags.contains(.isCollapsed) { visible = nodes[Int(item)].end }
                }
            }
            sections[index].endRow = UInt32(truncatingIfNeeded: itemOfRow.count)
        }
        return (rowOfItem, Self.exact(itemOfRow))
    }

    /// Sets what follows from levels, for items from `first` on, in `lists` if they are in no section yet. O(these).
    mutating func outline(_ lists: [SectionNode]? = nil, from first: Int = 0) {
        let sections = lists ?? sections
        nodes.withUnsafeMutableBufferPointer { nodes in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Int(UInt8.max) + 1) { open in
                for (index, section) in sections.enumerated() where Int(section.endItem) > first {
                    let end = Int(section.endItem)
                    var depth = 0
                    for item in max(first, Int(section.firstItem))..<end {
                        // A delta may claim a level that has no parent.
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
}

// MARK: - Kept expansion
//
// A writer whose source does not track expansion should not expand, with every state it posts, what a reader has
// collapsed. So where a document omits `expanded`, it can keep its value from the previous state. Items taken over from
// that state have their flags already, since equal text says the same or nothing; all others are looked up there by id.

extension ColumnsBuilder {
    /// Collapses whatever is collapsed in a known state, from which the runs were taken over, unless the document says
    /// that it is expanded. O(sections + items in none of the runs).
    mutating func keepExpanded(
        of known: Columns, but mentioned: Set<RecordIndex>, _ runs: [SharedRuns.Run], in text: TextRope
    ) {
        settings.hasKept = true
        text.withView { text in
            known.withView { known in
                for index in sections.indices where !mentioned.contains(.section(index)) {
                    let id = sections[index].hashedID(in: text)
                    if let old = known.section(withID: id, hash: sections[index].hash),
                        known.sections[old].flags.contains(.isCollapsed)
                    {
                        collapse(.section(index))
                    }
                }
                runs.forOthers(of: nodes.count) { index in
                    if mentioned.contains(.item(index)) { return }
                    let id = nodes[index].hashedID(in: text)
                    if let old = known.item(withID: id, hash: nodes[index].hash),
                        known.nodes[old].flags.contains(.isCollapsed)
                    {
                        collapse(.item(index))
                    }
                }
            }
        }
    }

    // MARK: The same structure

    /// Whether the records are those of a known state, apart from ranges of text and hidden flags, as of most states:
    /// then neither a new table of ids nor pairing is needed, and they take their hashes from there. O(sections + items
    /// in none of the runs).
    private mutating func hasStructure(of known: Columns, reusing runs: [SharedRuns.Run], in text: TextView) -> Bool {
        guard nodes.count == known.nodes.count, sections.count == known.sections.count,
            runs.allSatisfy({ $0.keepsIndexes })
        else { return false }
        return known.withView { view in
            let isSame = runs.allOthers(of: nodes.count) { item in
                let (node, old) = (nodes[item], view.nodes[item])
                guard node.level == old.level, node.section == old.section, node.parent == old.parent,
                    node.end == old.end, node.isWrittenLike(old, text, view.text)
                else { return false }
                nodes[item].hash = old.hash
                return true
            }
            guard isSame else { return false }
            for (index, old) in view.sections.enumerated() {
                guard sections[index].firstItem == old.firstItem, sections[index].endItem == old.endItem,
                    sections[index].isWrittenLike(old, text, view.text)
                else { return false }
                sections[index].hash = old.hash
            }
            return true
        }
    }

    /// Ascending items of a document, each with its ancestors, in these sections, or in none if those are empty.
    init(of document: ColumnsView, _ items: [UInt32], in sections: [SectionNode]) {
        self.init()
        (nodes, payloads) = (items.map { document.nodes[Int($0)] }, items.map { document.payload(ofItem: Int($0)) })
        self.sections = sections
        list = document.columns.list
        (hasCollapsed, showsAnything) = (document.columns.hasCollapsed, !document.payloads.isEmpty)
        isFlat = false
        let isApart = sections.last.map { $0.endItem == 0 } ?? true
        outline(isApart ? [SectionNode().holding(0..<nodes.count)] : sections)
    }
}
