// The difference of two lists, for views that need one. The engine compares two states with an item for each row and no
// contents, except that rows that look different are marked by a content in the new state. Its changes are read like an
// answer of the server, and in the lists of its stages, rows replace their items.

import SnapshotKit

extension RowList {
    /// The change from this list to another, with the fewest operations. O(n log n).
    ///
    /// - Parameter marks: what else to draw again.
    func change(to next: RowList, in form: ListClient.Form, marks: Marks = .none) -> ListUpdate.Change {
        if case .keyed = form { return .keyed }
        do {
            let (mine, theirs) = (Elements(of: self), Elements(of: next))
            let old = try state(marking: [], sections: [])
            let new = try next.state(
                marking: Set(theirs.rows.filter { id, row in mine.rows[id].map { $0 != row } ?? false }.keys),
                sections: Set(theirs.sections.filter { id, it in mine.sections[id].map { $0 != it } ?? false }.keys))
            let changeset = Changeset(from: old, to: new, marks: marks)
            guard case .staged(let isCompact) = form else {
                var arrangement = try RowList(old).arrangement(changeset.json(.diffable))
                arrangement.list = next
                return .diffable(arrangement)
            }
            let stages = try RowList(old).stages(changeset.json(.staged, staging: isCompact ? .compact : .safe))
            return .staged(
                stages.map { stage in
                    var list = stage.list
                    list.content = next.content
                    list.sections = list.sections.map { section in
                        let old = section.content == nil ? mine.sections[section.id] : nil
                        var shown = old ?? theirs.sections[section.id] ?? section
                        shown.rows = section.rows.map { row in
                            let old = row.content == nil ? mine.rows[row.id] : nil
                            return old ?? theirs.rows[row.id] ?? row
                        }
                        return shown
                    }
                    return ListStage(name: stage.name, batch: stage.batch, list: list)
                })
        } catch {
            // Two lists with unique ids always have a difference, and a reset is right in any case.
            assertionFailure("\(error)")
            return .reset(reason: "unknown")
        }
    }

    /// A state with an item for each row; marked ones have a content.
    private func state(
        marking marked: Set<ElementID>, sections markedSections: Set<ElementID>
    ) throws(StateError) -> Snapshot {
        let mark = JSONText(accepted: "1".utf8)
        var builder = Snapshot.Builder()
        for section in sections {
            builder.section(section.id, content: markedSections.contains(section.id) ? mark : nil) { items in
                for row in section.rows {
                    items.item(row.id, content: marked.contains(row.id) ? mark : nil, kind: row.kind)
                }
            }
        }
        return try builder.build()
    }
}

/// Rows, and sections without them, by id.
struct Elements {
    var rows: [ElementID: RowList.Row] = [:]
    var sections: [ElementID: RowList.Section] = [:]

    init(of list: RowList) {
        for var section in list.sections {
            for row in section.rows { rows[row.id] = row }
            section.rows = []
            sections[section.id] = section
        }
    }
}

extension FollowedList.Outcome {
    /// What an answer says to draw again that the difference of the lists does not tell: rows and sections that are
    /// equal before and after, and cells to be replaced.
    func marks(from before: RowList, to after: RowList) -> Marks {
        var marks = Marks.none
        let (old, new) = (Elements(of: before), Elements(of: after))
        func mark(row id: ElementID, _ redraw: Marks.Redraw) {
            if redraw == .reload || old.rows[id] == new.rows[id] { marks.mark(item: Array(id.text.utf8), redraw) }
        }
        func mark(section id: ElementID, _ redraw: Marks.Redraw) {
            if redraw == .reload || old.sections[id] == new.sections[id] {
                marks.mark(section: Array(id.text.utf8), redraw)
            }
        }
        switch self {
        case .changed(let stages):
            for stage in stages {
                for update in stage.batch.items.updated { mark(row: stage.list[update.at].id, update.redraw) }
                for update in stage.batch.sections.updated {
                    mark(section: stage.list.sections[update.at].id, update.redraw)
                }
            }
        case .arranged(let arrangement):
            for id in arrangement.reload { mark(row: id, .reload) }
            for id in arrangement.reconfigure { mark(row: id, .reconfigure) }
            for id in arrangement.reloadSections { mark(section: id, .reload) }
            for id in arrangement.reconfigureSections { mark(section: id, .reconfigure) }
        case .replaced, .current, .elsewhere: break
        }
        return marks
    }
}
