// For data sources that stage by themselves: final ids, and what they cannot compute without contents.

extension ChangesetView {
    func writeDiffable(into writer: inout JSONWriter) {
        writer.append("{\"sections\":")
        writer.append(array: new.sections.indices) { writer, section in
            writer.emit("{\"id\":", new.id(ofSection: section), ",\"items\":")
            writer.append(array: new.rows(ofSection: section)) { $0.append(id(ofRow: $1)) }
            writer.append("}")
        }
        let (rows, sections) = (0..<new.rowCount, new.sections.indices)
        for (name, redraw) in [("reload", Marks.Redraw.reload), ("reconfigure", .reconfigure)] {
            writer.append(verbatim: ",\"\(name)\":")
            let redrawn = rows.lazy.filter { isUpdated(row: $0) && self.redraw(row: $0) == redraw }
            writer.append(array: redrawn) { $0.append(id(ofRow: $1)) }
        }
        for (name, redraw) in [("reload", Marks.Redraw.reload), ("reconfigure", .reconfigure)] {
            writer.append(verbatim: ",\"\(name)Sections\":")
            let redrawn = sections.lazy.filter { isUpdated(section: $0) && self.redraw(section: $0) == redraw }
            writer.append(array: redrawn) { $0.append(new.id(ofSection: $1)) }
        }
        writer.append(",\"items\":")
        writer.append(array: rows.lazy.filter { isNew(row: $0) || isUpdated(row: $0) }) {
            append(updatedRow: $1, to: &$0)
        }
        writer.append(",\"sectionContents\":")
        writer.append(array: sections.lazy.filter { isNew(section: $0) || isUpdated(section: $0) }) {
            append(updatedSection: $1, to: &$0)
        }
        writer.append("}")
    }
}
