// CONTRACT §5, written down as set arithmetic: the fewest operations on rows and sections, and which rows and sections
// differ.

/// The least that a changeset between two states in rows can do.
struct RowMinimum {
    let items: Counts
    let sections: Counts
    /// Rows, and sections, that stay and have the same index in both states; each as many as possible.
    let sameRows: Int
    let sameSections: Int
    /// Ids of what differs in both states.
    let changedRows: Set<Text>
    let changedSections: Set<Text>

    init(from old: Rows, to new: Rows) {
        let (oldPlaces, newPlaces) = (old.places, new.places)
        let (oldRows, newRows) = (old.byID, new.byID)
        let common = newRows.filter { oldRows[$0.key] != nil }
        changedRows = Set(common.filter { oldRows[$0.key] != $0.value }.keys)

        let oldSections = old.sectionPlaces
        let keptSections = new.enumerated().compactMap { new, section in
            oldSections[section.id].map { (old: $0, new: new) }
        }
        let sectionsThatStay = Keeping.best(of: keptSections)
        changedSections = Set(
            keptSections.filter { !old[$0.old].isSameSection(as: new[$0.new]) }.map { new[$0.new].id })

        var staying = Keeping()
        for section in keptSections {
            let best = Keeping.best(of: Self.rowsInBoth(old, oldPlaces, section.old, new[section.new]))
            staying.count += best.count
            staying.same += best.same
        }
        (sameRows, sameSections) = (staying.same, sectionsThatStay.same)
        items = Counts(
            deletions: oldPlaces.count - common.count, insertions: newPlaces.count - common.count,
            moves: common.count - staying.count, updates: changedRows.count)
        sections = Counts(
            deletions: old.count - keptSections.count, insertions: new.count - keptSections.count,
            moves: keptSections.count - sectionsThatStay.count, updates: changedSections.count)
    }

    /// Old and new index of each row that a kept section has in both states, in new order.
    private static func rowsInBoth(
        _ old: Rows, _ oldPlaces: [Text: (section: Int, row: Int)], _ oldSection: Int, _ new: RowSection
    ) -> [(old: Int, new: Int)] {
        new.rows.enumerated().compactMap { index, row in
            guard let place = oldPlaces[row.id], place.section == oldSection else { return nil }
            return (old: place.row, new: index)
        }
    }
}

/// The least on the flat list of `sequential`, headers included.
struct FlatMinimum {
    let removals: Int
    let insertions: Int
    let moves: Int
    /// Runs of neighbours among what goes and what comes.
    let removedRuns: Int
    let insertedRuns: Int

    init(from old: [FlatRow], to new: [FlatRow]) {
        let oldPlaces = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($0.element.key, $0.offset) })
        let newKeys = Set(new.map(\.key))
        let common = new.enumerated().compactMap { index, row in oldPlaces[row.key].map { (old: $0, new: index) } }
        removals = old.count - common.count
        insertions = new.count - common.count
        moves = common.count - Keeping.best(of: common).count
        removedRuns = Self.runs(old.map { !newKeys.contains($0.key) })
        insertedRuns = Self.runs(new.map { oldPlaces[$0.key] == nil })
    }

    /// Runs of true.
    static func runs(_ flags: [Bool]) -> Int { zip(flags, [false] + flags).count { $0 && !$1 } }
}
