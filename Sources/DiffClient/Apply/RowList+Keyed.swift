// Operations on ids, applied one after the other. Sections and rows are vertices of a linked tree, found by id, so that
// an operation is O(1) anywhere; the list is rebuilt at the end.

import SnapshotKit

extension RowList {
    /// This list after the `changes` of a `keyed` changeset. O(n + operations).
    ///
    /// - Throws: `ApplyError` if an id or anchor is unknown, if a new id is taken, or if this is anything else.
    public func applying(keyed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(keyed: JSONSlice(checking: changes))
    }

    func applying(keyed changes: JSONSlice) throws(ApplyError) -> RowList {
        var state = KeyedState(self)
        for operation in try changes.asArray() { try state.apply(operation) }
        return RowList(content: content, sections: state.sectionsInOrder())
    }
}

/// A list while operations are being applied.
private struct KeyedState {
    /// A vertex's element; sections without their rows.
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
        for section in list.sections { append(section, before: LinkedTree.none) }
    }

    func sectionsInOrder() -> [RowList.Section] {
        var list: [RowList.Section] = []
        var vertex = tree.first(in: LinkedTree.root)
        while vertex >= 0 {
            if case .section(var section) = elements[vertex] {
                var child = tree.first(in: vertex)
                while child >= 0 {
                    if case .row(let row) = elements[child] { section.rows.append(row) }
                    child = tree.next(after: child)
                }
                list.append(section)
            }
            vertex = tree.next(after: vertex)
        }
        return list
    }

    // MARK: Vertices

    private mutating func append(_ section: RowList.Section, before next: Int) {
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

    private func find(_ id: ElementID, _ vertices: [ElementID: Int], _ value: JSONSlice) throws(ApplyError) -> Int {
        guard let vertex = vertices[id] else { throw value.error(.unknownID, "nothing has the id \"\(id)\"") }
        return vertex
    }

    private func requireFree(
        _ id: ElementID, _ vertices: [ElementID: Int], _ value: JSONSlice
    ) throws(ApplyError) {
        if vertices[id] != nil { throw value.error(.duplicateID, "the id \"\(id)\" already exists") }
    }

    // MARK: Operations

    mutating func apply(_ value: JSONSlice) throws(ApplyError) {
        let members = try value.object(["op", "section", "item", "items", "in", "before", "as"])
        let op = try members.required("op").asString()
        if op == "update" {
            _ = try members.required("as").asRedraw()
        } else if let redraw = members["as"] {
            throw redraw.wrong("only an update may have as")
        }
        switch (op, members["section"], members["item"], members["items"]) {
        case ("insert", let section?, nil, nil): try insert(section: section, members)
        case ("insert", nil, nil, let items?): try insert(items: items, members)
        case ("move", let id?, nil, nil): try move(find(id.asID(), sections, id), below: LinkedTree.root, members)
        case ("move", nil, let id?, nil): try move(find(id.asID(), rows, id), below: parent(members), members)
        case ("remove", let id?, nil, nil): try remove(section: id)
        case ("remove", nil, nil, let ids?): for id in try ids.asArray() { try remove(item: id) }
        case ("update", let section?, nil, nil): try update(section: section)
        case ("update", nil, nil, let items?): for item in try items.asArray() { try update(item: item) }
        default: throw value.wrong("an operation must insert, remove or update a section or items, or move one of them")
        }
    }

    private mutating func insert(section value: JSONSlice, _ members: Members) throws(ApplyError) {
        let section = try RowList.Section(value)
        try requireFree(section.id, sections, value)
        var new: Set<ElementID> = []
        for row in section.rows {
            try requireFree(row.id, rows, value)
            guard new.insert(row.id).inserted else {
                throw value.error(.duplicateID, "\"\(row.id)\" is inserted twice")
            }
        }
        append(section, before: try anchor(members, sections, below: LinkedTree.root))
    }

    private mutating func insert(items value: JSONSlice, _ members: Members) throws(ApplyError) {
        let parent = try parent(members)
        let next = try anchor(members, rows, below: parent)
        for value in try value.asArray() {
            let row = try RowList.Row(value)
            try requireFree(row.id, rows, value)
            rows[row.id] = add(.row(row), below: parent, before: next)
        }
    }

    private mutating func move(_ vertex: Int, below parent: Int, _ members: Members) throws(ApplyError) {
        let next = try anchor(members, parent == LinkedTree.root ? sections : rows, below: parent)
        if vertex == next { throw members.owner.wrong("an element cannot move before itself") }
        tree.detach(vertex)
        tree.insert(vertex, below: parent, before: next)
    }

    private mutating func remove(section value: JSONSlice) throws(ApplyError) {
        let id = try value.asID()
        let vertex = try find(id, sections, value)
        for child in tree.dissolve(below: vertex) {
            if case .row(let row) = elements[child] { rows[row.id] = nil }
        }
        tree.detach(vertex)
        sections[id] = nil
    }

    private mutating func remove(item value: JSONSlice) throws(ApplyError) {
        let id = try value.asID()
        tree.detach(try find(id, rows, value))
        rows[id] = nil
    }

    private mutating func update(section value: JSONSlice) throws(ApplyError) {
        let update = try Updated<RowList.Section>(value)
        let vertex = try find(update.id, sections, value)
        guard case .section(let old) = elements[vertex] else { return }
        elements[vertex] = .section(try update.applied(to: old))
    }

    private mutating func update(item value: JSONSlice) throws(ApplyError) {
        let update = try Updated<RowList.Row>(value)
        let vertex = try find(update.id, rows, value)
        guard case .row(let old) = elements[vertex] else { return }
        elements[vertex] = .row(try update.applied(to: old))
    }

    /// The section in an operation's `in`.
    private func parent(_ members: Members) throws(ApplyError) -> Int {
        let value = try members.required("in")
        return try find(try value.asID(), sections, value)
    }

    /// The sibling in an operation's `before`, which is required; none for null.
    private func anchor(_ members: Members, _ vertices: [ElementID: Int], below parent: Int) throws(ApplyError) -> Int {
        let value = try members.required("before")
        if value.isNull { return LinkedTree.none }
        let vertex = try find(try value.asID(), vertices, value)
        guard tree.parent(of: vertex) == parent else {
            throw value.error(.unknownID, "the anchor is not among the siblings")
        }
        return vertex
    }
}

