/// Columns in the making, item by item in document order. Finds every duplicate id when it finishes.
struct ColumnsBuilder {
    var nodes: [Node] = []
    private(set) var payloads: [Payload] = []
    var sections: [SectionNode] = []
    /// The list's own content.
    var list = ListContent()
    /// Where the items of the top level stand in the document.
    var place = ElementPlace.nowhere
    private var hasCollapsed = false
    /// Whether any item has a content or a kind.
    private var showsAnything = false
    /// Whether no item is below another, and each id stands in the text as it was written.
    private var isFlat = true

    /// Makes room for so many items.
    mutating func expect(items: Int) {
        nodes.reserveCapacity(items)
        payloads.reserveCapacity(items)
    }

    var openSection: Int { sections.count - 1 }

    // MARK: Sections and items

    /// Starts a section; what is not known yet may be set until the next one starts.
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

    /// Takes over items of another state, in whole subtrees, whose text stands `shift` bytes further on here. O(items).
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
        // Most often they stay where they were, and what comes before them is as long as it was.
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
    mutating func endItem(_ item: Int) { nodes[item].end = UInt32(truncatingIfNeeded: nodes.count) }

    /// `hash`: that of the id, where it is known.
    @inline(__always)
    mutating func setID(ofItem item: Int, start: Int, count: Int, flags: NodeFlags, hash: UInt32 = 0) {
        nodes[item].setID(start, count, flags)
        nodes[item].hash = hash
        if flags.contains(.escapedID) { isFlat = false }
    }

    @inline(__always)
    mutating func setContent(ofItem item: Int, start: Int, count: Int) {
        payloads[item].setContent(start, count)
        nodes[item].flags.insert(.hasContent)
        showsAnything = true
    }

    mutating func setKind(ofItem item: Int, start: Int) {
        payloads[item].kindStart = UInt32(truncatingIfNeeded: start)
        nodes[item].flags.insert(.hasKind)
        showsAnything = true
    }

    mutating func collapse(item: Int) {
        nodes[item].flags.insert(.isCollapsed)
        hasCollapsed = true
    }

    mutating func setID(ofSection section: Int, start: Int, count: Int, flags: NodeFlags) {
        sections[section].idStart = UInt32(truncatingIfNeeded: start)
        sections[section].idCount = UInt16(truncatingIfNeeded: count)
        sections[section].flags.formUnion(flags)
    }

    mutating func setContent(ofSection section: Int, start: Int, count: Int) {
        sections[section].contentStart = UInt32(truncatingIfNeeded: start)
        sections[section].contentCount = UInt32(truncatingIfNeeded: count)
        sections[section].flags.insert(.hasContent)
    }

    mutating func collapse(section: Int) {
        sections[section].flags.insert(.isCollapsed)
        hasCollapsed = true
    }

    // MARK: The end

    /// Two items, or two sections, that share an id.
    struct Duplicate {
        var isSection: Bool
        var first: Int
        var later: Int
    }

    /// The columns over `text`, and all duplicates; with any of those the columns are not to be
    /// used. O(items).
    ///
    /// - Parameters:
    ///   - known: the state that was read upon, if any.
    ///   - taken: what was taken over from it.
    consuming func finish(
        text: StateText, known: Columns? = nil, taken: [ReusedRun] = []
    ) -> (columns: Columns, duplicates: [Duplicate]) {
        if let known, !taken.isEmpty,
            text.withView({ hasStructure(of: known, reused: taken, in: $0) })
        {
            return (columns(text, known.itemTable, known.sectionTable, known.structure), [])
        }
        var duplicates: [Duplicate] = []
        let (itemTable, sectionTable) = tables(text, upon: known, taken) { duplicates.append($0) }
        return (columns(text, itemTable, sectionTable, StructureID()), duplicates)
    }

    /// The columns of a state that has been one already. O(items).
    consuming func finish(text: StateText, as structure: StructureID) -> Columns {
        let (itemTable, sectionTable) = tables(text) { _ in }
        return columns(text, itemTable, sectionTable, structure)
    }

