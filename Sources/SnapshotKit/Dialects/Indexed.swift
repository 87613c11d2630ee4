// Indexes into two states: deletions, updates and the origins of moves count in the old state, insertions and the
// targets of moves in the new one. All rows are listed, including those of sections that are inserted or deleted.

extension ChangesetView {
    func writeIndexed(into writer: inout JSONWriter) {
        writer.append("{")
        var batch = BatchWriter(isStage: false, exchange(&writer, with: JSONWriter(capacity: 0)))
        listDeletedSections(&batch)
        listInsertedSections(&batch)
        listMovedSections(&batch) { $0 }
        listUpdatedSections(&batch)
        for row in 0..<old.rowCount where isGone(oldRow: row) { list(deletedRow: row, &batch) }
        for row in 0..<new.rowCount where isNew(row: row) { list(insertedRow: row, &batch) }
        for row in 0..<new.rowCount where moves(row: row) { list(movedRow: row, &batch) }
        for row in 0..<new.rowCount where isUpdated(row: row) { list(updatedRow: row, &batch) }
        batch.close()
        batch.writer.append("}")
        writer = batch.writer
    }
}

// MARK: - Batches
//
// A batch (`indexed` is one, and each stage of `staged`) is an object with `sections` and `items`, each with up to four
// lists of operations. Whatever is empty is left out.

/// Writes batches, list by list: sections before items, and each group's lists in the order of `Operation`.
struct BatchWriter {
    fileprivate enum Group: String { case sections, items }
    fileprivate enum Operation: String { case deleted, inserted, moved, updated }

    var writer: JSONWriter
    /// Whether batches are stages: inserted sections bring their rows, and an update names only one index.
    let isStage: Bool
    private var group: Group?
    private var operation: Operation?

    init(isStage: Bool, _ writer: JSONWriter) { (self.isStage, self.writer) = (isStage, writer) }

    var isEmpty: Bool { group == nil }

    /// Ends the batch, except for its closing brace.
    mutating func close() {
        if !isEmpty { writer.append("]}") }
        group = nil
    }

    /// Starts the next element of a list.
    fileprivate mutating func next(_ group: Group, _ operation: Operation) {
        if self.group == group, self.operation == operation { return writer.separate() }
        if self.group == group {
            writer.append("]")
        } else {
            close()
            writer.separate()
            writer.append(string: group.rawValue)
            writer.append(":{")
        }
        writer.separate()
        writer.append(string: operation.rawValue)
        writer.append(":[")
        (self.group, self.operation) = (group, operation)
    }
}

extension ChangesetView {
    func listDeletedSections(_ batch: inout BatchWriter) {
        for section in old.sections.indices where isGone(oldSection: section) {
            batch.next(.sections, .deleted)
            batch.writer.append(section)
        }
    }

    func listInsertedSections(_ batch: inout BatchWriter) {
        for section in new.sections.indices where isNew(section: section) {
            batch.next(.sections, .inserted)
            batch.writer.emit("{\"at\":", section, ",\"section\":")
            if batch.isStage {
                append(section: section, to: &batch.writer) { _ in true }
            } else {
                append(updatedSection: section, to: &batch.writer)
            }
            batch.writer.append("}")
        }
    }

    /// - Parameter from: where an old section stands right before the batch.
    func listMovedSections(_ batch: inout BatchWriter, from: (Int) -> Int) {
        for section in new.sections.indices where moves(section: section) {
            batch.next(.sections, .moved)
            batch.writer.emit("{\"from\":", from(oldSection(of: section)))
            batch.writer.emit(",\"to\":", section, "}")
        }
    }

    func listUpdatedSections(_ batch: inout BatchWriter) {
        for section in new.sections.indices where isUpdated(section: section) {
            batch.next(.sections, .updated)
            if batch.isStage {
                batch.writer.emit("{\"at\":", section)
            } else {
                batch.writer.emit("{\"from\":", oldSection(of: section))
                batch.writer.emit(",\"at\":", section)
            }
            batch.writer.append(",\"section\":")
            append(updatedSection: section, to: &batch.writer)
            batch.writer.append(redraw(section: section).member)
            batch.writer.append("}")
        }
    }
}

extension ChangesetView {
    func list(deletedRow oldRow: Int, _ batch: inout BatchWriter) {
        batch.next(.items, .deleted)
        batch.writer.append(path: old.indexPath(ofRow: oldRow))
    }

    func list(insertedRow row: Int, _ batch: inout BatchWriter) {
        batch.next(.items, .inserted)
        batch.writer.append("{\"at\":")
        batch.writer.append(path: new.indexPath(ofRow: row))
        batch.writer.append(",\"item\":")
        append(row: row, to: &batch.writer)
        batch.writer.append("}")
    }

    /// - Parameter from: where the row is right before the batch; by default as in the old state.
    func list(movedRow row: Int, _ batch: inout BatchWriter, from: (section: Int, row: Int)? = nil) {
        batch.next(.items, .moved)
        batch.writer.append("{\"from\":")
        batch.writer.append(path: from ?? old.indexPath(ofRow: oldRow(of: row)))
        batch.writer.append(",\"to\":")
        batch.writer.append(path: new.indexPath(ofRow: row))
        batch.writer.append("}")
    }

    func list(updatedRow row: Int, _ batch: inout BatchWriter) {
        batch.next(.items, .updated)
        batch.writer.append(batch.isStage ? "{\"at\":" : "{\"from\":")
        batch.writer.append(path: old.indexPath(ofRow: oldRow(of: row)))
        if !batch.isStage {
            batch.writer.append(",\"at\":")
            batch.writer.append(path: new.indexPath(ofRow: row))
        }
        batch.writer.append(",\"item\":")
        append(updatedRow: row, to: &batch.writer)
        batch.writer.append(redraw(row: row).member)
        batch.writer.append("}")
    }
}
