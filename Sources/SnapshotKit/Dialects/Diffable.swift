// For data sources that stage by themselves: all final ids, and what they cannot compute because they never see
// content.

extension ChangesetView {
    func writeDiffable(into writer: inout JSONWriter) {
        writer.append("{\"sections\":")
        writer.append(array: new.sections.indices) { writer, section in
            writer.emit("{\"id\":", new.id(ofSection: section), ",\"items\":")
            writer.append(array: new.rows(ofSection: section)) { append(idOfRow: $1, to: &$0) }
            writer.append("}")
        }
        let (rows, sections) = (0..<new.rowCount, new.sections.indices)
        for (name, redraw) in [("reload", Marks.Redraw.reload), ("reconfigure", .reconfigure)] {
            writer.append(verbatim: ",\"\(name)\":[")
            for row in rows where isUpdated(row: row) && self.redraw(row: row) == redraw {
                writer.separate()
                append(idOfRow: row, to: &writer)
            }
            writer.append("]")
        }
        for (name, redraw) in [("reload", Marks.Redraw.reload), ("reconfigure", .reconfigure)] {
            writer.append(verbatim: ",\"\(name)Sections\":[")
            for section in sections where isUpdated(section: section) && self.redraw(section: section) == redraw {
                writer.separate()
                writer.append(new.id(ofSection: section))
            }
            writer.append("]")
        }
        writer.append(",\"items\":[")
        for row in rows where isNew(row: row) || isUpdated(row: row) {
            writer.separate()
            append(newOrUpdatedRow: row, to: &writer)
        }
        writer.append("],\"sectionContents\":[")
        for section in sections where isNew(section: section) || isUpdated(section: section) {
            writer.separate()
            append(newOrUpdatedSection: section, to: &writer)
        }
        writer.append("]}")
    }
}
