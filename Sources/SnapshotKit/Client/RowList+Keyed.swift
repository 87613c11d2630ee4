// Operations on ids, one after the other. Sections and rows are vertices of a linked tree, found by id, so that an
// operation costs O(1) wherever it falls; the list is put together again at the end.

extension RowList {
    /// This list after the `changes` of a `keyed` changeset. O(n + operations).
    ///
    /// - Throws: `ApplyError`: an id or an anchor that is not there, one that is there already, or anything that is no
    ///   such operation.
    public func applying(keyed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try ChangeText.read(changes) { (text) throws(ApplyError) in
            var state = KeyedState(self)
            try text.elements(of: text.root) { (place) throws(ApplyError) in try state.apply(place, text) }
            return state.list()
        }
    }
}

/// A list while operations are applied to it.
private struct KeyedState {
    /// What a vertex is; a section's own rows are left out.
    private enum Element {
        case root
        case section(RowList.Section)
        case row(RowList.Row)
    }

    private var tree = LinkedTree(count: 1)
    private var elements = [Element.root]
    private var sections: [ElementID: Int] = [:]
    private var rows: [ElementID: Int] = [:]

    init(_ list: RowList) {
        for section in list.sections { insert(section, before: LinkedTree.none) }
    }

    func list() -> RowList {
        var list = RowList()
        var vertex = tree.first(in: LinkedTree.root)
        while vertex >= 0 {
            if case .section(var section) = elements[vertex] {
                var child = tree.first(in: vertex)
                while child >= 0 {
                    if case .row(let row) = elements[child] { section.rows.append(row) }
                    child = tree.next(after: child)
                }
                list.sections.append(section)
            }
            vertex = tree.next(after: vertex)
        }
        return list
    }

    // MARK: Vertices

    private mutating func insert(_ section: RowList.Section, before next: Int) {
        var bare = section
        bare.rows = []
        let vertex = add(.section(bare), below: LinkedTree.root, before: next)
        sections[section.id] = vertex
        for row in section.rows { rows[row.id] = add(.row(row), below: vertex, before: LinkedTree.none) }
    }

    private mutating func add(_ element: Element, below parent: Int, before next: Int) -> Int {
        elements.append(element)
        let vertex = tree.add()
        tree.insert(vertex, below: parent, before: next)
        return vertex
    }

    private func find(
        _ id: ElementID, _ vertices: [ElementID: Int], _ what: StaticString, at offset: Int
    ) throws(ApplyError) -> Int {
        guard let vertex = vertices[id] else {
            throw ApplyError(.unknownID, "there is no \(what) \"\(id)\"", at: offset)
        }
        return vertex
    }

    private func requireFree(
        _ id: ElementID, _ vertices: [ElementID: Int], _ what: StaticString, at offset: Int
    ) throws(ApplyError) {
        if vertices[id] != nil { throw ApplyError(.duplicateID, "there is a \(what) \"\(id)\" already", at: offset) }
    }

    // MARK: Operations

    private enum Name: String {
        case insert, move, remove, update
    }

    /// An operation's members.
    private struct Operation {
        let text: ChangeText
        let place: ChangeText.Place
        var op, section, item, parent, before, redraw: ChangeText.Place?

        init(_ place: ChangeText.Place, _ text: ChangeText) throws(ApplyError) {
            (self.text, self.place) = (text, place)
            var places: [ChangeText.Place?] = Array(repeating: nil, count: Self.names.count)
            try text.members(of: place) { (name, value) throws(ApplyError) in
                guard let member = Self.names.firstIndex(where: { name.isText($0) }) else {
                    throw text.unknownMember(name, value)
                }
                places[member] = value
            }
            (op, section, item, parent, before, redraw) = (
                places[0], places[1], places[2], places[3], places[4], places[5]
            )
        }

        private static let names: [StaticString] = ["op", "section", "item", "in", "before", "as"]

        var offset: Int { text.offset(place) }
    }

