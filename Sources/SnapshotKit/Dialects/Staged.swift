// At most five batches, each one `performBatchUpdates` that UITableView and UICollectionView accept. Each border is
// there because crossing it crashed somebody: reloads among moves, section deletes among section moves, item operations
// in sections that move, reloads of sections whose count changes (docs/diff.md lists the reports).
//
// A survivor is a common row whose old and new section are both kept. Any other row goes with its section, comes with
// its section, or is deleted and inserted; so no operation on an item ever falls into a section that comes or goes.

extension ChangesetView {
    func writeStaged(_ staging: Staging, into writer: inout JSONWriter) {
        let plan = StagePlan(self)
        writer.append(byte: UInt8(ascii: "["))
        var list = JSONList()
        writeUpdates(plan, &list, &writer)
        if staging == .compact, plan.mergesItems {
            writeMergedItems(plan, &list, &writer)
        } else if staging == .compact, plan.mergesSections {
            writeMergedSections(plan, &list, &writer)
        } else {
            writeDeletes(plan, &list, &writer)
            writeSections(plan, &list, &writer)
            writeItems(plan, &list, &writer)
        }
        writeHeaders(plan, &list, &writer)
        writer.append(byte: UInt8(ascii: "]"))
    }

    // MARK: Stages

    private func writeUpdates(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("updates", counts: old.sections.indices.lazy.map { old.rows(ofSection: $0).count }, &list, &writer) {
            (batch, writer) in
            for oldRow in 0..<old.rowCount where plan.survives(oldRow: oldRow) && isUpdated(row: newRow(of: oldRow)) {
                self.list(updatedRow: newRow(of: oldRow), &batch, &writer, namesBoth: false)
            }
        }
    }

    private func writeDeletes(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("deletes", counts: plan.keptInOldOrder.lazy.map { plan.survivors[$0] }, &list, &writer) {
            (batch, writer) in
            listDeletedSections(&batch, &writer)
            listDeletedRows(plan, &batch, &writer)
        }
    }

    private func writeSections(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("sections", counts: new.sections.indices.lazy.map { plan.countAfterSections($0, self) }, &list, &writer) {
            (batch, writer) in
            listInsertedSections(&batch, &writer)
            listMovedSections(&batch, &writer) { plan.placeAmongKept[$0] }
        }
    }

    private func writeItems(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("items", counts: finalCounts, &list, &writer) { (batch, writer) in
            listInsertedRows(plan, &batch, &writer)
            listMovedRows(plan, &batch, &writer) { oldRow, writer in
                let oldSection = section(ofOldRow: oldRow)
                writer.append(path: newSection(of: oldSection), plan.placeAmongSurvivors[oldRow])
            }
        }
    }

    private func writeHeaders(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("headers", counts: finalCounts, &list, &writer) { (batch, writer) in
            listUpdatedSections(&batch, &writer, namesBoth: false)
        }
    }

    /// Stages 2 and 4 as one: sections keep their places, so old and final indexes speak of the same sections.
    private func writeMergedItems(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("items", counts: finalCounts, &list, &writer) { (batch, writer) in
            listDeletedRows(plan, &batch, &writer)
            listInsertedRows(plan, &batch, &writer)
            listMovedRows(plan, &batch, &writer) { append(oldPath: $0, to: &$1) }
        }
    }

    /// Stages 2 and 3 as one: no item moves between them.
    private func writeMergedSections(_ plan: StagePlan, _ list: inout JSONList, _ writer: inout JSONWriter) {
        write("sections", counts: finalCounts, &list, &writer) { (batch, writer) in
            listDeletedSections(&batch, &writer)
            listInsertedSections(&batch, &writer)
            listMovedSections(&batch, &writer) { $0 }
        }
    }

    private var finalCounts: [Int] { new.sections.indices.map { new.rows(ofSection: $0).count } }

    /// Writes a stage, or nothing if `body` lists nothing.
    private func write(
        _ name: StaticString, counts: some Collection<Int>, _ list: inout JSONList, _ writer: inout JSONWriter,
        _ body: (inout BatchWriter, inout JSONWriter) -> Void
    ) {
        let (start, before) = (writer.count, list)
        list.separate(&writer)
        writer.append("{\"name\":\"")
        writer.append(name)
        writer.append("\",\"counts\":[")
        var separator = JSONList()
        for count in counts {
            separator.separate(&writer)
            writer.append(count)
        }
        writer.append(byte: UInt8(ascii: "]"))
        var batch = BatchWriter(follows: true)
        body(&batch, &writer)
        batch.close(&writer)
        writer.append(byte: UInt8(ascii: "}"))
        guard batch.wroteNothing else { return }
        writer.truncate(to: start)
        list = before
    }

