// Where an edit puts its operands: first as the edit says it, as a parent and a spot in it; then as a gap before a
// sibling. The gap is found once what moves is taken out, so that the sibling is never one that moves too.

extension EditedState {
    /// Where an edit puts its operands, as it says it.
    struct Target {
        enum Spot {
            case at(Edit.End)
            case before(Int), after(Int)
        }

        var parent: Int
        var spot: Spot
    }

    /// The gap between two siblings: before `next`, or at the end.
    struct Gap {
        var parent: Int
        var next = EditedTree.none
    }

    func gap(_ target: Target) -> Gap {
        switch target.spot {
        case .at(.start): Gap(parent: target.parent, next: tree.first(in: target.parent))
        case .at(.end): Gap(parent: target.parent)
        case .before(let sibling): Gap(parent: target.parent, next: sibling)
        case .after(let sibling): Gap(parent: target.parent, next: tree.next(after: sibling))
        }
    }

    /// Where the edit puts its operands, of which `moved` are in the tree; nil, with a violation noted, if there is no
    /// such place.
    func target(moved: Set<Int>, _ violations: inout Violations) -> Target? {
        let place = batch.pointer(toEdit: index)
        switch edit.destination {
        case .before(let id):
            return sibling(id, moved, at: place + "/before", &violations).map {
                Target(parent: tree.parent(of: $0), spot: .before($0))
            }
        case .after(let id):
            return sibling(id, moved, at: place + "/after", &violations).map {
                Target(parent: tree.parent(of: $0), spot: .after($0))
            }
        case .into(let parent, let end):
            return find(parent, at: place + "/into", &violations).map { Target(parent: $0, spot: .at(end)) }
        case .at(let end):
            if edit.subject == .sections { return Target(parent: EditedTree.root, spot: .at(end)) }
            let section = end == .start ? tree.first(in: EditedTree.root) : tree.last(in: EditedTree.root)
            if section >= 0 { return Target(parent: section, spot: .at(end)) }
            violations.note("no-section", "there is no section to put items into; insert one first", at: place)
            return nil
        }
    }

    /// The sibling that the edit names.
    private func sibling(
        _ id: EditID, _ moved: Set<Int>, at pointer: String, _ violations: inout Violations
    ) -> Int? {
        let subject = edit.subject ?? .items
        let found = find(subject, id)
        if let found, !moved.contains(found) { return found }
        if found != nil || (edit.operation == .insert && inserts(id)) {
            violations.note("anchor-in-batch", "\"\(shown(id))\" is placed by this edit itself", at: pointer)
        } else {
            violations.note(
                "anchor-not-found", "none of the \(subject.rawValue) has the id \"\(shown(id))\"", at: pointer)
        }
        return nil
    }

    /// The section or item that the edit names as a parent.
    private func find(_ parent: Edit.Parent, at pointer: String, _ violations: inout Violations) -> Int? {
        let section = parent.subject == .items ? nil : find(.sections, parent.id)
        let item = parent.subject == .sections ? nil : find(.items, parent.id)
        guard section == nil || item == nil else {
            violations.note(
                "ambiguous-id",
                "a section and an item have the id \"\(shown(parent.id))\": say {\"section\":…} or {\"item\":…}",
                at: pointer)
            return nil
        }
        if section == nil, item == nil {
            let member = parent.subject.map { $0 == .items ? "/item" : "/section" } ?? ""
            violations.note(
                "unknown-id", "no section or item has the id \"\(shown(parent.id))\"", at: pointer + member)
        }
        return section ?? item
    }
}
