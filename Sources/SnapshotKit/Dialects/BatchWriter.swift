// A batch is what `indexed` is, and each stage of `staged`: an object with `sections` and `items`, each with up to four
// lists of operations on indexes. Empty lists are left out, and so are objects without lists.

/// Writes batches, list by list: sections before items, and each group's lists in the order of `Operation`.
struct BatchWriter {
    private enum Group: String { case sections, items }
    private enum Operation: String { case deleted, inserted, moved, updated }

    let changeset: ChangesetView
    var writer: JSONWriter
    /// Whether batches are stages, applied one after another: inserted sections bring their rows, and an update names
    /// only one index.
    let isStage: Bool
    /// The list that is open.
    private var group: Group?
    private var operation: Operation?

    init(_ changeset: ChangesetView, isStage: Bool, _ writer: JSONWriter) {
        (self.changeset, self.isStage, self.writer) = (changeset, isStage, writer)
    }

    /// Whether the batch has no list so far.
    var isEmpty: Bool { group == nil }

    /// Ends the batch, but for its closing brace.
    mutating func close() {
        if !isEmpty { writer.append("]}") }
        group = nil
    }

    /// Starts the next element of a list.
    private mutating func next(_ group: Group, _ operation: Operation) {
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

    // MARK: Sections

    mutating func listDeletedSections() {
        for section in changeset.old.sections.indices where changeset.isGone(oldSection: section) {
            next(.sections, .deleted)
            writer.append(section)
        }
    }

    mutating func listInsertedSections() {
        for section in changeset.new.sections.indices where changeset.isNew(section: section) {
            next(.sections, .inserted)
            writer.emit("{\"at\":", section, ",\"section\":")
            if isStage {
                changeset.append(section: section, to: &writer) { _ in true }
            } else {
                changeset.append(section: section, to: &writer)
            }
            writer.append("}")
        }
    }

    /// - Parameter from: where an old section stands right before the batch.
    mutating func listMovedSections(from: (Int) -> Int) {
        for section in changeset.new.sections.indices where changeset.moves(section: section) {
            next(.sections, .moved)
            writer.emit("{\"from\":", from(changeset.oldSection(of: section)))
            writer.emit(",\"to\":", section, "}")
        }
    }

    mutating func listUpdatedSections() {
        for section in changeset.new.sections.indices where changeset.isUpdated(section: section) {
            next(.sections, .updated)
            if isStage {
                writer.emit("{\"at\":", section)
            } else {
                writer.emit("{\"from\":", changeset.oldSection(of: section))
                writer.emit(",\"at\":", section)
            }
            writer.append(",\"section\":")
            changeset.append(updatedSection: section, to: &writer)
            writer.append(changeset.redraw(section: section).member)
            writer.append("}")
        }
    }

    // MARK: Rows

    mutating func list(deletedRow oldRow: Int) {
        next(.items, .deleted)
        append(oldPath: oldRow)
    }

    mutating func list(insertedRow row: Int) {
        next(.items, .inserted)
        writer.append("{\"at\":")
        append(path: row)
        writer.append(",\"item\":")
        changeset.append(row: row, to: &writer)
        writer.append("}")
    }

    /// - Parameter from: where the row's old section and row stand right before the batch; by default as in the old
    ///   state.
    mutating func list(movedRow row: Int, from: (section: Int, row: Int)? = nil) {
        next(.items, .moved)
        writer.append("{\"from\":")
        if let from { writer.append(path: from.section, from.row) } else { append(oldPath: changeset.oldRow(of: row)) }
        writer.append(",\"to\":")
        append(path: row)
        writer.append("}")
    }

    mutating func list(updatedRow row: Int) {
        next(.items, .updated)
        writer.append(isStage ? "{\"at\":" : "{\"from\":")
        append(oldPath: changeset.oldRow(of: row))
        if !isStage {
            writer.append(",\"at\":")
            append(path: row)
        }
        writer.append(",\"item\":")
        changeset.append(updatedRow: row, to: &writer)
        writer.append(changeset.redraw(row: row).member)
        writer.append("}")
    }

    private mutating func append(oldPath row: Int) {
        let path = changeset.old.indexPath(ofRow: row)
        writer.append(path: path.section, path.row)
    }

    private mutating func append(path row: Int) {
        let path = changeset.new.indexPath(ofRow: row)
        writer.append(path: path.section, path.row)
    }
}
