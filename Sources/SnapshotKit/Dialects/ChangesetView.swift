/// A changeset with both states as memory, and what the dialects' writers share.
struct ChangesetView {
    let change: Changeset
    let old: ColumnsView
    let new: ColumnsView
    let style: ContentStyle

    func isNew(row: Int) -> Bool { change.oldRowOfNew[row] < 0 }
    func isGone(oldRow: Int) -> Bool { change.newRowOfOld[oldRow] < 0 }
    func stays(row: Int) -> Bool { change.rowChanges[row].contains(.stays) }
    func moves(row: Int) -> Bool { !stays(row: row) && !isNew(row: row) }
    func isUpdated(row: Int) -> Bool { change.rowChanges[row].contains(.updated) }
    func redraw(row: Int) -> Marks.Redraw { change.rowChanges[row].redraw }
    func oldRow(of row: Int) -> Int { Int(change.oldRowOfNew[row]) }
    func newRow(of oldRow: Int) -> Int { Int(change.newRowOfOld[oldRow]) }

    func isNew(section: Int) -> Bool { change.sections.oldOfNew[section] < 0 }
    func isGone(oldSection: Int) -> Bool { change.sections.newOfOld[oldSection] < 0 }
    func moves(section: Int) -> Bool { !stays(section: section) && !isNew(section: section) }
    func stays(section: Int) -> Bool { change.sectionChanges[section].contains(.stays) }
    func isUpdated(section: Int) -> Bool { change.sectionChanges[section].contains(.updated) }
    func redraw(section: Int) -> Marks.Redraw { change.sectionChanges[section].redraw }
    func oldSection(of section: Int) -> Int { Int(change.sections.oldOfNew[section]) }
    func newSection(of oldSection: Int) -> Int { Int(change.sections.newOfOld[oldSection]) }

    func section(ofOldRow row: Int) -> Int { Int(old.nodes[old.item(ofRow: row)].section) }
    func section(ofRow row: Int) -> Int { Int(new.nodes[new.item(ofRow: row)].section) }

    func id(ofRow row: Int) -> IDText { new.id(ofItem: new.item(ofRow: row)) }

    func append(row: Int, to writer: inout JSONWriter) { writer.append(item: new.item(ofRow: row), of: new) }

    /// A common row, with the members of an update; a new one, whole.
    func append(updatedRow row: Int, to writer: inout JSONWriter) {
        if isNew(row: row) { return append(row: row, to: &writer) }
        writer.append(
            item: new.item(ofRow: row), of: new, hadParent: old.nodes[old.item(ofRow: oldRow(of: row))].parent >= 0,
            contentOf: style == .full ? nil : self)
    }

    /// A common section, with the members of an update; a new one, whole.
    func append(updatedSection section: Int, to writer: inout JSONWriter) {
        writer.append(openSection: section, of: new) { appendChange(ofSection: section, to: &$0) }
        writer.append("}")
    }

    /// A section with those of its rows that `includes` names.
    func append(section: Int, to writer: inout JSONWriter, rows includes: (Int) -> Bool) {
        writer.append(openSection: section, of: new)
        writer.append(",\"items\":[")
        for row in new.rows(ofSection: section) where includes(row) {
            writer.separate()
            append(row: row, to: &writer)
        }
        writer.append("]}")
    }

    /// Appends what has changed of a common item's content. Appends nothing and returns false if the whole is needed.
    func appendChange(ofItem item: Int, to writer: inout JSONWriter) -> Bool {
        let oldItem = Int(change.items.oldOfNew[item])
        guard change.patchesItems, oldItem >= 0, old.nodes[oldItem].flags.contains(.hasContent) else { return false }
        return ContentChange(
            old: old.content(ofItem: oldItem), new: new.content(ofItem: item), ignored: change.ignored,
            grown: change.shared.grown[item]
        ).append(style, to: &writer)
    }

    private func appendChange(ofSection section: Int, to writer: inout JSONWriter) -> Bool {
        let oldSection = oldSection(of: section)
        guard oldSection >= 0, old.sections[oldSection].flags.contains(.hasContent) else { return false }
        return ContentChange(
            old: old.content(ofSection: oldSection), new: new.content(ofSection: section), ignored: .none
        ).append(style, to: &writer)
    }

    /// The list's own content, which has changed: `{}` if there is none any more.
    func appendList(to writer: inout JSONWriter) {
        writer.append("{")
        let change = ContentChange(old: old.listContent, new: new.listContent, ignored: .none)
        if !change.new.isEmpty, !change.append(style, to: &writer) { writer.emit("\"content\":", change.new) }
        writer.append("}")
    }
}

extension Changeset.RowChange {
    fileprivate var redraw: Marks.Redraw { contains(.reload) ? .reload : .reconfigure }
}

extension Marks.Redraw {
    var member: StaticString { self == .reload ? ",\"as\":\"reload\"" : ",\"as\":\"reconfigure\"" }
}
