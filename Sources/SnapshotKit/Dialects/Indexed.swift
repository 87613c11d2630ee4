// Two-state indexes: what is deleted, updated or moved from counts in the old state, what is inserted or moved to in
// the new one. All rows are listed, those of sections that come or go among them.

extension ChangesetView {
    func writeIndexed(into writer: inout JSONWriter) {
        writer.append(byte: UInt8(ascii: "{"))
        var batch = BatchWriter(follows: false)
        listDeletedSections(&batch, &writer)
        listInsertedSections(&batch, &writer) { append(section: $0, to: &$1) }
        listMovedSections(&batch, &writer) { $0 }
        listUpdatedSections(&batch, &writer, namesBoth: true)
        for row in 0..<old.rowCount where isGone(oldRow: row) { list(deletedRow: row, &batch, &writer) }
        for row in 0..<new.rowCount where isNew(row: row) { list(insertedRow: row, &batch, &writer) }
        for row in 0..<new.rowCount where moves(row: row) {
            list(movedRow: row, &batch, &writer) { append(oldPath: $0, to: &$1) }
        }
        for row in 0..<new.rowCount where isUpdated(row: row) {
            list(updatedRow: row, &batch, &writer, namesBoth: true)
        }
        batch.close(&writer)
        writer.append(byte: UInt8(ascii: "}"))
    }
}
