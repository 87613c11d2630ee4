// Why there are appliers here. SnapshotKit writes changesets and DiffClient applies them: two halves of one product, on
// one reader of JSON, which could be wrong together. So there is an applier of each dialect in this folder that shares
// no code with either: a parser of JSON written to be obviously right, and operations carried out on arrays, one by
// one, as DIFF.md says. They are the oracles. Strict ones: besides leading to the target they check shapes, order,
// merged runs and safe stages, and report what was done, for comparison with the minimum (`Oracle`).
//
// The unit tests (`PairCheck`) and the fuzzers (Tests/Fuzz, by a link to this folder) ask the same ones. Those in
// Tests/EndToEnd/support/appliers are independent of these too, and hold the built server against the contract. No
// others are needed: DiffClient, client.js and the fuzzers' lists are held against these.

/// A visible item, as a reader of the row dialects knows it.
struct Row: Equatable, Sendable {
    var id: Text
    var content: Tree?
    var kind: Text?
    var level = 0
    var parent: Text?
    var expanded = true
    var children = 0
}

/// A section with its rows.
struct RowSection: Equatable, Sendable {
    var id: Text
    var content: Tree?
    var expanded = true
    var rows: [Row] = []

    /// Whether content and `expanded` are the same; rows take no part in a section's equality.
    func isSameSection(as other: RowSection) -> Bool { content == other.content && expanded == other.expanded }

    /// This section with the content and `expanded` of another.
    func dressed(as other: RowSection) -> RowSection {
        RowSection(id: id, content: other.content, expanded: other.expanded, rows: rows)
    }
}

/// A state in rows.
typealias Rows = [RowSection]

extension [RowSection] {
    /// The place of each row.
    var places: [Text: (section: Int, row: Int)] {
        var places: [Text: (section: Int, row: Int)] = [:]
        for (section, content) in enumerated() {
            for (row, item) in content.rows.enumerated() { places[item.id] = (section, row) }
        }
        return places
    }

    var sectionPlaces: [Text: Int] {
        Dictionary(uniqueKeysWithValues: enumerated().map { ($0.element.id, $0.offset) })
    }

    var byID: [Text: Row] { Dictionary(uniqueKeysWithValues: flatMap(\.rows).map { ($0.id, $0) }) }

    /// Short enough for a failure's message.
    var summary: String {
        map { section in
            let rows = section.rows.map { row in
                let level = String(repeating: ">", count: row.level)
                return "\(level)\(row.id)=\(row.content?.json ?? "")"
            }
            return
                "\(section.id)(\(section.content?.json ?? "")\(section.expanded ? "" : " collapsed"))"
                + ":[\(rows.joined(separator: " "))]"
        }.joined(separator: " ")
    }
}

// MARK: Reading answers (CONTRACT §4)

extension Row {
    /// A row that is new to its reader, with defaults left out.
    init(inserted tree: Tree) throws {
        let members = try tree.members("id", "content", "kind", "level", "parent", "expanded", "children")
        self.init(id: try members.take("id").id())
        content = members["content"]
        try takeShape(members)
        try require(members["level"] == nil || level > 0, "level 0 is the default: \(tree)")
        try require(members["parent"] == nil || parent != nil, "no parent is the default: \(tree)")
    }

    /// An update of a row that its reader has: it replaces the row, and says so if it returns to the root.
    init(updated tree: Tree, from old: Row) throws {
        var members = try tree.members(
            "id", "content", "patch", "append", "kind", "level", "parent", "expanded", "children")
        self.init(id: try members.take("id").id())
        content = try Tree.updated(&members, from: old.content)
        try takeShape(members)
        let returns = old.parent != nil && parent == nil
        try require((members["level"] == .number(0)) == returns, "level 0 where the row returns to the root: \(tree)")
        try require((members["parent"] == .null) == returns, "parent null where the row returns to the root: \(tree)")
    }

    private mutating func takeShape(_ members: [Text: Tree]) throws {
        kind = try members["kind"]?.text()
        level = try members["level"]?.integer() ?? 0
        parent = try members["parent"]?.optionalID()
        children = try members["children"]?.integer() ?? 0
        expanded = try members["expanded"]?.boolean() ?? true
        try require(members["expanded"] == nil || !expanded, "expanded is the default")
        try require(members["children"] == nil || children > 0, "no children is the default")
        try require((level > 0) == (parent != nil), "level and parent go together")
    }
}

extension RowSection {
    /// A section of an answer with its rows; `items` may be left out unless required.
    init(inserted tree: Tree, requiresItems: Bool) throws {
        let members = try tree.members("id", "content", "expanded", "items")
        try require(members["items"] != nil || !requiresItems, "a section without its rows: \(tree)")
        try self.init(members: members)
        rows = try members.list("items").map { try Row(inserted: $0) }
    }

    /// A section of an answer without its items.
    init(bare tree: Tree) throws { try self.init(members: try tree.members("id", "content", "expanded")) }

    /// An update of a section; like an item's it may say only what has changed.
    init(updated tree: Tree, from old: RowSection) throws {
        var members = try tree.members("id", "content", "patch", "append", "expanded")
        members["content"] = try Tree.updated(&members, from: old.content)
        try self.init(members: members)
    }

    private init(members: [Text: Tree]) throws {
        self.init(id: try members.take("id").id(), content: members["content"])
        expanded = try members["expanded"]?.boolean() ?? true
        try require(members["expanded"] == nil || !expanded, "expanded is the default")
    }
}

/// A reset's `state`: rows, never nested.
func readRows(_ bytes: [UInt8]) throws -> Rows {
    let state = try TreeParser.tree(bytes).members("content", "sections")
    return try state.take("sections").elements().map { try RowSection(inserted: $0, requiresItems: true) }
}
