// Rows of a document with groups go into their sections by counting: the sizes of the sections say where the first row
// of each goes, and each further row goes behind the last one of its section.

extension ColumnsBuilder {
    /// Begins the sections of groups that the document does not list, in the order of their first rows, and notes in
    /// `sectionOfGroup` where each group goes. O(sections).
    ///
    /// - Parameters:
    ///   - text: of the document, and what is stored after it.
    ///   - known: the state whose collapsed sections stay collapsed, unless the document lists them.
    mutating func beginSections(of groups: RowGroups, in text: TextView, keepingExpandedOf known: Columns?) {
        sectionOfGroup = [UInt32](filled: .max, count: groups.count)
        for section in sections.indices.reversed() where sections[section].idCount > 0 {
            let id = text.bytes(ofID: sections[section])
            if let group = groups.number(of: id) { sectionOfGroup[group] = UInt32(truncatingIfNeeded: section) }
        }
        for group in groups.starts.indices.sorted(by: { groups.starts[$0] < groups.starts[$1] })
        where sectionOfGroup[group] == .max {
            beginSection()
            setID(ofSection: openSection, groups.ids[group])
            sectionOfGroup[group] = UInt32(truncatingIfNeeded: openSection)
            if let known, let old = groups.withText(of: group, known.section(withID:)),
                known.sections[old].flags.contains(.isCollapsed)
            {
                collapse(.section(openSection))
            }
        }
    }

    /// Puts the items, which are in the document's order, and those taken over into the sections of their groups.
    /// O(items).
    ///
    /// - Parameters:
    ///   - known: the state that rows were taken over from.
    ///   - documents: the runs of these, by their ordinals in both documents.
    /// - Returns: the runs of the same rows as items of both states, and the items in the document's order.
    mutating func arrange(
        by groups: RowGroups, with taken: TakenRows, of known: ColumnsView, _ documents: [SharedRuns.Run]
    ) -> (runs: [SharedRuns.Run], order: [UInt32]) {
        var next = [UInt32](filled: 0, count: sections.count)
        forEachRow(of: groups) { section, items in next[section] += UInt32(truncatingIfNeeded: items.count) }
        for section in taken.sections where section.count > 0 {
            next[Int(sectionOfGroup[Int(section.group)])] += section.count
        }
        var start: UInt32 = 0
        for section in sections.indices {
            (sections[section].firstItem, sections[section].endItem) = (start, start + next[section])
            (next[section], start) = (start, start + next[section])
        }
        // The initializer would write to the empty array, which all threads share.
        let count = nodes.count + taken.count
        guard count > 0 else { return ([], []) }
        let sectionOfKnown = taken.sections.map { $0.group < 0 ? 0 : sectionOfGroup[Int($0.group)] }
        var placement = Placement(next, sectionOfKnown: sectionOfKnown)
        var (placed, shown) = ([Node](), [Payload]())
        var partners = [Int32](filled: -1, count: count)
        let order = [UInt32](unsafeUninitializedCapacity: count) { order, used in
            placed = Array(unsafeUninitializedCapacity: count) { nodes, used in
                shown = Array(unsafeUninitializedCapacity: count) { payloads, used in
                    partners.withUnsafeMutableBufferPointer { partners in
                        let memory = Placement.Memory(
                            nodes: nodes.baseAddress!, payloads: payloads.baseAddress!, order: order.baseAddress!,
                            partners: partners.baseAddress!)
                        put(documents, by: groups, taken, known, with: &placement, into: memory)
                    }
                    used = count
                }
                used = count
            }
            used = count
        }
        (nodes, payloads) = (placed, shown)
        if taken.count > 0 { showsAnything = true }
        if placement.flags.contains(.isCollapsed) { hasCollapsed = true }
        if placement.flags.contains(.escapedID) { isFlat = false }
        // Without it, later documents are read as if nothing were known.
        if !placement.isInOrder, self.settings.shape.mapping?.element.isVerbatim == true { documentOrder = order }
        return (taken.count == 0 ? [] : Placement.runs(partners), order)
    }

