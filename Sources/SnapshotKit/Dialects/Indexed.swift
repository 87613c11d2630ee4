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
