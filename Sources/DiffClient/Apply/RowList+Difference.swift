// The difference of two lists, for views that need one. The engine compares two states with an item for each row and no
// contents; rows that look different are marked. Its changes are read like an answer of the server; then rows replace
// the bare items in the lists of its stages.

import SnapshotKit

extension RowList {
    /// The change from this list to another, with the fewest operations, and with what else to draw again. O(n log n).
    func change(to next: RowList, in form: ListClient.Form, marks: Marks = .none) -> ListUpdate.Change {
        if case .keyed = form { return .keyed }
        do {
            let (mine, theirs) = (Elements(of: self), Elements(of: next))
            var marks = marks
            for (id, row) in theirs.rows where mine.rows[id] ?? row != row { marks.mark(item: id.utf8, .reconfigure) }
            for (id, section) in theirs.sections where mine.sections[id] ?? section != section {
                marks.mark(section: id.utf8, .reconfigure)
            }
            let old = try bare()
            let changeset = Changeset(from: old, to: try next.bare(), marks: marks)
            guard case .staged(let isCompact) = form else {
                var arrangement = try RowList(old).arrangement(changeset.json(.diffable))
                arrangement.list = next
                return .diffable(arrangement)
            }
            let stages = try RowList(old).stages(changeset.json(.staged, staging: isCompact ? .compact : .safe))
            var shown = theirs
            shown.rows.merge(mine.rows) { $1 }
            shown.sections.merge(mine.sections) { $1 }
            return .staged(
                stages.map { stage in
                    for (id, _) in stage.redrawnRows { shown.rows[id] = theirs.rows[id] }
                    for (id, _) in stage.redrawnSections { shown.sections[id] = theirs.sections[id] }
                    let sections = stage.list.sections.map { section in
                        var filled = shown.sections[section.id] ?? section
                        filled.rows = section.rows.map { shown.rows[$0.id] ?? $0 }
                        return filled
                    }
                    let list = RowList(content: next.content, sections: sections)
                    return ListStage(name: stage.name, batch: stage.batch, list: list)
                })
        } catch {
            // Two lists with unique ids always have a difference, and a reset is right in any case.
            assertionFailure("\(error)")
            return .reset(reason: "unknown")
        }
    }

    /// A state with an item for each row, and no contents.
    private func bare() throws(StateError) -> Snapshot {
        var builder = Snapshot.Builder()
        for section in sections {
            builder.section(section.id) { items in
                for row in section.rows { items.item(row.id, kind: row.kind) }
            }
        }
        return try builder.build()
    }
}

extension FollowedList.Outcome {
    /// What an answer says to redraw beyond the difference of the lists: rows and sections that are equal before and
    /// after, and cells to be replaced.
    func marks(from before: RowList, to after: RowList) -> Marks {
        var (rows, sections): ([ListStage.Redrawn], [ListStage.Redrawn]) = ([], [])
        switch self {
        case .changed(let stages): (rows, sections) = (stages.flatMap(\.redrawnRows), stages.flatMap(\.redrawnSections))
        case .arranged(let arrangement):
            rows = arrangement.reload.map { ($0, .reload) } + arrangement.reconfigure.map { ($0, .reconfigure) }
            sections = arrangement.reloadSections.map { ($0, .reload) }
            sections += arrangement.reconfigureSections.map { ($0, .reconfigure) }
        case .replaced, .current, .elsewhere: break
        }
        let (old, new) = (Elements(of: before), Elements(of: after))
        var marks = Marks.none
        for (id, redraw) in rows where redraw == .reload || old.rows[id] == new.rows[id] {
            marks.mark(item: id.utf8, redraw)
        }
        for (id, redraw) in sections where redraw == .reload || old.sections[id] == new.sections[id] {
            marks.mark(section: id.utf8, redraw)
        }
        return marks
    }
}

extension ListStage {
    fileprivate typealias Redrawn = (id: ElementID, redraw: Marks.Redraw)

    fileprivate var redrawnRows: [Redrawn] { batch.items.updated.map { (list[$0.at].id, $0.redraw) } }
    fileprivate var redrawnSections: [Redrawn] { batch.sections.updated.map { (list.sections[$0.at].id, $0.redraw) } }
}

extension ElementID {
    fileprivate var utf8: [UInt8] { Array(text.utf8) }
}
