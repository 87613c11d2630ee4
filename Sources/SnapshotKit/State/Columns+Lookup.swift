// Look-ups by id go through the tables that a state has since its ids were checked; a skeleton has none and is
// searched, unless it was indexed.

extension Columns {
    /// Item with the given text as its id, hidden ones included. O(1), or O(n) without a table.
    func item(withID id: UnsafeRawBufferPointer) -> Int? { find(id, nodes, itemTable) }

    /// Section with the given text as its id. O(1), or O(n) without a table.
    func section(withID id: UnsafeRawBufferPointer) -> Int? { find(id, sections, sectionTable) }

    private func find<Record: IdentifiedRecord>(
        _ id: UnsafeRawBufferPointer, _ records: [Record], _ table: IDTable
    ) -> Int? {
        guard let start = id.baseAddress, id.count > 0 else { return nil }
        let hash = idHash(start, id.count)
        return bytes.withUnsafeBytes { text in
            let matches = { (index: Int) in
                let record = records[index]
                return record.hash == hash && Int(record.idCount) == id.count
                    && sameBytes(text.baseAddress! + Int(record.idStart), start, id.count)
            }
            return table.isEmpty ? records.indices.first(where: matches) : table.first(hash, where: matches)
        }
    }

    /// The item that a row is; nil where there is no such row. O(1).
    func item(at path: ItemPath) -> Int? {
        guard sections.indices.contains(path.section) else { return nil }
        let section = sections[path.section]
        guard path.row >= 0, path.row < Int(section.endRow - section.firstRow) else { return nil }
        let row = Int(section.firstRow) + path.row
        return itemOfRow.isEmpty ? row : Int(itemOfRow[row])
    }

    /// Where an item is shown; nil where it is hidden. O(1).
    func path(ofItem item: Int) -> ItemPath? {
        let row = itemOfRow.isEmpty && rowOfItem.isEmpty ? item : Int(rowOfItem[item])
        guard row >= 0 else { return nil }
        let section = Int(nodes[item].section)
        return ItemPath(section: section, row: row - Int(sections[section].firstRow))
    }
}

extension Skeleton {
    /// The same skeleton with tables of its ids: worth it from a handful of look-ups by id on. O(n).
    public func indexed() -> Skeleton {
        columns.withView { view in
            let items = IDTable(
                count: view.nodes.count, hash: { view.nodes[$0].hash },
                same: { view.nodes[$0].hasSameID(as: view.nodes[$1], view.bytes, view.bytes) }, onDuplicate: { _, _ in }
            )
            let sections = IDTable(
                count: view.sections.count, hash: { view.sections[$0].hash },
                same: { view.sections[$0].hasSameID(as: view.sections[$1], view.bytes, view.bytes) },
                onDuplicate: { _, _ in })
            return Skeleton(
                Columns(
                    bytes: columns.bytes, nodes: columns.nodes, sections: columns.sections, isSkeleton: true,
                    itemTable: items,
                    sectionTable: sections, rowOfItem: columns.rowOfItem, itemOfRow: columns.itemOfRow,
                    outline: columns.outline),
                fingerprints)
        }
    }
}