// MARK: - The linked tree

/// An ordered tree of numbered vertices. Inserting or detaching a vertex with its subtree is O(1).
///
/// Vertex 0 is the root. Any other vertex without a parent is detached.
private struct LinkedTree {
    /// No vertex.
    static let none = -1
    static let root = 0

    private struct Links {
        var parent: Int32 = -1
        var previous: Int32 = -1
        var next: Int32 = -1
        var first: Int32 = -1
        var last: Int32 = -1
    }

    private var links: [Links]

    /// A root and `count - 1` detached vertices.
    init(count: Int) { links = [Links](repeating: Links(), count: count) }

    /// Adds a detached vertex.
    mutating func add() -> Int {
        links.append(Links())
        return links.count - 1
    }

    func parent(of vertex: Int) -> Int { Int(links[vertex].parent) }
    func next(after vertex: Int) -> Int { Int(links[vertex].next) }
    func first(in parent: Int) -> Int { Int(links[parent].first) }
    func last(in parent: Int) -> Int { Int(links[parent].last) }

    /// Whether a vertex other than the root is in the tree.
    func contains(_ vertex: Int) -> Bool { links[vertex].parent >= 0 }

    /// Inserts a detached vertex below `parent`, before its child `next` or at the end.
    mutating func insert(_ vertex: Int, below parent: Int, before next: Int = none) {
        let number = Int32(truncatingIfNeeded: vertex)
        let previous = next >= 0 ? links[next].previous : links[parent].last
        links[vertex].parent = Int32(truncatingIfNeeded: parent)
        links[vertex].previous = previous
        links[vertex].next = Int32(truncatingIfNeeded: next)
        if previous >= 0 { links[Int(previous)].next = number } else { links[parent].first = number }
        if next >= 0 { links[next].previous = number } else { links[parent].last = number }
    }

    /// Detaches a vertex with its subtree.
    mutating func detach(_ vertex: Int) {
        let link = links[vertex]
        let parent = Int(link.parent)
        if link.previous >= 0 { links[Int(link.previous)].next = link.next } else { links[parent].first = link.next }
        if link.next >= 0 { links[Int(link.next)].previous = link.previous } else { links[parent].last = link.previous }
        (links[vertex].parent, links[vertex].previous, links[vertex].next) = (-1, -1, -1)
    }

    /// Detaches all vertices below one from each other, and returns them. O(vertices).
    mutating func dissolve(below vertex: Int) -> [Int] {
        var dissolved: [Int] = []
        var (parent, next) = (vertex, 0)
        while true {
            var child = first(in: parent)
            links[parent].first = -1
            links[parent].last = -1
            while child >= 0 {
                dissolved.append(child)
                let sibling = self.next(after: child)
                (links[child].parent, links[child].previous, links[child].next) = (-1, -1, -1)
                child = sibling
            }
            guard next < dissolved.count else { return dissolved }
            parent = dissolved[next]
            next += 1
        }
    }
}