    mutating func apply(_ place: ChangeText.Place, _ text: ChangeText) throws(ApplyError) {
        let operation = try Operation(place, text)
        let op = try text.required(operation.op, "op", place)
        guard let name = Name(rawValue: try text.string(op)) else { throw text.wrong("no such operation", op) }
        switch (operation.section, operation.item) {
        case (let section?, nil): try apply(name, section: section, operation)
        case (nil, let item?): try apply(name, item: item, operation)
        default: throw text.wrong("an operation is on a section or on an item", place)
        }
        if let redraw = operation.redraw {
            guard name == .update else { throw text.wrong("only an update says how to draw", redraw) }
            _ = try text.redraw(redraw)
        }
    }

    private mutating func apply(
        _ name: Name, section place: ChangeText.Place, _ operation: Operation
    ) throws(ApplyError) {
        let text = operation.text
        switch name {
        case .insert:
            let section = try text.section(place)
            try requireFree(section.id, sections, "section", at: operation.offset)
            var new: Set<ElementID> = []
            for row in section.rows {
                try requireFree(row.id, rows, "row", at: operation.offset)
                guard new.insert(row.id).inserted else {
                    throw ApplyError(.duplicateID, "two rows have the id \"\(row.id)\"", at: operation.offset)
                }
            }
            insert(section, before: try anchor(operation, sections, below: LinkedTree.root))
        case .move:
            let vertex = try find(try text.id(place), sections, "section", at: operation.offset)
            try move(
                vertex, below: LinkedTree.root, before: try anchor(operation, sections, below: LinkedTree.root),
                operation)
        case .remove:
            let id = try text.id(place)
            let vertex = try find(id, sections, "section", at: operation.offset)
            for child in tree.dissolve(below: vertex) {
                if case .row(let row) = elements[child] { rows[row.id] = nil }
            }
            tree.detach(vertex)
            sections[id] = nil
        case .update:
            let changed = try text.changedSection(place)
            let vertex = try find(changed.value.id, sections, "section", at: operation.offset)
            guard case .section(let old) = elements[vertex] else { return }
            elements[vertex] = .section(try changed.applied(to: old, at: operation.offset))
        }
    }

    private mutating func apply(_ name: Name, item place: ChangeText.Place, _ operation: Operation) throws(ApplyError) {
        let text = operation.text
        switch name {
        case .insert:
            let row = try text.row(place)
            try requireFree(row.id, rows, "row", at: operation.offset)
            let parent = try parent(operation)
            rows[row.id] = add(.row(row), below: parent, before: try anchor(operation, rows, below: parent))
        case .move:
            let vertex = try find(try text.id(place), rows, "row", at: operation.offset)
            let parent = try parent(operation)
            try move(vertex, below: parent, before: try anchor(operation, rows, below: parent), operation)
        case .remove:
            let id = try text.id(place)
            tree.detach(try find(id, rows, "row", at: operation.offset))
            rows[id] = nil
        case .update:
            let changed = try text.changedRow(place)
            let vertex = try find(changed.value.id, rows, "row", at: operation.offset)
            guard case .row(let old) = elements[vertex] else { return }
            elements[vertex] = .row(try changed.applied(to: old, at: operation.offset))
        }
    }

    private mutating func move(
        _ vertex: Int, below parent: Int, before next: Int, _ operation: Operation
    ) throws(ApplyError) {
        if vertex == next { throw operation.text.wrong("nothing moves before itself", operation.place) }
        tree.detach(vertex)
        tree.insert(vertex, below: parent, before: next)
    }

    /// The section that an operation names in `in`.
    private func parent(_ operation: Operation) throws(ApplyError) -> Int {
        let place = try operation.text.required(operation.parent, "in", operation.place)
        return try find(try operation.text.id(place), sections, "section", at: operation.offset)
    }

    /// The sibling that an operation names in `before`; none for null, which must be said.
    private func anchor(
        _ operation: Operation, _ vertices: [ElementID: Int], below parent: Int
    ) throws(ApplyError) -> Int {
        let place = try operation.text.required(operation.before, "before", operation.place)
        guard let id = try operation.text.optionalID(place) else { return LinkedTree.none }
        let vertex = try find(id, vertices, "anchor", at: operation.offset)
        guard tree.parent(of: vertex) == parent else {
            throw ApplyError(.unknownID, "the anchor \"\(id)\" stands elsewhere", at: operation.offset)
        }
        return vertex
    }
}