    private func put(
        _ runs: [SharedRuns.Run], by groups: RowGroups, _ taken: TakenRows, _ known: ColumnsView,
        with placement: inout Placement, into memory: Placement.Memory
    ) {
        var run = 0
        func putRuns() {
            while run < runs.count, runs[run].new == placement.count {
                placement.append(runs[run], of: known, shiftedBy: taken.shifts[run], into: memory)
                run += 1
            }
        }
        forEachRow(of: groups) { section, items in
            putRuns()
            placement.append(items, of: self, to: section, into: memory)
        }
        putRuns()
    }

    /// Calls `body` with each top-level item: its section, and the range of the item and everything below it.
    @inline(__always)
    private func forEachRow(of groups: RowGroups, _ body: (_ section: Int, _ items: Range<Int>) -> Void) {
        var (row, item) = (0, 0)
        while item < nodes.count {
            let end = Int(nodes[item].end)
            body(Int(sectionOfGroup[Int(groups.ofRow[row])]), item..<end)
            (row, item) = (row + 1, end)
        }
    }

    /// Restores the order of the document, in which each item's content is its element. O(n log n).
    mutating func setDocumentOrder() {
        let starts = payloads.map(\.contentStart)
        documentOrder = starts.indices.map { UInt32(truncatingIfNeeded: $0) }
            .sorted { starts[Int($0)] < starts[Int($1)] }
    }
}

/// Puts the items of a document into their sections, one by one.
private struct Placement {
    /// Where items go, what they show, the index of each in the order of the document, and the known state's item at
    /// each index, or -1.
    struct Memory {
        let nodes: UnsafeMutablePointer<Node>
        let payloads: UnsafeMutablePointer<Payload>
        let order: UnsafeMutablePointer<UInt32>
        let partners: UnsafeMutablePointer<Int32>
    }

    private(set) var count = 0
    private(set) var isInOrder = true
    /// The flags that any item taken over has.
    private(set) var flags: NodeFlags = []
    /// Where the next item of each section goes, and the section here for each one of the known state.
    private var next: [UInt32]
    private let sectionOfKnown: [UInt32]

    init(_ next: [UInt32], sectionOfKnown: [UInt32]) { (self.next, self.sectionOfKnown) = (next, sectionOfKnown) }

    /// Puts in a row that was read, with everything below it.
    mutating func append(_ items: Range<Int>, of builder: ColumnsBuilder, to section: Int, into memory: Memory) {
        for item in items { append(builder.nodes[item], builder.payloads[item], from: item, to: section, into: memory) }
    }

    mutating func append(_ run: SharedRuns.Run, of known: ColumnsView, shiftedBy shift: UInt32, into memory: Memory) {
        let order = known.columns.documentOrder
        for ordinal in run.old..<run.old + run.count {
            let item = order.isEmpty ? ordinal : Int(order[ordinal])
            var (node, payload) = (known.nodes[item], known.payload(ofItem: item))
            node.idStart &+= shift
            node.flags.remove(.isHidden)
            payload.shift(by: shift, node.flags)
            flags.formUnion(node.flags)
            let index = append(node, payload, from: item, to: Int(sectionOfKnown[Int(node.section)]), into: memory)
            memory.partners[index] = Int32(truncatingIfNeeded: item)
        }
    }

    /// Puts an item, whose index was `item`, behind the last one of its section; returns where.
    @inline(__always)
    @discardableResult
    private mutating func append(
        _ node: Node, _ payload: Payload, from item: Int, to section: Int, into memory: Memory
    ) -> Int {
        let index = Int(next[section])
        next[section] &+= 1
        var node = node
        node.section = UInt32(truncatingIfNeeded: section)
        node.end &+= UInt32(truncatingIfNeeded: index - item)
        if node.parent >= 0 { node.parent &+= Int32(truncatingIfNeeded: index - item) }
        (memory.nodes + index).initialize(to: node)
        (memory.payloads + index).initialize(to: payload)
        (memory.order + count).initialize(to: UInt32(truncatingIfNeeded: index))
        isInOrder = isInOrder && index == count
        count += 1
        return index
    }

    /// Items of two states as runs, given the item of the old one at each index of the new one, or -1.
    static func runs(_ partners: [Int32]) -> [SharedRuns.Run] {
        var runs: [SharedRuns.Run] = []
        for (item, partner) in partners.enumerated() where partner >= 0 {
            runs.append(joining: SharedRuns.Run(old: Int(partner), new: item, count: 1))
        }
        return runs
    }
}
