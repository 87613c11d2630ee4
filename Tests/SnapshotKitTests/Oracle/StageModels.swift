// The table of DIFF §4: what the model is after each stage of `staged`, and the fewest operations over its survivors.

/// What the safe stages must lead through.
struct StageModels {
    let afterUpdates: Rows
    let afterDeletes: Rows
    let afterSections: Rows
    let afterItems: Rows
    let target: Rows
    /// The fewest operations on items in kept sections.
    let items: Counts
    let sections: Counts
    /// Rows whose old and new section are both kept.
    let survivors: Set<Text>

    init(from old: Rows, to new: Rows) {
        let (oldSections, newSections) = (old.sectionPlaces, new.sectionPlaces)
        let isKept = { (id: Text) in oldSections[id] != nil && newSections[id] != nil }
        let newRows = new.byID
        let keptOld = Set(old.filter { isKept($0.id) }.flatMap(\.rows).map(\.id))
        let keptNew = Set(new.filter { isKept($0.id) }.flatMap(\.rows).map(\.id))
        let survivors = keptOld.intersection(keptNew)

        let updated = old.map { section in
            var section = section
            section.rows = section.rows.map { survivors.contains($0.id) ? newRows[$0.id] ?? $0 : $0 }
            return section
        }
        let deleted = updated.filter { isKept($0.id) }.map { section in
            var section = section
            section.rows.removeAll { !survivors.contains($0.id) }
            return section
        }
        let byID = Dictionary(uniqueKeysWithValues: deleted.map { ($0.id, $0) })
        self.survivors = survivors
        afterUpdates = updated
        afterDeletes = deleted
        afterSections = new.map { byID[$0.id] ?? $0 }
        afterItems = new.map { section in byID[section.id].map { section.dressed(as: $0) } ?? section }
        target = new

        let whole = RowMinimum(from: deleted, to: new.filter { isKept($0.id) })
        items = Counts(
            deletions: keptOld.count - survivors.count, insertions: keptNew.count - survivors.count,
            moves: whole.items.moves, updates: RowMinimum(from: old, to: new).changedRows.intersection(survivors).count)
        sections = RowMinimum(from: old, to: new).sections
    }

    /// The model after a stage of the safe staging; merged stages of the compact one end where their last part does.
    func model(after stage: String) -> Rows {
        switch stage {
        case "updates": afterUpdates
        case "deletes": afterDeletes
        case "sections": afterSections
        case "items": afterItems
        default: target
        }
    }
}
