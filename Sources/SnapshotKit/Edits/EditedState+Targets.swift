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

    /// Where the edit puts its operands, of which `moved` are in the tree; nil if there is no such position, with a
    /// violation noted, or if it is in doubt.
    func target(moved: Set<Int>, _ violations: inout Violations) -> Target? {
        switch edit.destination {
        case .beside(let anchors):
            let (subject, isBefore) = (edit.subject ?? .items, anchors.side == .before)
            for id in batch.ids[anchors.ids] {
                if isDoubtful(id, subject) { return nil }
                guard let sibling = find(subject, id), !moved.contains(sibling) else { continue }
                return Target(parent: tree.parent(of: sibling), position: isBefore ? .before(sibling) : .after(sibling))
            }
            if anchors.endsOpen { return self.end(isBefore ? .end : .start, &violations) }
            noteMissing(anchors, &violations)
            return nil
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

    /// Notes that none of the siblings that the edit names is there.
    private func noteMissing(_ anchors: Edit.Anchors, _ violations: inout Violations) {
        let subject = edit.subject ?? .items
        guard let id = batch.ids[anchors.ids].first else { return }
        let place = batch.place(of: id, levelsUp: anchors.isList ? 1 : 0)
        if anchors.isList {
            violations.note("anchor-not-found", "none of the \(subject.rawValue) has one of these ids", at: place)
        } else if find(subject, id) != nil || (edit.operation == .insert && inserts(id)) {
            violations.note("anchor-in-batch", "\"\(shown(id))\" is placed by this same edit", at: place)
        } else {
            violations.note(
                "anchor-not-found", "none of the \(subject.rawValue) has the id \"\(shown(id))\"", at: place)
        }
    }

    /// The section or item that the edit names as a parent.
    private func find(_ parent: Edit.Parent, _ violations: inout Violations) -> Int? {
        if parent.subject != .items, isDoubtful(parent.id, .sections) { return nil }
        if parent.subject != .sections, isDoubtful(parent.id, .items) { return nil }
        let section = parent.subject == .items ? nil : find(.sections, parent.id)
        let item = parent.subject == .sections ? nil : find(.items, parent.id)
        if section != nil, item != nil {
            violations.note(
                "ambiguous-id",
                "both a section and an item have the id \"\(shown(parent.id))\": use {\"section\":…} or {\"item\":…}",
                at: batch.place(of: parent.id))
            return nil
        }
        if section == nil, item == nil {
            violations.note(
                "unknown-id", "no section or item has the id \"\(shown(parent.id))\"", at: batch.place(of: parent.id))
        }
        return section ?? item
    }
}