    // MARK: Lists

    private func listInsertedSections(_ batch: inout BatchWriter, _ writer: inout JSONWriter) {
        listInsertedSections(&batch, &writer) { append(section: $0, to: &$1) { _ in true } }
    }

    private func listDeletedRows(_ plan: StagePlan, _ batch: inout BatchWriter, _ writer: inout JSONWriter) {
        for section in old.sections.indices where !isGone(oldSection: section) {
            for row in old.rows(ofSection: section) where !plan.survives(oldRow: row) {
                list(deletedRow: row, &batch, &writer)
            }
        }
    }

    private func listInsertedRows(_ plan: StagePlan, _ batch: inout BatchWriter, _ writer: inout JSONWriter) {
        for section in new.sections.indices where !isNew(section: section) {
            for row in new.rows(ofSection: section) where !plan.survives(row: row, self) {
                list(insertedRow: row, &batch, &writer)
            }
        }
    }

    private func listMovedRows(
        _ plan: StagePlan, _ batch: inout BatchWriter, _ writer: inout JSONWriter,
        from: (Int, inout JSONWriter) -> Void
    ) {
        for row in 0..<new.rowCount where plan.survives(row: row, self) && !stays(row: row) {
            list(movedRow: row, &batch, &writer, from: from)
        }
    }
}

/// Which rows survive, and where they stand between the stages.
private struct StagePlan {
    /// Index among the survivors of its section, by old row; -1 for the others.
    let placeAmongSurvivors: [Int]
    /// Survivors of each old section.
    let survivors: [Int]
    let keptInOldOrder: [Int]
    /// Index of each old section once others are deleted.
    let placeAmongKept: [Int]
    /// Whether stages 2 and 4 both exist and may be one.
    let mergesItems: Bool
    /// Whether stages 2 and 3 both exist and may be one.
    let mergesSections: Bool

    init(_ changeset: ChangesetView) {
        var places = [Int](repeating: -1, count: changeset.old.rowCount)
        var survivors = [Int](repeating: 0, count: changeset.old.sections.count)
        var (deletesRows, placesRows) = (false, false)
        for section in changeset.old.sections.indices where !changeset.isGone(oldSection: section) {
            for row in changeset.old.rows(ofSection: section) {
                let newRow = changeset.newRow(of: row)
                guard newRow >= 0, !changeset.isNew(section: changeset.section(ofRow: newRow)) else {
                    deletesRows = true
                    continue
                }
                places[row] = survivors[section]
                survivors[section] += 1
                if !changeset.stays(row: newRow) { placesRows = true }
            }
        }
        placeAmongSurvivors = places
        self.survivors = survivors
        let kept = changeset.old.sections.indices.filter { !changeset.isGone(oldSection: $0) }
        keptInOldOrder = kept
        var amongKept = [Int](repeating: -1, count: changeset.old.sections.count)
        for (place, section) in kept.enumerated() { amongKept[section] = place }
        placeAmongKept = amongKept

        let deletesSections = kept.count < changeset.old.sections.count
        let insertsSections = changeset.new.sections.indices.contains { changeset.isNew(section: $0) }
        let movesSections = changeset.new.sections.indices.contains {
            !changeset.isNew(section: $0) && !changeset.stays(section: $0)
        }
        if !placesRows {
            for section in changeset.new.sections.indices where !changeset.isNew(section: section) {
                let rows = changeset.new.rows(ofSection: section)
                if rows.contains(where: { changeset.isNew(row: $0) || places[changeset.oldRow(of: $0)] < 0 }) {
                    placesRows = true
                }
            }
        }
        mergesItems = deletesRows && placesRows && !deletesSections && !insertsSections && !movesSections
        mergesSections = deletesSections && insertsSections && !movesSections && !deletesRows && !placesRows
    }

    func survives(oldRow: Int) -> Bool { placeAmongSurvivors[oldRow] >= 0 }

    func survives(row: Int, _ changeset: ChangesetView) -> Bool {
        !changeset.isNew(row: row) && placeAmongSurvivors[changeset.oldRow(of: row)] >= 0
    }

    func countAfterSections(_ section: Int, _ changeset: ChangesetView) -> Int {
        changeset.isNew(section: section)
            ? changeset.new.rows(ofSection: section).count : survivors[changeset.oldSection(of: section)]
    }
}
