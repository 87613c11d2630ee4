// Swift's own difference: removals by index in the old list, insertions by index in the new one, and a move as one of
// each that name each other. It covers one list at a time, and no updates: a row that moves to another section is a
// plain removal in one and a plain insertion in the other.

extension Changeset {
    /// The difference of the ids of all rows, over all sections in order, with the fewest moves possible for that list.
    /// O(n log n).
    ///
    /// Applied to the old ids it gives the new ones; `inverse()` leads back.
    public func collectionDifference() -> CollectionDifference<ElementID> {
        difference(oldRows: 0..<old.rowCount, newRows: 0..<new.rowCount)
    }

    /// The difference of the sections' ids. O(n log n).
    public func sectionDifference() -> CollectionDifference<ElementID> {
        old.withView { oldView in
            new.withView { newView in
                difference(
                    sections.newOfOld, sections.oldOfNew, stays: { sectionChanges[$0].contains(.stays) },
                    oldID: { ElementID(oldView.id(ofSection: $0)) }, newID: { ElementID(newView.id(ofSection: $0)) })
            }
        }
    }

    /// The difference of the rows' ids within a section that both states have; nil for any other. O(n log n) in its
    /// rows.
    public func rowDifference(inSection id: ElementID) -> CollectionDifference<ElementID>? {
        let find = { (columns: Columns) in Array(id.text.utf8).withUnsafeBytes(columns.section(withID:)) }
        guard let newSection = find(new), sections.oldOfNew[newSection] >= 0 else { return nil }
        let (before, after) = (old.sections[Int(sections.oldOfNew[newSection])], new.sections[newSection])
        return difference(
            oldRows: Int(before.firstRow)..<Int(before.endRow), newRows: Int(after.firstRow)..<Int(after.endRow))
    }

    private func difference(oldRows: Range<Int>, newRows: Range<Int>) -> CollectionDifference<ElementID> {
        let partner = { (row: Int32, rows: Range<Int>) -> Int32 in
            rows.contains(Int(row)) ? row - Int32(truncatingIfNeeded: rows.lowerBound) : -1
        }
        let oldOfNew = oldRowOfNew[newRows].map { partner($0, oldRows) }
        let newOfOld = newRowOfOld[oldRows].map { partner($0, newRows) }
        let stays = IncreasingRun.longest(of: oldOfNew)
        return old.withView { oldView in
            new.withView { newView in
                difference(
                    newOfOld, oldOfNew, stays: { stays[$0] },
                    oldID: { ElementID(oldView.id(ofItem: oldView.item(ofRow: oldRows.lowerBound + $0))) },
                    newID: { ElementID(newView.id(ofItem: newView.item(ofRow: newRows.lowerBound + $0))) })
            }
        }
    }

    private func difference(
        _ newOfOld: [Int32], _ oldOfNew: [Int32], stays: (Int) -> Bool, oldID: (Int) -> ElementID,
        newID: (Int) -> ElementID
    ) -> CollectionDifference<ElementID> {
        var changes: [CollectionDifference<ElementID>.Change] = []
        for (index, partner) in newOfOld.enumerated() where partner < 0 || !stays(Int(partner)) {
            changes.append(
                .remove(offset: index, element: oldID(index), associatedWith: partner < 0 ? nil : Int(partner)))
        }
        for (index, partner) in oldOfNew.enumerated() where partner < 0 || !stays(index) {
            changes.append(
                .insert(offset: index, element: newID(index), associatedWith: partner < 0 ? nil : Int(partner)))
        }
        guard let difference = CollectionDifference(changes) else {
            preconditionFailure("each offset stands once, and moves name each other")
        }
        return difference
    }
}
