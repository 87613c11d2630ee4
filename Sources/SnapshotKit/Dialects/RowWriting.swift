extension JSONWriter {
    /// An item as a row: without its children, but with their number. Given a changeset, only what has changed.
    @inline(__always)
    mutating func append(
        item: Int, of view: ColumnsView, hadParent: Bool = false, contentOf changeset: ChangesetView? = nil
    ) {
        let node = view.nodes[item]
        emit("{\"id\":", view.id(ofItem: item))
        appendShown(item, of: view) { changeset?.appendChange(ofItem: item, to: &$0) == true }
        if node.parent >= 0 {
            emit(",\"level\":", Int(node.level))
            emit(",\"parent\":", view.id(ofItem: Int(node.parent)))
        } else if hadParent {
            append(",\"level\":0,\"parent\":null")
        }
        if node.flags.contains(.isCollapsed) { append(",\"expanded\":false") }
        if !view.isLeaf(item) { emit(",\"children\":", view.childCount(ofItem: item)) }
        append("}")
    }
}

extension Snapshot {
    /// The state as rows, in the form of a reset: visible items only, depth first, never nested. O(n).
    public func rowsJSON() -> [UInt8] {
        var writer = JSONWriter(capacity: textBytes + rowCount * 32)
        writeRows(into: &writer)
        return writer.bytes()
    }

    /// Writes what `rowsJSON()` returns.
    public func writeRows(into writer: inout JSONWriter) { writeRows(into: &writer, until: .max) }

    /// Whether a reset, as rows or as the document, takes fewer bytes. For rows, O(the lesser of the two).
    public func isShorter(than bytes: Int, in dialect: Dialect) -> Bool {
        // No row, and no item, takes less than `{"id":1}` and what separates it from the next.
        guard (dialect == .jsonPatch ? itemCount : rowCount) * 9 < bytes, dialect.isAdopted else { return false }
        var writer = JSONWriter()
        if dialect == .jsonPatch { writeDocument(into: &writer) } else { writeRows(into: &writer, until: bytes) }
        return writer.count < bytes
    }

    private func writeRows(into writer: inout JSONWriter, until limit: Int) {
        columns.withView { view in
            writer.append(sectionsOf: view) { section, writer in
                for row in view.rows(ofSection: section) where writer.count < limit {
                    writer.separate()
                    writer.append(item: view.item(ofRow: row), of: view)
                }
            }
        }
    }
}
