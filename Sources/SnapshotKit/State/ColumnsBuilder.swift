/// Builds columns item by item, in document order. Finds every duplicate id when it finishes.
struct ColumnsBuilder {
    var nodes: [Node] = []
    private(set) var payloads: [Payload] = []
    var sections: [SectionNode] = []
    /// The list's own content.
    var list = ListContent()
    /// Where the items of the top level are in the document.
    var place = ElementPlace.nowhere
    private var hasCollapsed = false
    /// Whether any item has a content or a kind.
    private var showsAnything = false
    /// See `Columns.isFlat`.
    private var isFlat = true

    /// Reserves room for so many items.
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
    mutating func append(
        _ others: Slice<UnsafeBufferPointer<Node>>, _ shown: Slice<UnsafeBufferPointer<Payload>>?, shiftedBy shift: Int
    ) {
        let first = nodes.count
        let moved = first - others.startIndex
        let section = UInt32(truncatingIfNeeded: sections.count - 1)
        nodes.append(contentsOf: others)
        if let shown {
            payloads.append(contentsOf: shown)
        } else {
            payloads.append(contentsOf: repeatElement(Payload(), count: others.count))
        }
        var (all, levels): (NodeFlags, UInt8) = ([], 0)
        for node in others {
            all.formUnion(node.flags)
            levels |= node.level
        }
        // Usually they keep their indexes, and the text before them is as long as it was.
        let isSamePlace = moved == 0 && shift == 0 && others.first?.section == section && !all.contains(.isHidden)
        if !isSamePlace {
            nodes.withUnsafeMutableBufferPointer { nodes in
                payloads.withUnsafeMutableBufferPointer { payloads in
                    for index in first..<nodes.count {
                        nodes[index].move(by: moved, section: section, shiftedBy: shift)
                        payloads[index].shift(by: shift, nodes[index].flags)
                    }
                }
            }
        }
        if !all.isDisjoint(with: [.hasContent, .hasKind]) { showsAnything = true }
        if all.contains(.isCollapsed) { hasCollapsed = true }
        if levels > 0 || all.contains(.escapedID) { isFlat = false }
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

    // MARK: The end

    /// Two items, or two sections, that share an id.
    struct Duplicate {
        var isSection: Bool
        var first: Int
        var later: Int

        /// Both, the first one first.
        var records: [RecordIndex] { [first, later].map(isSection ? RecordIndex.section : RecordIndex.item) }
    }

    /// The columns over `text`, and all duplicates. If there are any, the columns are no state, and have no tables of
    /// ids. O(items).
    ///
    /// - Parameters:
    ///   - known: the state that the document was compared with, if any.
    ///   - taken: what was taken over from it.
    consuming func finish(
        text: StateText, known: Columns? = nil, taken: [ReusedRun] = []
    ) -> (columns: Columns, duplicates: [Duplicate]) {
        if let known, !taken.isEmpty,
            text.withView({ hasStructure(of: known, reused: taken, in: $0) })
        {
            return (columns(text, (known.itemTable, known.sectionTable), known.structure), [])
        }
        var duplicates: [Duplicate] = []
        let tables = tables(text, upon: known, taken) { duplicates.append($0) }
        return (columns(text, duplicates.isEmpty ? tables : (.empty, .empty), StructureID()), duplicates)
    }

    /// The columns of a state whose ids are known to be distinct. O(items).
    consuming func finishDistinct(text: StateText) -> Columns {
        let tables = tables(text) { _ in }
        return columns(text, tables, StructureID())
    }

    /// Hashes all ids and makes tables of them. Parameters as of `finish`.
    mutating func tables(
        _ text: StateText, upon known: Columns? = nil, _ taken: [ReusedRun] = [], onDuplicate: (Duplicate) -> Void
    ) -> (items: IDTable, sections: IDTable) {
        text.withView { text in
            let sectionTable = sections.withUnsafeMutableBufferPointer { sections in
                Self.hash(sections, text)
                return IDTable(UnsafeBufferPointer(sections), in: text) {
                    onDuplicate(Duplicate(isSection: true, first: $0, later: $1))
                }
            }
            let itemTable = nodes.withUnsafeMutableBufferPointer { nodes in
                Self.hash(nodes, text)
                let nodes = UnsafeBufferPointer(nodes)
                if let known, taken.reduce(0, { $0 + $1.count }) * 2 > nodes.count,
                    let table = known.withView({ $0.itemTable(carriedOver: taken, to: nodes, in: text) })
                {
                    return table
                }
                return IDTable(nodes, in: text) { onDuplicate(Duplicate(isSection: false, first: $0, later: $1)) }
            }
            return (itemTable, sectionTable)
        }
    }

    @inline(__always)
    private static func hash<Record: IdentifiedRecord>(
        _ records: UnsafeMutableBufferPointer<Record>, _ text: TextView
    ) {
        // Records that were taken over have their hashes.
        for index in records.indices where records[index].hash == 0 {
            records[index].hash = idHash(text.at(records[index].idStart), Int(records[index].idCount))
        }
    }

    private consuming func columns(
        _ text: StateText, _ tables: (items: IDTable, sections: IDTable), _ structure: StructureID
    ) -> Columns {
        let (rowOfItem, itemOfRow) = countRows()
        return Columns(
            text: text, list: list, nodes: Self.exact(nodes), sections: Self.exact(sections),
            payloads: showsAnything ? Self.exact(payloads) : [], itemTable: tables.items, sectionTable: tables.sections,
            rowOfItem: rowOfItem, itemOfRow: itemOfRow, place: place, isFlat: isFlat, structure: structure)
    }

    private mutating func countRows() -> (rowOfItem: [Int32], itemOfRow: [UInt32]) {
        Self.countRows(&nodes, &sections, hasCollapsed: hasCollapsed)
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

    /// Marks hidden items and numbers the rows of each section. O(sections), or O(items) if anything is collapsed.
    static func countRows(
        _ nodes: inout [Node], _ sections: inout [SectionNode], hasCollapsed: Bool
    ) -> (rowOfItem: [Int32], itemOfRow: [UInt32]) {
        guard hasCollapsed else {
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
                if item < visible {
                    nodes[Int(item)].flags.insert(.isHidden)
                } else {
                    rowOfItem[Int(item)] = Int32(truncatingIfNeeded: itemOfRow.count)
                    itemOfRow.append(item)
                    if nodes[Int(item)].flags.contains(.isCollapsed) { visible = nodes[Int(item)].end }
                }
            }
            sections[index].endRow = UInt32(truncatingIfNeeded: itemOfRow.count)
        }
        return (rowOfItem, exact(itemOfRow))
    }
}
