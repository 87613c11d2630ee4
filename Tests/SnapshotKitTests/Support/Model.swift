/// A state as the tests make it: items nested, nothing shared with the library.
struct Model: Equatable, Sendable {
    struct Item: Equatable, Sendable {
        var id: Text
        var content: Tree?
        var kind: Text?
        var expanded = true
        var items: [Item] = []
    }

    struct Section: Equatable, Sendable {
        var id: Text
        var content: Tree?
        var expanded = true
        var items: [Item] = []
    }

    /// The content of the list itself.
    var content: Tree?
    var sections: [Section] = []
}

// MARK: Rows

extension Model {
    /// What is visible, depth first.
    var rows: Rows {
        sections.map { section in
            var rows: [Row] = []
            if section.expanded { for item in section.items { item.addRows(to: &rows, level: 0, parent: nil) } }
            return RowSection(id: section.id, content: section.content, expanded: section.expanded, rows: rows)
        }
    }
}

extension Model.Item {
    fileprivate func addRows(to rows: inout [Row], level: Int, parent: Text?) {
        rows.append(
            Row(
                id: id, content: content, kind: kind, level: level, parent: parent, expanded: expanded,
                children: items.count))
        guard expanded else { return }
        for item in items { item.addRows(to: &rows, level: level + 1, parent: id) }
    }
}

// MARK: JSON

extension Model {
    /// The document as GET writes it: every item an object, defaults left out.
    var tree: Tree {
        var members: [Text: Tree] = ["sections": .array(sections.map(\.tree))]
        members["content"] = content
        return .object(members)
    }

    var json: String { tree.json }

    /// Reads a document as GET writes it, refusing written defaults.
    init(document tree: Tree) throws {
        let members = try tree.members("content", "sections")
        let sections = try members.take("sections").elements()
        self.init(content: members["content"], sections: try sections.map { try Section(tree: $0) })
    }
}

extension Model.Section {
    fileprivate var tree: Tree {
        var members: [Text: Tree] = ["id": .string(id), "items": .array(items.map(\.tree))]
        members["content"] = content
        if !expanded { members["expanded"] = .token("false") }
        return .object(members)
    }

    fileprivate init(tree: Tree) throws {
        let members = try tree.members("id", "content", "expanded", "items")
        self.init(id: try members.take("id").id(), content: members["content"])
        try require(members["expanded"].map { $0 == .token("false") } ?? true, "a default is written: \(tree)")
        expanded = members["expanded"] == nil
        items = try members.take("items").elements().map { try Model.Item(tree: $0) }
    }
}

extension Model.Item {
    var tree: Tree {
        var members: [Text: Tree] = ["id": .string(id)]
        members["content"] = content
        members["kind"] = kind.map { .string($0) }
        if !expanded { members["expanded"] = .token("false") }
        if !items.isEmpty { members["items"] = .array(items.map(\.tree)) }
        return .object(members)
    }

    fileprivate init(tree: Tree) throws {
        let members = try tree.members("id", "content", "kind", "expanded", "items")
        self.init(id: try members.take("id").id(), content: members["content"], kind: try members["kind"]?.text())
        try require(members["expanded"].map { $0 == .token("false") } ?? true, "a default is written: \(tree)")
        expanded = members["expanded"] == nil
        items = try members.list("items", isNeverEmpty: true).map { try Model.Item(tree: $0) }
    }
}

// MARK: Short forms for tables

extension Model {
    /// `main` with items whose ids are the characters of `ids`, without content.
    static func flat(_ ids: String) -> Model { Model(sections: [.init(id: "main", items: items(ids))]) }

    /// Sections such as `"A:abc B: C:d"`.
    static func sectioned(_ text: String) -> Model {
        Model(
            sections: text.split(separator: " ").map { part in
                let halves = part.split(separator: ":", omittingEmptySubsequences: false)
                return Section(id: Text(String(halves[0])), items: items(String(halves[1])))
            })
    }

    private static func items(_ ids: String) -> [Item] { ids.map { Item(id: Text(String($0))) } }
}
