// Operations on ids, applied in order. Sections that come are put in before items move into them, and sections that go
// are taken out after items have moved out of them; so an item that changes sections is one move, whatever becomes of
// either. Within each list the operations run from its end to its start: what an operation names in `before` is then
// always in its final place.

extension ChangesetView {
    func writeKeyed(into writer: inout JSONWriter) {
        writer.append(byte: UInt8(ascii: "["))
        var list = JSONList()
        // Most changes are of one sort: what there is none of is not looked for.
        let (places, removes) = (change.counts.insertions + change.counts.moves > 0, change.counts.deletions > 0)
        if places { placeSections(&list, &writer) }
        if removes { removeRows(&list, &writer) }
        if places { placeRows(&list, &writer) }
        if removes { removeSections(&list, &writer) }
        if change.counts.updates > 0 { updateAll(&list, &writer) }
        writer.append(byte: UInt8(ascii: "]"))
    }

    private func placeSections(_ list: inout JSONList, _ writer: inout JSONWriter) {
        for section in new.sections.indices.reversed() where !stays(section: section) {
            list.separate(&writer)
            if isNew(section: section) {
                writer.append("{\"op\":\"insert\",\"section\":")
                append(section: section, to: &writer) { isNew(row: $0) }
            } else {
                writer.emit("{\"op\":\"move\",\"section\":", new.id(ofSection: section).token)
            }
            let next = section + 1
            append(before: next < new.sections.count ? new.id(ofSection: next) : nil, to: &writer)
        }
    }

    private func append(before anchor: IDText?, to writer: inout JSONWriter) {
        writer.append(",\"before\":")
        if let anchor { writer.append(anchor.token) } else { writer.append("null") }
        writer.append(byte: UInt8(ascii: "}"))
    }

    private func removeRows(_ list: inout JSONList, _ writer: inout JSONWriter) {
        for section in old.sections.indices where !isGone(oldSection: section) {
            for row in old.rows(ofSection: section) where isGone(oldRow: row) {
                list.separate(&writer)
                writer.append("{\"op\":\"remove\",\"item\":")
                appendID(ofOldRow: row, to: &writer)
                writer.append(byte: UInt8(ascii: "}"))
            }
        }
    }

    private func placeRows(_ list: inout JSONList, _ writer: inout JSONWriter) {
        for section in new.sections.indices {
            let arrives = isNew(section: section)
            let rows = new.rows(ofSection: section)
            for row in rows.reversed() where !stays(row: row) {
                if isNew(row: row) {
                    // An inserted section brought its new rows along.
                    if arrives { continue }
                    list.separate(&writer)
                    writer.append("{\"op\":\"insert\",\"item\":")
                    append(row: row, to: &writer)
                } else {
                    list.separate(&writer)
                    writer.append("{\"op\":\"move\",\"item\":")
                    appendID(ofRow: row, to: &writer)
                }
                writer.emit(",\"in\":", new.id(ofSection: section).token)
                let isLast = row + 1 == rows.upperBound
                append(before: isLast ? nil : new.id(ofItem: new.item(ofRow: row + 1)), to: &writer)
            }
        }
    }

    private func removeSections(_ list: inout JSONList, _ writer: inout JSONWriter) {
        for section in old.sections.indices where isGone(oldSection: section) {
            list.separate(&writer)
            writer.emit("{\"op\":\"remove\",\"section\":", old.id(ofSection: section).token, "}")
        }
    }

    private func updateAll(_ list: inout JSONList, _ writer: inout JSONWriter) {
        for section in new.sections.indices where isUpdated(section: section) {
            list.separate(&writer)
            writer.append("{\"op\":\"update\",\"section\":")
            append(updatedSection: section, to: &writer)
            writer.append(redraw(section: section).member)
            writer.append(byte: UInt8(ascii: "}"))
        }
        for row in 0..<new.rowCount where isUpdated(row: row) {
            list.separate(&writer)
            writer.append("{\"op\":\"update\",\"item\":")
            append(updatedRow: row, to: &writer)
            writer.append(redraw(row: row).member)
            writer.append(byte: UInt8(ascii: "}"))
        }
    }
}
