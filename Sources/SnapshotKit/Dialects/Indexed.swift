// Indexes into two states: deletions, updates and the origins of moves count in the old state, insertions and the
// targets of moves in the new one. All rows are listed, including those of sections that are inserted or deleted.

extension ChangesetView {
    func writeIndexed(into writer: inout JSONWriter) {
        writer.append("{")
        var batch = BatchWriter(self, isStage: false, exchange(&writer, with: JSONWriter(capacity: 0)))
        batch.listDeletedSections()
        batch.listInsertedSections()
        batch.listMovedSections { $0 }
        batch.listUpdatedSections()
        for row in 0..<old.rowCount where isGone(oldRow: row) { batch.list(deletedRow: row) }
        for row in 0..<new.rowCount where isNew(row: row) { batch.list(insertedRow: row) }
        for row in 0..<new.rowCount where moves(row: row) { batch.list(movedRow: row) }
        for row in 0..<new.rowCount where isUpdated(row: row) { batch.list(updatedRow: row) }
        batch.close()
        batch.writer.append("}")
        writer = batch.writer
    }
}
