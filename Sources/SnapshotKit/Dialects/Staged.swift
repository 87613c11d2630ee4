// At most five batches, each one `performBatchUpdates` that UITableView and UICollectionView accept. Each border is
// there because crossing it crashed somebody: reloads among moves, section deletes among section moves, item operations
// in sections that move, reloads of sections whose count changes (docs/diff.md lists the reports).
//
// A survivor is a common row whose old and new section are both kept. Any other row goes with its section, comes with
// its section, or is deleted and inserted; so no operation on an item ever falls into a section that comes or goes.

extension ChangesetView {
    func writeStaged(_ staging: Staging, into writer: inout JSONWriter) {
        writer.append("[")
        let plan = StagePlan(self)
        var stages = BatchWriter(isStage: true, exchange(&writer, with: JSONWriter(capacity: 0)))
        let finalCounts = new.sections.indices.map { new.rows(ofSection: $0).count }

        stages.write("updates", counts: old.sections.indices.map { old.rows(ofSection: $0).count }) { stage in
            for oldRow in 0..<old.rowCount where plan.survives(oldRow: oldRow) && isUpdated(row: newRow(of: oldRow)) {
                list(updatedRow: newRow(of: oldRow), &stage)
            }
        }
        if staging == .compact, mergesItems {
            // Stages 2 and 4 as one: sections stay where they are, so old and final indexes name the same sections.
            stages.write("items", counts: finalCounts) { stage in
                listDeletedRows(plan, &stage)
                listInsertedRows(plan, &stage)
                for row in 0..<new.rowCount where moves(row: row) { list(movedRow: row, &stage) }
            }
        } else if staging == .compact, mergesSections(plan) {
            // Stages 2 and 3 as one: no item moves between them.
            stages.write("sections", counts: finalCounts) { stage in
                listDeletedSections(&stage)
                listInsertedSections(&stage)
            }
        } else {
            let kept = old.sections.indices.filter { !isGone(oldSection: $0) }
            stages.write("deletes", counts: kept.map { plan.survivors[$0] }) { stage in
                listDeletedSections(&stage)
                listDeletedRows(plan, &stage)
            }
            let counts = new.sections.indices.map {
                isNew(section: $0) ? finalCounts[$0] : plan.survivors[oldSection(of: $0)]
            }
            stages.write("sections", counts: counts) { stage in
                listInsertedSections(&stage)
                listMovedSections(&stage) { section in kept.indices.partitionPoint { kept[$0] < section } }
            }
            stages.write("items", counts: finalCounts) { stage in
                listInsertedRows(plan, &stage)
                for row in 0..<new.rowCount where moves(row: row) && survives(row, plan) {
                    let oldRow = oldRow(of: row)
                    let section = newSection(of: section(ofOldRow: oldRow))
                    list(movedRow: row, &stage, from: (section, plan.indexAmongSurvivors[oldRow]))
                }
            }
        }
        stages.write("headers", counts: finalCounts) { listUpdatedSections(&$0) }
        stages.writer.append("]")
        writer = stages.writer
    }

    /// Whether stages 2 and 4 both exist and may be one: each row's section is kept.
    private var mergesItems: Bool {
        let (sections, items) = (change.sectionCounts, change.itemCounts)
        return sections.total == sections.updates && items.deletions > 0 && items.insertions + items.moves > 0
    }

    /// Whether stages 2 and 3 both exist and may be one: rows only come and go with their sections.
    private func mergesSections(_ plan: StagePlan) -> Bool {
        let counts = change.sectionCounts
        guard counts.deletions > 0, counts.insertions > 0, counts.moves == 0 else { return false }
        return old.sections.indices.allSatisfy { section in
            isGone(oldSection: section)
                || old.rows(ofSection: section).allSatisfy { plan.survives(oldRow: $0) && stays(row: newRow(of: $0)) }
                    && new.rows(ofSection: newSection(of: section)).allSatisfy { survives($0, plan) }
        }
    }

    private func survives(_ row: Int, _ plan: StagePlan) -> Bool {
        !isNew(row: row) && plan.survives(oldRow: oldRow(of: row))
    }

    private func listDeletedRows(_ plan: StagePlan, _ stage: inout BatchWriter) {
        for section in old.sections.indices where !isGone(oldSection: section) {
            for row in old.rows(ofSection: section) where !plan.survives(oldRow: row) { list(deletedRow: row, &stage) }
        }
    }

    private func listInsertedRows(_ plan: StagePlan, _ stage: inout BatchWriter) {
        for section in new.sections.indices where !isNew(section: section) {
            for row in new.rows(ofSection: section) where !survives(row, plan) { list(insertedRow: row, &stage) }
        }
    }
}

extension BatchWriter {
    /// Writes a stage, with the number of rows in each section after it; nothing if `body` lists nothing.
    fileprivate mutating func write(_ name: StaticString, counts: [Int], _ body: (inout BatchWriter) -> Void) {
        let start = writer.count
        writer.separate()
        writer.append("{\"name\":\"")
        writer.append(name)
        writer.append("\",\"counts\":")
        writer.append(array: counts) { $0.append($1) }
        body(&self)
        guard !isEmpty else { return writer.truncate(to: start) }
        close()
        writer.append("}")
    }
}

/// Which rows survive, and where they stand between the stages.
private struct StagePlan {
    /// Index among the survivors of its section, by old row; -1 for rows that do not survive.
    private(set) var indexAmongSurvivors: [Int]
    private(set) var survivors: [Int]

    init(_ changeset: ChangesetView) {
        indexAmongSurvivors = [Int](repeating: -1, count: changeset.old.rowCount)
        survivors = [Int](repeating: 0, count: changeset.old.sections.count)
        for section in changeset.old.sections.indices where !changeset.isGone(oldSection: section) {
            for row in changeset.old.rows(ofSection: section) where !changeset.isGone(oldRow: row) {
                if changeset.isNew(section: changeset.section(ofRow: changeset.newRow(of: row))) { continue }
                indexAmongSurvivors[row] = survivors[section]
                survivors[section] += 1
            }
        }
    }

    func survives(oldRow: Int) -> Bool { indexAmongSurvivors[oldRow] >= 0 }
}