    /// Tables of all ids, which are hashed.
    ///
    /// - Parameters:
    ///   - known: the state that was read upon, if any, and `taken` what was taken over from it.
    mutating func tables(
        _ text: StateText, upon known: Columns? = nil, _ taken: [ReusedRun] = [], onDuplicate: (Duplicate) -> Void
    ) -> (IDTable, IDTable) {
        text.withView { text in
            let sectionTable = sections.withUnsafeMutableBufferPointer { sections in
                Self.table(sections, text) { onDuplicate(Duplicate(isSection: true, first: $0, later: $1)) }
            }
            let itemTable = nodes.withUnsafeMutableBufferPointer { nodes in
                if let known, taken.reduce(0, { $0 + $1.count }) * 2 > nodes.count {
                    Self.hash(nodes, text)
                    let table = known.withView {
                        $0.itemTable(carriedOver: taken, to: UnsafeBufferPointer(nodes), in: text)
                    }
                    if let table { return table }
                }
                return Self.table(nodes, text) { onDuplicate(Duplicate(isSection: false, first: $0, later: $1)) }
            }
            return (itemTable, sectionTable)
        }
    }

    private consuming func columns(
        _ text: StateText, _ itemTable: IDTable, _ sectionTable: IDTable, _ structure: StructureID
    ) -> Columns {
        let (rowOfItem, itemOfRow) = countRows()
        return Columns(
            text: text, list: list, nodes: Self.exact(nodes), sections: Self.exact(sections),
            payloads: showsAnything ? Self.exact(payloads) : [],
            itemTable: itemTable, sectionTable: sectionTable, rowOfItem: rowOfItem, itemOfRow: itemOfRow,
            place: place, isFlat: isFlat, structure: structure)
    }

    /// Hashes all ids and enters them.
    @inline(__always)
    private static func table<Record: IdentifiedRecord>(
        _ records: UnsafeMutableBufferPointer<Record>, _ text: TextView, onDuplicate: (Int, Int) -> Void
    ) -> IDTable {
        hash(records, text)
        return IDTable(UnsafeBufferPointer(records), in: text, onDuplicate: onDuplicate)
    }

    @inline(__always)
    private static func hash<Record: IdentifiedRecord>(
        _ records: UnsafeMutableBufferPointer<Record>, _ text: TextView
    ) {
        // Those that were taken over have theirs.
        for index in records.indices where records[index].hash == 0 {
            records[index].hash = idHash(text.at(records[index].idStart), Int(records[index].idCount))
        }
    }

    /// Growth leaves room behind an array that a state would hold for its whole life.
    private static func exact<Element>(_ array: consuming [Element]) -> [Element] {
        if array.isEmpty { return [] }
        return array.capacity - array.count <= array.count / 64
            ? array
            : Array(unsafeUninitializedCapacity: array.count) {
                _ = $0.initialize(from: array)
                $1 = array.count
            }
    }

    /// Marks hidden items and numbers the rows of each section.
    private mutating func countRows() -> (rowOfItem: [Int32], itemOfRow: [UInt32]) {
        Self.countRows(&nodes, &sections, hasCollapsed: hasCollapsed)
    }

    /// Marks hidden items and numbers the rows of each section. O(sections), or O(items) where anything is collapsed.
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
            sections[index].firstRow = UInt32(truncatingIfNeeded: itemOfRow.count)
            var item = Int(sections[index].firstItem)
            var visible =
                sections[index].flags.contains(.isCollapsed) ? sections[index].endItem : sections[index].firstItem
            while item < Int(sections[index].endItem) {
                if item < Int(visible) {
                    nodes[item].flags.insert(.isHidden)
                } else {
                    rowOfItem[item] = Int32(truncatingIfNeeded: itemOfRow.count)
                    itemOfRow.append(UInt32(truncatingIfNeeded: item))
                    if nodes[item].flags.contains(.isCollapsed) { visible = nodes[item].end }
                }
                item += 1
            }
            sections[index].endRow = UInt32(truncatingIfNeeded: itemOfRow.count)
        }
        return (rowOfItem, exact(itemOfRow))
    }
}
