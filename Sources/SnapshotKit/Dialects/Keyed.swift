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

    /// One operation for all that go.
    private func removeRows(_ list: inout JSONList, _ writer: inout JSONWriter) {
        var ids = JSONList()
        for section in old.sections.indices where !isGone(oldSection: section) {
            for row in old.rows(ofSection: section) where isGone(oldRow: row) {
                if ids.isEmpty {
                    list.separate(&writer)
                    writer.append("{\"op\":\"remove\",\"items\":[")
                }
                ids.separate(&writer)
                appendID(ofOldRow: row, to: &writer)
            }
        }
        if !ids.isEmpty { writer.append("]}") }
    }

    private func placeRows(_ list: inout JSONList, _ writer: inout JSONWriter) {
        for section in new.sections.indices {
            let rows = new.rows(ofSection: section)
            var end = rows.upperBound
            while end > rows.lowerBound {
                // The last row, or all new ones that stand together there.
                var start = end - 1
                while isNew(row: start), start > rows.lowerBound, isNew(row: start - 1) { start -= 1 }
                defer { end = start }
                // An inserted section brought its new rows along.
                if stays(row: start) || isNew(row: start) && isNew(section: section) { continue }
                list.separate(&writer)
                if isNew(row: start) {
                    writer.append("{\"op\":\"insert\",\"items\":[")
                    append(rows: start..<end, to: &writer) { _ in true }
                    writer.append(byte: UInt8(ascii: "]"))
                } else {
                    writer.append("{\"op\":\"move\",\"item\":")
                    appendID(ofRow: start, to: &writer)
                }
                writer.emit(",\"in\":", new.id(ofSection: section).token)
                append(before: end < rows.upperBound ? new.id(ofItem: new.item(ofRow: end)) : nil, to: &writer)
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
        var left = change.counts.updates
        for section in new.sections.indices where isUpdated(section: section) {
            list.separate(&writer)
            writer.append("{\"op\":\"update\",\"section\":")
            append(updatedSection: section, to: &writer)
            writer.append(redraw(section: section).member)
            writer.append(byte: UInt8(ascii: "}"))
            left -= 1
        }
        updateRows(as: .reconfigure, &left, &list, &writer)
        updateRows(as: .reload, &left, &list, &writer)
    }

    /// One operation for all rows that are drawn in the same way.
    ///
    /// - Parameter left: rows that are still to be updated; behind the last of them nothing is looked for.
    private func updateRows(
        as redraw: Marks.Redraw, _ left: inout Int, _ list: inout JSONList, _ writer: inout JSONWriter
    ) {
        var items = JSONList()
        var row = 0
        while left > 0, row < new.rowCount {
            defer { row += 1 }
            guard isUpdated(row: row), self.redraw(row: row) == redraw else { continue }
            left -= 1
            if items.isEmpty {
                list.separate(&writer)
                writer.append("{\"op\":\"update\",\"items\":[")
            }
            items.separate(&writer)
            append(updatedRow: row, to: &writer)
        }
        if items.isEmpty { return }
        writer.append(byte: UInt8(ascii: "]"))
        writer.append(redraw.member)
        writer.append(byte: UInt8(ascii: "}"))
    }
}
