// Operations on ids, applied in order. Sections are inserted before items move into them, and removed after items have
// moved out, so an item that changes sections is one move. Each list runs from its end to its start: whatever `before`
// names is at its final position.

extension ChangesetView {
    func writeKeyed(into writer: inout JSONWriter) {
        writer.append("[")
        // Most changes are of one kind; others are not searched for.
        let (puts, removes) = (change.counts.insertions + change.counts.moves > 0, change.counts.deletions > 0)
        if puts { putSections(&writer) }
        if removes { removeRows(&writer) }
        if puts { putRows(&writer) }
        if removes { removeSections(&writer) }
        if change.counts.updates > 0 { updateAll(&writer) }
        writer.append("]")
    }

    private func putSections(_ writer: inout JSONWriter) {
        for section in new.sections.indices.reversed() where !stays(section: section) {
            writer.separate()
            if isNew(section: section) {
                writer.append("{\"op\":\"insert\",\"section\":")
                append(section: section, to: &writer) { isNew(row: $0) }
            } else {
                writer.emit("{\"op\":\"move\",\"section\":", new.id(ofSection: section))
            }
            let next = section + 1
            append(before: next < new.sections.count ? new.id(ofSection: next) : nil, to: &writer)
        }
    }

    private func append(before anchor: IDText?, to writer: inout JSONWriter) {
        if let anchor { writer.emit(",\"before\":", anchor, "}") } else { writer.append(",\"before\":null}") }
    }

    private func removeRows(_ writer: inout JSONWriter) {
        writer.append(operation: "remove") { writer in
            for section in old.sections.indices where !isGone(oldSection: section) {
                for row in old.rows(ofSection: section) where isGone(oldRow: row) {
                    writer.separate()
                    writer.append(old.id(ofItem: old.item(ofRow: row)))
                }
            }
        }
    }

    private func putRows(_ writer: inout JSONWriter) {
        for section in new.sections.indices {
            let rows = new.rows(ofSection: section)
            var end = rows.upperBound
            while let last = lastToPut(in: rows.lowerBound..<end) {
                end = last + 1
                // The last row, or all adjacent new ones that end with it.
                var start = end - 1
                while isNew(row: start), start > rows.lowerBound, isNew(row: start - 1) { start -= 1 }
                defer { end = start }
                // An inserted section brought its new rows along.
                if isNew(row: start), isNew(section: section) { continue }
                writer.separate()
                if isNew(row: start) {
                    writer.append("{\"op\":\"insert\",\"items\":")
                    writer.append(array: start..<end) { append(row: $1, to: &$0) }
                } else {
                    writer.emit("{\"op\":\"move\",\"item\":", id(ofRow: start))
                }
                writer.emit(",\"in\":", new.id(ofSection: section))
                append(before: end < rows.upperBound ? id(ofRow: end) : nil, to: &writer)
            }
        }
    }

    /// The last of some rows that does not stay. O(rows after it).
    private func lastToPut(in rows: Range<Int>) -> Int? {
        change.rowChanges.withUnsafeBufferPointer { changes in
            var row = rows.upperBound
            while row > rows.lowerBound, changes[row - 1].contains(.stays) { row -= 1 }
            return row > rows.lowerBound ? row - 1 : nil
        }
    }

    private func removeSections(_ writer: inout JSONWriter) {
        for section in old.sections.indices where isGone(oldSection: section) {
            writer.separate()
            writer.emit("{\"op\":\"remove\",\"section\":", old.id(ofSection: section), "}")
        }
    }

    private func updateAll(_ writer: inout JSONWriter) {
        var left = change.counts.updates
        for section in new.sections.indices where isUpdated(section: section) {
            writer.separate()
            writer.append("{\"op\":\"update\",\"section\":")
            append(updatedSection: section, to: &writer)
            writer.append(redraw(section: section).member)
            writer.append("}")
            left -= 1
        }
        updateRows(as: .reconfigure, &left, &writer)
        updateRows(as: .reload, &left, &writer)
    }

    /// - Parameter left: rows still to be updated; the search ends with the last of them.
    private func updateRows(as redraw: Marks.Redraw, _ left: inout Int, _ writer: inout JSONWriter) {
        writer.append(operation: "update", member: redraw.member) { writer in
            let changes = change.rowChanges
            var row = 0
            while left > 0, row < changes.count {
                if changes[row].contains(.updated), self.redraw(row: row) == redraw {
                    left -= 1
                    writer.separate()
                    append(updatedRow: row, to: &writer)
                }
                row += 1
            }
        }
    }
}

extension JSONWriter {
    /// Appends an operation on several items, or nothing if `appendItems` appends none.
    @inline(__always)
    fileprivate mutating func append(
        operation: StaticString, member: StaticString = "", items appendItems: (inout JSONWriter) -> Void
    ) {
        let start = count
        separate()
        append("{\"op\":\"")
        append(operation)
        append("\",\"items\":[")
        let first = count
        appendItems(&self)
        guard count > first else { return truncate(to: start) }
        append("]")
        append(member)
        append("}")
    }
}
