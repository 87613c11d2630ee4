// Look-ups by id use the tables made when a state's ids were checked. A past state that was rebuilt has none and is
// searched.

extension ColumnsView {
    /// The item, hidden or not, whose id is the given text; `hash` is that of the text, if known. O(1), or O(n) without
    /// a table.
    func item(withID id: UnsafeRawBufferPointer, hash: UInt32? = nil) -> Int? {
        find(id, hash, in: nodes, columns.itemTable)
    }

    /// The section whose id is the given text. O(1), or O(n) without a table.
    func section(withID id: UnsafeRawBufferPointer, hash: UInt32? = nil) -> Int? {
        find(id, hash, in: sections, columns.sectionTable)
    }

    @inline(__always)
    private func find<Record: IdentifiedRecord>(
        _ id: UnsafeRawBufferPointer, _ hash: UInt32?, in records: UnsafeBufferPointer<Record>, _ table: IDTable
    ) -> Int? {
        guard let start = id.baseAddress, id.count > 0 else { return nil }
        let hash = hash ?? idHash(start, id.count)
        let matches = { (index: Int) in
            let record = records[index]
            return record.hash == hash && Int(record.idCount) == id.count
                && sameBytes(text.at(record.idStart), start, id.count)
        }
        return table.isEmpty ? records.indices.first(where: matches) : table.first(hash, where: matches)
    }
}

extension Columns {
    /// The item, hidden or not, whose id is the given text. O(1), or O(n) without a table.
    func item(withID id: UnsafeRawBufferPointer) -> Int? { withView { $0.item(withID: id) } }

    /// The section whose id is the given text. O(1), or O(n) without a table.
    func section(withID id: UnsafeRawBufferPointer) -> Int? { withView { $0.section(withID: id) } }

    /// The item at a row; nil if there is no such row. O(1).
    func item(at path: ItemPath) -> Int? {
        guard sections.indices.contains(path.section) else { return nil }
        let section = sections[path.section]
        guard path.row >= 0, path.row < Int(section.endRow - section.firstRow) else { return nil }
        let row = Int(section.firstRow) + path.row
        return itemOfRow.isEmpty ? row : Int(itemOfRow[row])
    }

    /// Where an item is shown; nil if it is hidden. O(1).
    func path(ofItem item: Int) -> ItemPath? {
        let row = itemOfRow.isEmpty && rowOfItem.isEmpty ? item : Int(rowOfItem[item])
        guard row >= 0 else { return nil }
        let section = Int(nodes[item].section)
        return ItemPath(section: section, row: row - Int(sections[section].firstRow))
    }
}

extension ColumnsView {
    /// The table of ids of a state made from this one; nil if a new one has to be made, be it because two items have
    /// the same id. O(n log n), n being the runs and the items in none of them.
    ///
    /// - Parameters:
    ///   - runs: items with the same ids, in ascending order of the new state.
    ///   - nodes: of the new state, hashed.
    func itemTable(
        carriedOver runs: [ReusedRun], to nodes: UnsafeBufferPointer<Node>, in text: TextView
    ) -> IDTable? {
        var kept = runs
        var arrivals: [Renumbering.Arrival] = []
        runs.forOthers(of: nodes.count) { item in
            let node = nodes[item]
            if let old = self.item(withID: text.bytes(at: node.idStart, Int(node.idCount)), hash: node.hash) {
                kept.append(ReusedRun(old: old, new: item, count: 1))
            } else {
                arrivals.append(Renumbering.Arrival(hash: node.hash, item: item))
            }
        }
        return columns.itemTable.renumbered(kept, arrivals, to: nodes, in: text)
    }
}
