// One edit. What it names and where it puts that is looked up first; only then is anything changed. All that is wrong
// with the first edit that does not fit is reported, and nothing about later ones: they were written for a state that
// never came to be.

extension EditedState {
    /// Applies the edit at `index`; returns what is wrong with it, and then the state must not be used any more.
    mutating func apply(_ index: Int, limit: Int) -> [Violation] {
        self.index = index
        var violations = Violations(limit: limit)
        switch edit.operation {
        case .insert: insert(&violations)
        case .move: move(&violations)
        case .delete:
            // An id that nothing has is no violation: it is deleted.
            let vertices = edit.subject.map { subject in batch.ids[edit.operands].compactMap { find(subject, $0) } }
            for vertex in vertices ?? [] where tree.contains(vertex) { detach(vertex) }
        case .clear: clear(&violations)
        case .update: update(&violations)
        case .expand: for (_, vertex) in operands(&violations) { change(vertex) { $0.isCollapsed = false } }
        case .collapse: for (_, vertex) in operands(&violations) { change(vertex) { $0.isCollapsed = true } }
        case .reload: mark(.reload, &violations)
        case .reconfigure: mark(.reconfigure, &violations)
        }
        return violations.list
    }

    // MARK: Operations

    private mutating func insert(_ violations: inout Violations) {
        let gap = target(moved: [], &violations).map(gap)
        if edit.subject == .sections {
            for section in edit.operands { enter(section: section, gap, &violations) }
        } else {
            enter(nodes: edit.operands, gap, &violations)
        }
    }

    private mutating func enter(section: Int, _ gap: Gap?, _ violations: inout Violations) {
        let (record, new) = (batch.sections[section], vertex(.newSection(section)))
        if let taken = find(.sections, EditID(record)) {
            return noteDuplicate(.newSection(section), taken, &violations)
        }
        enter(new)
        if let gap { place(new, in: gap) }
        enter(nodes: Int(record.firstItem)..<Int(record.endItem), Gap(parent: new), &violations)
    }

    /// Puts in whole subtrees of the batch.
    private mutating func enter(nodes: Range<Int>, _ gap: Gap?, _ violations: inout Violations) {
        for node in nodes {
            let (record, new) = (batch.nodes[node], vertex(.newItem(node)))
            if let taken = find(.items, EditID(record)) {
                noteDuplicate(.newItem(node), taken, &violations)
                continue
            }
            enter(new)
            let gap = record.parent < 0 ? gap : Gap(parent: vertex(.newItem(Int(record.parent))))
            if let gap { place(new, in: gap) }
        }
    }

    private mutating func move(_ violations: inout Violations) {
        let operands = operands(&violations)
        var moved: Set<Int> = []
        for (ordinal, vertex) in operands where !moved.insert(vertex).inserted {
            note("duplicate-id", "is moved twice by one edit", ordinal, &violations)
        }
        guard let target = target(moved: moved, &violations) else { return }
        let lineage = tree.lineage(of: target.parent)
        for (ordinal, vertex) in operands where lineage.contains(vertex) {
            note("cycle", "cannot go into itself", ordinal, &violations)
        }
        guard violations.list.isEmpty else { return }
        for (_, vertex) in operands { detach(vertex) }
        let gap = gap(target)
        for (_, vertex) in operands { place(vertex, in: gap) }
    }

    private mutating func clear(_ violations: inout Violations) {
        guard edit.subject == nil else {
            return empty(operands(&violations).map(\.vertex).filter(tree.contains))
        }
        emptyAll()
    }

    private mutating func update(_ violations: inout Violations) {
        guard let subject = edit.subject else { return }
        for (ordinal, update) in batch.updates[edit.operands].enumerated() {
            guard let vertex = find(subject, update.id) else {
                noteUnknown(subject, update.id, ordinal, &violations)
                continue
            }
            change(vertex) { override in
                if let content = update.content { override.content = content }
                if let kind = update.kindStart { override.kindStart = kind }
                if let isExpanded = update.isExpanded { override.isCollapsed = !isExpanded }
            }
        }
    }

    private mutating func mark(_ redraw: Marks.Redraw, _ violations: inout Violations) {
        guard let subject = edit.subject else { return }
        _ = operands(&violations)
        marks += batch.ids[edit.operands].map { (subject, $0, redraw) }
    }

    /// The vertices that the edit's ids name, with their index in the edit; an id that nothing has is a violation.
    private func operands(_ violations: inout Violations) -> [(ordinal: Int, vertex: Int)] {
        guard let subject = edit.subject else { return [] }
        var vertices: [(ordinal: Int, vertex: Int)] = []
        for (ordinal, id) in batch.ids[edit.operands].enumerated() {
            if let vertex = find(subject, id) {
                vertices.append((ordinal, vertex))
            } else {
                noteUnknown(subject, id, ordinal, &violations)
            }
        }
        return vertices
    }

    // MARK: Violations

    /// Notes what is wrong with an operand that is an id.
    private func note(_ code: String, _ detail: String, _ ordinal: Int, _ violations: inout Violations) {
        violations.note(
            code, "\"\(shown(batch.ids[edit.operands.lowerBound + ordinal]))\" \(detail)",
            at: batch.pointer(toOperand: ordinal, ofEdit: index))
    }

    private func noteUnknown(
        _ subject: Edit.Subject, _ id: EditID, _ ordinal: Int, _ violations: inout Violations
    ) {
        violations.note(
            "unknown-id", "none of the \(subject.rawValue) has the id \"\(shown(id))\"",
            at: batch.pointer(toOperand: ordinal, ofEdit: index))
    }

    /// Notes an id that is taken and, if the batch itself took it, where.
    private mutating func noteDuplicate(_ new: Vertex, _ taken: Int, _ violations: inout Violations) {
        guard !violations.isFull else { return }
        let isInserted = taken >= firstNew
        let detail = isInserted ? "is inserted more than once" : "exists already; move or update it"
        if isInserted {
            let first = vertex(numbered: taken)
            noteDuplicate(first, detail, insertingEdit(of: first), &violations)
        }
        noteDuplicate(new, detail, index, &violations)
    }

    /// The edit that inserts a vertex. O(edits).
    private func insertingEdit(of vertex: Vertex) -> Int {
        batch.edits.firstIndex { edit in
            guard edit.operation == .insert else { return false }
            switch (vertex, edit.subject) {
            case (.newItem(let node), .items): return edit.operands.contains(node)
            case (.newItem(let node), .sections): return edit.operands.contains(Int(batch.nodes[node].section))
            case (.newSection(let section), .sections): return edit.operands.contains(section)
            default: return false
            }
        } ?? 0
    }

    private mutating func noteDuplicate(
        _ vertex: Vertex, _ detail: String, _ index: Int, _ violations: inout Violations
    ) {
        guard told.insert(self.vertex(vertex)).inserted else { return }
        switch vertex {
        case .newItem(let node):
            let ordinals = ordinals ?? SiblingOrdinals(batch.nodes, sections: batch.sections.count)
            self.ordinals = ordinals
            violations.note(
                "duplicate-id", "the item \"\(shown(EditID(batch.nodes[node])))\" \(detail)",
                at: batch.pointer(toNode: node, ofEdit: index, ordinals))
        case .newSection(let section):
            violations.note(
                "duplicate-id", "the section \"\(shown(EditID(batch.sections[section])))\" \(detail)",
                at: batch.pointer(toSection: section, ofEdit: index))
        case .oldItem, .oldSection: break
        }
    }
}
