extension Columns {
    /// Stops the process if what code relies on without checking does not hold, in builds with assertions: in tests and
    /// fuzzers, after each construction of a state. O(n).
    func checkInvariants() { assert(firstBrokenInvariant == nil, firstBrokenInvariant ?? "") }

    /// The first invariant that does not hold; nil if all do. O(n).
    var firstBrokenInvariant: String? {
        withView { view in
            brokenBytes(view) ?? brokenSections() ?? brokenSubtrees() ?? brokenRows(view) ?? brokenTables(view)
        }
    }

    /// Ranges lie within the text, before its padding, and hold what flags say.
    private func brokenBytes(_ view: ColumnsView) -> String? {
        let end = text.count - JSONScanner.padding
        guard end >= 0, (end..<text.count).allSatisfy({ view.text.at(UInt32($0)).load(as: UInt8.self) == 0 }) else {
            return "no padding after the text"
        }
        for (name, count) in [("payloads", payloads.count), ("child counts", childCounts.count)]
        where count != 0 && count != nodes.count {
            return "the number of \(name) is not that of the items"
        }
        let holds = { (start: UInt32, count: Int) in Int(start) + count <= end }
        for (item, node) in nodes.enumerated() {
            guard node.idCount > 0, holds(node.idStart, Int(node.idCount)) else { return "the id of item \(item)" }
            let shown = node.flags.isDisjoint(with: [.hasContent, .hasKind]) ? Payload() : payloads[item]
            let isShown = shown.contentCount > 0 && holds(shown.contentStart, Int(shown.contentCount))
            guard isShown || !node.flags.contains(.hasContent) else { return "the content of item \(item)" }
            if node.flags.contains(.hasKind) {
                guard holds(shown.kindStart, 2),
                    view.text.at(shown.kindStart).load(as: UInt8.self) == UInt8(ascii: "\"")
                else { return "the kind of item \(item)" }
            }
        }
        for (index, section) in sections.enumerated()
        where section.idCount == 0 || !holds(section.idStart, Int(section.idCount))
            || !holds(section.contentStart, Int(section.contentCount))
        {
            return "the id or the content of section \(index)"
        }
        return nil
    }

    /// Sections cover the items without gaps, in order.
    private func brokenSections() -> String? {
        var next: UInt32 = 0
        for (index, section) in sections.enumerated() {
            guard section.firstItem == next, section.endItem >= next else { return "the items of section \(index)" }
            next = section.endItem
        }
        return Int(next) == nodes.count ? nil : "items outside of the sections"
    }

    /// Each subtree follows its parent, and lies within the parent's.
    private func brokenSubtrees() -> String? {
        for (index, section) in sections.enumerated() {
            var open: [Int] = []
            for item in Int(section.firstItem)..<Int(section.endItem) {
                while let last = open.last, Int(nodes[last].end) <= item { open.removeLast() }
                let node = nodes[item]
                let end = open.last.map { nodes[$0].end } ?? section.endItem
                guard Int(node.section) == index, Int(node.parent) == open.last ?? -1, Int(node.level) == open.count,
                    Int(node.end) > item, node.end <= end
                else { return "the position of item \(item)" }
                open.append(item)
            }
        }
        return nil
    }

    /// Rows are the items that are not hidden, in order.
    private func brokenRows(_ view: ColumnsView) -> String? {
        var row = 0
        for (index, section) in sections.enumerated() {
            guard Int(section.firstRow) == row else { return "the rows of section \(index)" }
            var shown = section.flags.contains(.isCollapsed) ? section.endItem : section.firstItem
            for item in Int(section.firstItem)..<Int(section.endItem) {
                let isHidden = item < Int(shown) || item < contextAncestors
                guard nodes[item].flags.contains(.isHidden) == isHidden,
                    view.row(ofItem: item) == (isHidden ? -1 : row), isHidden || view.item(ofRow: row) == item
                else { return "the row of item \(item)" }
                if isHidden { continue }
                row += 1
                if nodes[item].flags.contains(.isCollapsed) { shown = nodes[item].end }
            }
            guard Int(section.endRow) == row else { return "the rows of section \(index)" }
        }
        return nil
    }

    /// Each id leads to its record, so no two records share one. Hashes are those of the ids.
    private func brokenTables(_ view: ColumnsView) -> String? {
        guard itemTable.isEmpty || !nodes.isEmpty, sectionTable.isEmpty || !sections.isEmpty else { return "a table" }
        for item in nodes.indices where view.item(withID: view.id(ofItem: item).text, hash: nodes[item].hash) != item {
            return "item \(item) is not found by its id"
        }
        for index in sections.indices
        where view.section(withID: view.id(ofSection: index).text, hash: sections[index].hash) != index {
            return "section \(index) is not found by its id"
        }
        for (item, node) in nodes.enumerated() {
            let id = view.id(ofItem: item)
            guard node.hash == idHash(id.start, id.count) else { return "the hash of item \(item)" }
        }
        return nil
    }
}
