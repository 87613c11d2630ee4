// Two-state indexes: what is deleted, updated or moved from counts in the old state, what is inserted or moved to in
// the new one. All rows are listed, those of sections that come or go among them.

extension Script {
    func writeIndexed(into writer: inout JSONWriter) {
        writer.append(byte: UInt8(ascii: "{"))
        var lists = IndexLists(follows: false)
        listSections(&lists, &writer)
        listRows(&lists, &writer)
        lists.close(&writer)
        writer.append(byte: UInt8(ascii: "}"))
    }

    private func listSections(_ lists: inout IndexLists, _ writer: inout JSONWriter) {
        for section in old.sections.indices where isGone(oldSection: section) {
            lists.next(.sections, .deleted, &writer)
            writer.append(section)
        }
        for section in new.sections.indices where isNew(section: section) {
            lists.next(.sections, .inserted, &writer)
            writer.append("{\"at\":")
            writer.append(section)
            writer.append(",\"section\":")
            append(section: section, to: &writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
        for section in new.sections.indices where !isNew(section: section) && !stays(section: section) {
            lists.next(.sections, .moved, &writer)
            writer.append("{\"from\":")
            writer.append(oldSection(of: section))
            writer.append(",\"to\":")
            writer.append(section)
            writer.append(byte: UInt8(ascii: "}"))
        }
        for section in new.sections.indices where isUpdated(section: section) {
            lists.next(.sections, .updated, &writer)
            writer.append("{\"from\":")
            writer.append(oldSection(of: section))
            writer.append(",\"at\":")
            writer.append(section)
            writer.append(",\"section\":")
            append(updatedSection: section, to: &writer)
            appendRedraw(ofSection: section, to: &writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
    }

    private func listRows(_ lists: inout IndexLists, _ writer: inout JSONWriter) {
        for row in 0..<old.rowCount where isGone(oldRow: row) {
            lists.next(.items, .deleted, &writer)
            append(oldPath: row, to: &writer)
        }
        for row in 0..<new.rowCount where isNew(row: row) {
            lists.next(.items, .inserted, &writer)
            writer.append("{\"at\":")
            append(path: row, to: &writer)
            writer.append(",\"item\":")
            append(row: row, to: &writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
        for row in 0..<new.rowCount where moves(row: row) {
            lists.next(.items, .moved, &writer)
            writer.append("{\"from\":")
            append(oldPath: oldRow(of: row), to: &writer)
            writer.append(",\"to\":")
            append(path: row, to: &writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
        for row in 0..<new.rowCount where isUpdated(row: row) {
            lists.next(.items, .updated, &writer)
            writer.append("{\"from\":")
            append(oldPath: oldRow(of: row), to: &writer)
            writer.append(",\"at\":")
            append(path: row, to: &writer)
            writer.append(",\"item\":")
            append(updatedRow: row, to: &writer)
            appendRedraw(ofRow: row, to: &writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
    }

    func append(path row: Int, to writer: inout JSONWriter) {
        let path = new.indexPath(ofRow: row)
        writer.append(path: path.section, path.row)
    }

    func append(oldPath row: Int, to writer: inout JSONWriter) {
        let path = old.indexPath(ofRow: row)
        writer.append(path: path.section, path.row)
    }
}
