// One edit. What it names is looked up first, and where it puts it; only then is anything changed. All that is wrong
// with the first edit that does not fit is reported, and nothing about those behind it: they were written for a state
// that never came to be.

extension EditedState {
    /// Applies the edit at `index`; returns what is wrong with it, and then the state is not to be used any more.
    mutating func apply(_ index: Int, limit: Int) -> [Violation] {
        var violations = Violations(limit: limit)
        let edit = batch.edits[index]
        switch edit.operation {
        case .insert: insert(edit, index, &violations)
        case .move: move(edit, index, &violations)
        case .delete: for vertex in present(edit) where tree.contains(vertex) { detach(vertex) }
        case .clear: clear(edit, index, &violations)
        case .update: update(edit, index, &violations)
        case .expand: each(edit, index, &violations) { $0.change($1) { $0.isCollapsed = false } }
        case .collapse: each(edit, index, &violations) { $0.change($1) { $0.isCollapsed = true } }
        case .reload: mark(edit, index, .reload, &violations)
        case .reconfigure: mark(edit, index, .reconfigure, &violations)
        }
        return violations.list
    }

    // MARK: Operations

    private mutating func insert(_ edit: Edit, _ index: Int, _ violations: inout Violations) {
        let gap = target(of: edit, index, moved: [], &violations).map(gap)
        if edit.subject == .sections {
            for section in edit.operands { enter(section: section, gap, index, &violations) }
        } else {
            enter(nodes: edit.operands, gap, index, &violations)
        }
    }

    private mutating func enter(section: Int, _ gap: Gap?, _ index: Int, _ violations: inout Violations) {
        if let taken = enter(.newSection(section)) {
            return noteDuplicate(.newSection(section), taken, index, &violations)
        }
        let vertex = vertex(.newSection(section))
        if let gap { place(vertex, in: gap, by: index) }
        let record = batch.sections[section]
        enter(nodes: Int(record.firstItem)..<Int(record.endItem), Gap(parent: vertex), index, &violations)
    }

    /// Puts in whole subtrees of the batch.
    private mutating func enter(nodes: Range<Int>, _ gap: Gap?, _ index: Int, _ violations: inout Violations) {
        for node in nodes {
            if let taken = enter(.newItem(node)) {
                noteDuplicate(.newItem(node), taken, index, &violations)
                continue
            }
            let parent = Int(batch.nodes[node].parent)
            if parent >= 0 {
                place(vertex(.newItem(node)), in: Gap(parent: vertex(.newItem(parent))), by: index)
            } else if let gap {
                place(vertex(.newItem(node)), in: gap, by: index)
            }
        }
    }

    private mutating func move(_ edit: Edit, _ index: Int, _ violations: inout Violations) {
        let vertices = known(edit, index, &violations)
        var moved: Set<Int> = []
        for (ordinal, vertex) in vertices where !moved.insert(vertex).inserted {
            violations.note(
                "duplicate-id",
                "\"\(shown(batch.ids[edit.operands.lowerBound + ordinal]))\" is moved twice by one edit",
                at: batch.pointer(toOperand: ordinal, ofEdit: index))
        }
        guard let target = target(of: edit, index, moved: moved, &violations) else { return }
        let lineage = tree.lineage(of: target.parent)
        for (ordinal, vertex) in vertices where lineage.contains(vertex) {
            violations.note(
                "cycle", "\"\(shown(batch.ids[edit.operands.lowerBound + ordinal]))\" cannot go into itself",
                at: batch.pointer(toOperand: ordinal, ofEdit: index))
        }
        guard violations.list.isEmpty else { return }
        for (_, vertex) in vertices { detach(vertex) }
        let gap = gap(target)
        for (_, vertex) in vertices { place(vertex, in: gap, by: index) }
    }

    private mutating func clear(_ edit: Edit, _ index: Int, _ violations: inout Violations) {
        guard edit.subject == nil else {
            // What was below another one of them is gone with that.
            return each(edit, index, &violations) { if $0.tree.contains($1) { $0.empty($1) } }
        }
        var section = tree.first(in: EditedTree.root)
        while section >= 0 {
            empty(section)
            section = tree.next(after: section)
        }
    }

