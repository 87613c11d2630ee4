// Where an edit puts its operands: first in the edit's words, as a parent and a spot in it; then as a gap before a
// sibling. The gap is found after the moving vertices are taken out, so the sibling is never one of them.

extension EditedState {
    /// Where an edit puts its operands, in its own words.
    struct Target {
        enum Position {
            case at(Edit.End)
            case before(Int), after(Int)
        }

        var parent: Int
        var position: Position
    }

    /// The gap between two siblings: before `next`, or at the end.
    struct Gap {
        var parent: Int
        var next = EditedTree.none
    }

    func gap(_ target: Target) -> Gap {
        switch target.position {
        case .at(.start): Gap(parent: target.parent, next: tree.first(in: target.parent))
        case .at(.end): Gap(parent: target.parent)
        case .before(let sibling): Gap(parent: target.parent, next: sibling)
        case .after(let sibling): Gap(parent: target.parent, next: tree.next(after: sibling))
        }
    }

    /// Where the edit puts its operands, of which `moved` are in the tree; nil, with a violation noted, if there is no
    /// such place.
    func target(moved: Set<Int>, _ violations: inout Violations) -> Target? {
        switch edit.destination {
        case .beside(let anchors):
            if let sibling = sibling(anchors, moved, &violations) {
                return Target(
                    parent: tree.parent(of: sibling),
                    position: anchors.side == .before ? .before(sibling) : .after(sibling))
            }
            return anchors.endsOpen ? self.end(anchors.side == .before ? .end : .start, &violations) : nil
        case .into(let parent, let end): return find(parent, &violations).map { Target(parent: $0, position: .at(end)) }
        case .at(let end): return self.end(end, &violations)
        }
    }

    /// The start or the end of the sections; for items, of the first or the last section.
    private func end(_ end: Edit.End, _ violations: inout Violations) -> Target? {
        if edit.subject == .sections { return Target(parent: EditedTree.root, position: .at(end)) }
        let section = end == .start ? tree.first(in: EditedTree.root) : tree.last(in: EditedTree.root)
        if section >= 0 { return Target(parent: section, position: .at(end)) }
        if doubts.isNone {
            violations.note(
                "no-section", "there is no section to put items into; insert one first", at: DocumentPlace(edit.offset))
        }
        return nil
    }

    /// The first existing sibling of those that the edit names.
    private func sibling(_ anchors: Edit.Anchors, _ moved: Set<Int>, _ violations: inout Violations) -> Int? {
        let subject = edit.subject ?? .items
        let ids = batch.ids[anchors.ids]
        for id in ids { if let found = find(subject, id), !moved.contains(found) { return found } }
        guard let id = ids.first, !anchors.endsOpen, !ids.contains(where: { isDoubtful($0, subject) }) else {
            return nil
        }
        let place = batch.place(of: id, levelsUp: anchors.isList ? 1 : 0)
        if anchors.isList {
            violations.note("anchor-not-found", "none of the \(subject.rawValue) has one of these ids", at: place)
        } else if find(subject, id) != nil || (edit.operation == .insert && inserts(id)) {
            violations.note("anchor-in-batch", "\"\(shown(id))\" is placed by this same edit", at: place)
        } else {
            violations.note(
                "anchor-not-found", "none of the \(subject.rawValue) has the id \"\(shown(id))\"", at: place)
        }
        return nil
    }

    /// The section or item that the edit names as a parent.
    private func find(_ parent: Edit.Parent, _ violations: inout Violations) -> Int? {
        let section = parent.subject == .items ? nil : find(.sections, parent.id)
        let item = parent.subject == .sections ? nil : find(.items, parent.id)
        if let section, let item {
            if isDoubtful(section) || isDoubtful(item) { return nil }
            violations.note(
                "ambiguous-id",
                "both a section and an item have the id \"\(shown(parent.id))\": use {\"section\":…} or {\"item\":…}",
                at: batch.place(of: parent.id))
            return nil
        }
        if section == nil, item == nil, !isDoubtful(parent.id, .sections), !isDoubtful(parent.id, .items) {
            violations.note(
                "unknown-id", "no section or item has the id \"\(shown(parent.id))\"", at: batch.place(of: parent.id))
        }
        return section ?? item
    }
}
