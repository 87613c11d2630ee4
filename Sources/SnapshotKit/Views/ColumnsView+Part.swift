extension ColumnsView {
    /// A state of some items of this one, perhaps in another order, whose texts stay where they are. O(items).
    ///
    /// - Parameters:
    ///   - items: in depth-first order, each after its parent.
    ///   - sections: the sections that hold them, in order.
    ///   - hasCollapsed: whether any of them may be hidden.
    ///   - outsiders: how many items at the start are not rows; if any, then no other item is hidden.
    ///   - childCounts: the numbers of children, if not all of them are among the items.
    func columns(
        of items: [UInt32], in sections: [SectionNode], hasCollapsed: Bool, outsiders: Int = 0,
        childCounts: [UInt32] = []
    ) -> Columns {
        var (nodes, sections) = (items.map { self.nodes[Int($0)] }, sections)
        let payloads = self.payloads.isEmpty ? [] : items.map { self.payloads[Int($0)] }
        ColumnsAssembly.outline(&nodes, sections, from: 0)
        var (rowOfItem, itemOfRow) = ColumnsBuilder.countRows(&nodes, &sections, hasCollapsed: hasCollapsed)
        if outsiders > 0 {
            for index in 0..<outsiders { nodes[index].flags.insert(.isHidden) }
            rowOfItem = items.indices.map { Int32(truncatingIfNeeded: max(-1, $0 - outsiders)) }
            itemOfRow = (outsiders..<items.count).map { UInt32(truncatingIfNeeded: $0) }
            for index in sections.indices { sections[index].moveRows(back: UInt32(truncatingIfNeeded: outsiders)) }
        }
        // An estimate, by which writers of the state reserve memory.
        let used = nodes.indices.reduce(Int(columns.list.count)) { sum, index in
            sum + Int(nodes[index].idCount) + (payloads.isEmpty ? 0 : Int(payloads[index].contentCount)) + 16
        }
        return Columns(
            text: columns.text.referred(used), list: columns.list, nodes: nodes, sections: sections,
            payloads: payloads, itemTable: nodes.withUnsafeBufferPointer { IDTable($0, in: text) },
            sectionTable: sections.withUnsafeBufferPointer { IDTable($0, in: text) }, rowOfItem: rowOfItem,
            itemOfRow: itemOfRow, childCounts: childCounts, outsiders: outsiders)
    }
}

extension SectionNode {
    /// The section with these items in place of its own.
    func holding(_ items: Range<Int>) -> SectionNode {
        var section = self
        section.firstItem = UInt32(truncatingIfNeeded: items.lowerBound)
        section.endItem = UInt32(truncatingIfNeeded: items.upperBound)
        return section
    }

    fileprivate mutating func moveRows(back count: UInt32) {
        firstRow -= min(firstRow, count)
        endRow -= min(endRow, count)
    }
}

extension StateText {
    /// The same text for a state that refers to only so many bytes of it.
    fileprivate func referred(_ used: Int) -> StateText {
        appending(UnsafeRawBufferPointer(start: nil, count: 0), dead: max(0, count - used - dead))
    }
}