    private mutating func update(_ edit: Edit, _ index: Int, _ violations: inout Violations) {
        guard let subject = edit.subject else { return }
        for place in edit.operands {
            let update = batch.updates[place]
            guard let vertex = find(subject, update.id) else {
                noteUnknown(subject, update.id, place - edit.operands.lowerBound, index, &violations)
                continue
            }
            change(vertex) { said in
                if let content = update.content { said.content = content }
                if let kind = update.kindStart { said.kindStart = kind }
                if let isExpanded = update.isExpanded { said.isCollapsed = !isExpanded }
            }
        }
    }

    private mutating func mark(
        _ edit: Edit, _ index: Int, _ redraw: Marks.Redraw, _ violations: inout Violations
    ) {
        guard let subject = edit.subject else { return }
        _ = known(edit, index, &violations)
        for place in edit.operands { mark(subject, batch.ids[place], redraw) }
    }

    /// Calls `body` for each vertex that the edit names.
    private mutating func each(
        _ edit: Edit, _ index: Int, _ violations: inout Violations, _ body: (inout EditedState, Int) -> Void
    ) {
        for (_, vertex) in known(edit, index, &violations) { body(&self, vertex) }
    }

    // MARK: Operands

    /// The vertices that an edit's ids name, with their place in the edit; an id that nothing has is a violation.
    private func known(_ edit: Edit, _ index: Int, _ violations: inout Violations) -> [(ordinal: Int, vertex: Int)] {
        guard let subject = edit.subject else { return [] }
        var vertices: [(ordinal: Int, vertex: Int)] = []
        for place in edit.operands {
            let ordinal = place - edit.operands.lowerBound
            if let vertex = find(subject, batch.ids[place]) {
                vertices.append((ordinal, vertex))
            } else {
                noteUnknown(subject, batch.ids[place], ordinal, index, &violations)
            }
        }
        return vertices
    }

    /// The vertices that an edit's ids name, as far as there are any.
    private func present(_ edit: Edit) -> [Int] {
        guard let subject = edit.subject else { return [] }
        return batch.ids[edit.operands].compactMap { find(subject, $0) }
    }

    // MARK: Violations

    private func noteUnknown(
        _ subject: Edit.Subject, _ id: EditID, _ ordinal: Int, _ index: Int, _ violations: inout Violations
    ) {
        violations.note(
            "unknown-id", "none of the \(subject.rawValue) has the id \"\(shown(id))\"",
            at: batch.pointer(toOperand: ordinal, ofEdit: index))
    }

    /// Notes an id that is taken, and where the batch itself took it.
    private mutating func noteDuplicate(_ new: Vertex, _ taken: Int, _ index: Int, _ violations: inout Violations) {
        guard !violations.isFull else { return }
        let first = vertex(numbered: taken)
        let isBrought = if case .oldItem = first { false } else if case .oldSection = first { false } else { true }
        let detail = isBrought ? "is inserted more than once" : "exists already; move or update it"
        if isBrought { noteDuplicate(first, detail, insertingEdit(of: first), &violations) }
        noteDuplicate(new, detail, index, &violations)
    }

    /// The edit that brings something. O(edits).
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
        let number = self.vertex(vertex)
        guard told.insert(number).inserted else { return }
        switch vertex {
        case .newItem(let node):
            let record = batch.nodes[node]
            let id = shown(EditID(record))
            let ordinals = ordinals ?? SiblingOrdinals(batch.nodes, sections: batch.sections.count)
            self.ordinals = ordinals
            violations.note(
                "duplicate-id", "the item \"\(id)\" \(detail)",
                at: batch.pointer(toNode: node, ofEdit: index, ordinals))
        case .newSection(let section):
            let record = batch.sections[section]
            let id = shown(EditID(record))
            violations.note(
                "duplicate-id", "the section \"\(id)\" \(detail)", at: batch.pointer(toSection: section, ofEdit: index))
        case .oldItem, .oldSection: break
        }
    }
}
