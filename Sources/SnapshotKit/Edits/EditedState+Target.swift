// Where an edit puts its operands: first as it is said, a parent and a spot in it, then as a gap before a sibling. The
// gap is looked for once what moves is taken out, so that a sibling that moves itself is never the one that the others
// are put before.

extension EditedState {
    /// A place as an edit says it.
    struct Target {
        enum Spot {
            case start, end
            case before(Int), after(Int)
        }

        var parent: Int
        var spot: Spot
    }

    /// A place between two siblings: before `next`, or at the end.
    struct Gap {
        var parent: Int
        var next = EditedTree.none
    }

    func gap(_ target: Target) -> Gap {
        switch target.spot {
        case .start: Gap(parent: target.parent, next: tree.first(in: target.parent))
        case .end: Gap(parent: target.parent)
        case .before(let sibling): Gap(parent: target.parent, next: sibling)
        case .after(let sibling): Gap(parent: target.parent, next: tree.next(after: sibling))
        }
    }

    /// Where an edit puts its operands, of which `moved` are in the tree; nil, with a violation noted, if there is no
    /// such place.
    func target(of edit: Edit, _ index: Int, moved: Set<Int>, _ violations: inout Violations) -> Target? {
        let place = batch.pointer(toEdit: index)
        switch edit.place {
        case .before(let id):
            return sibling(id, edit, moved, at: place + "/before", &violations).map {
                Target(parent: tree.parent(of: $0), spot: .before($0))
            }
        case .after(let id):
            return sibling(id, edit, moved, at: place + "/after", &violations).map {
                Target(parent: tree.parent(of: $0), spot: .after($0))
            }
        case .into(let parent, let atStart):
            return find(parent, at: place + "/into", &violations).map {
                Target(parent: $0, spot: atStart ? .start : .end)
            }
        case .unsaid, .start, .end:
            let spot: Target.Spot = if case .start = edit.place { .start } else { .end }
            if edit.subject == .sections { return Target(parent: EditedTree.root, spot: spot) }
            let isStart = if case .start = spot { true } else { false }
            let section = isStart ? tree.first(in: EditedTree.root) : tree.last(in: EditedTree.root)
            if section >= 0 { return Target(parent: section, spot: spot) }
            violations.note("no-section", "there is no section to put items into; insert one first", at: place)
            return nil
        }
    }

    /// The sibling that an edit names.
    private func sibling(
        _ id: EditID, _ edit: Edit, _ moved: Set<Int>, at pointer: String, _ violations: inout Violations
    ) -> Int? {
        let subject = edit.subject ?? .items
        let found = find(subject, id)
        if let found, !moved.contains(found) { return found }
        if found != nil || (edit.operation == .insert && brings(id, edit)) {
            violations.note("anchor-in-batch", "\"\(shown(id))\" is placed by this edit itself", at: pointer)
        } else {
            violations.note(
                "anchor-not-found", "none of the \(subject.rawValue) has the id \"\(shown(id))\"", at: pointer)
        }
        return nil
    }

    /// The section or item that an edit names as a parent.
    private func find(_ parent: Edit.Parent, at pointer: String, _ violations: inout Violations) -> Int? {
        let (section, item): (Int?, Int?)
        let (named, place): (EditID, String)
        switch parent {
        case .section(let id): (section, item, named, place) = (find(.sections, id), nil, id, pointer + "/section")
        case .item(let id): (section, item, named, place) = (nil, find(.items, id), id, pointer + "/item")
        case .either(let id): (section, item, named, place) = (find(.sections, id), find(.items, id), id, pointer)
        }
        if section != nil, item != nil {
            violations.note(
                "ambiguous-id",
                "a section and an item have the id \"\(shown(named))\": say {\"section\":…} or {\"item\":…}",
                at: place)
            return nil
        }
        if section == nil, item == nil {
            violations.note("unknown-id", "no section or item has the id \"\(shown(named))\"", at: place)
        }
        return section ?? item
    }
}
