// For data sources that stage by themselves: all final ids, and what they cannot compute since they never see content.

extension ChangesetView {
    func writeDiffable(into writer: inout JSONWriter) {
        writer.append("{\"sections\":[")
        var list = JSONList()
        for section in new.sections.indices {
            list.separate(&writer)
            writer.emit("{\"id\":", new.id(ofSection: section).token, ",\"items\":[")
            var ids = JSONList()
            for row in new.rows(ofSection: section) {
                ids.separate(&writer)
                appendID(ofRow: row, to: &writer)
            }
            writer.append("]}")
        }
        writer.append("],\"reload\":[")
        listRows(&writer) { isUpdated(row: $0) && redraw(row: $0) == .reload }
        writer.append("],\"reconfigure\":[")
        listRows(&writer) { isUpdated(row: $0) && redraw(row: $0) == .reconfigure }
        writer.append("],\"reloadSections\":[")
        listSections(&writer) { isUpdated(section: $0) && redraw(section: $0) == .reload }
        writer.append("],\"reconfigureSections\":[")
        listSections(&writer) { isUpdated(section: $0) && redraw(section: $0) == .reconfigure }
        writer.append("],\"items\":[")
        list = JSONList()
        for row in 0..<new.rowCount where isNew(row: row) || isUpdated(row: row) {
            list.separate(&writer)
            if isNew(row: row) { append(row: row, to: &writer) } else { append(updatedRow: row, to: &writer) }
        }
        writer.append("],\"sectionContents\":[")
        list = JSONList()
        for section in new.sections.indices where isNew(section: section) || isUpdated(section: section) {
            list.separate(&writer)
            if isNew(section: section) {
                append(section: section, to: &writer)
            } else {
                append(updatedSection: section, to: &writer)
            }
        }
        writer.append("]}")
    }

    private func listRows(_ writer: inout JSONWriter, where includes: (Int) -> Bool) {
        var list = JSONList()
        for row in 0..<new.rowCount where includes(row) {
            list.separate(&writer)
            appendID(ofRow: row, to: &writer)
        }
    }

    private func listSections(_ writer: inout JSONWriter, where includes: (Int) -> Bool) {
        var list = JSONList()
        for section in new.sections.indices where includes(section) {
            list.separate(&writer)
            writer.append(new.id(ofSection: section).token)
        }
    }
}
