// `keyed` as CONTRACT §6 and DIFF §3 describe it: operations in order, every anchor present at its moment, and in its
// final place already.

/// Applies `keyed` operations one by one.
struct KeyedApplier {
    private(set) var rows: Rows
    private(set) var operations = Operations()
    /// Rows and sections before which others were placed; they must not move any more.
    private var anchors: Set<Text> = []
    private var sectionAnchors: Set<Text> = []
    private var phase = Phase.sections
    /// Where the last run of new rows was put, so that a run in two operations is noticed.
    private var lastInsertion: (section: Tree, first: Text)?
    private var removesItems = false
    private var mannersOfUpdates: Set<Text> = []

    /// The order in which operations come.
    private enum Phase: Int {
        case sections, itemRemovals, items, sectionRemovals, updates
    }

    private init(_ old: Rows) {
        rows = old
    }

    /// The rows after `changes`, and what was done.
    static func apply(_ changes: Tree, to old: Rows) throws -> (rows: Rows, operations: Operations) {
        var applier = KeyedApplier(old)
        for operation in try changes.elements() {
            do { try applier.apply(operation) } catch { throw Refusal("\(error) at \(operation)") }
        }
        return (applier.rows, applier.operations)
    }

    private mutating func apply(_ operation: Tree) throws {
        let members = try operation.members("op", "section", "item", "items", "in", "before", "as")
        let isSection = members["section"] != nil
        switch (try members.take("op").text().description, isSection) {
        case ("insert", true): try insertSection(members)
        case ("move", true): try moveSection(members)
        case ("remove", true): try removeSection(members)
        case ("update", true): try updateSection(members)
        case ("insert", false): try insertItems(members)
        case ("move", false): try moveItem(members)
        case ("remove", false): try removeItems(members)
        case ("update", false): try updateItems(members)
        default: throw Refusal("unknown operation")
        }
    }

    private mutating func enter(_ next: Phase, _ members: [Text: Tree], _ names: Set<Text>) throws {
        try require(next.rawValue >= phase.rawValue, "\(next) after \(phase)")
        try require(Set(members.keys) == names, "members \(members.keys.sorted())")
        phase = next
    }

    // MARK: Sections

    private func section(_ id: Text) throws -> Int {
        guard let at = rows.firstIndex(where: { $0.id == id }) else { throw Refusal("no section \(id)") }
        return at
    }

    private mutating func placeSection(_ section: RowSection, before anchor: Tree) throws {
        guard let anchor = try anchor.optionalID() else { return rows.append(section) }
        rows.insert(section, at: try self.section(anchor))
        sectionAnchors.insert(anchor)
    }

    private mutating func insertSection(_ members: [Text: Tree]) throws {
        try enter(.sections, members, ["op", "section", "before"])
        let section = try RowSection(inserted: try members.take("section"), requiresItems: false)
        try require(!rows.contains { $0.id == section.id }, "the section exists")
        try operations.sections.inserted.note(section.id, "inserted")
        for row in section.rows { try noteInserted(row.id) }
        try placeSection(section, before: try members.take("before"))
    }

    private mutating func moveSection(_ members: [Text: Tree]) throws {
        try enter(.sections, members, ["op", "section", "before"])
        let id = try members.take("section").id()
        try require(!sectionAnchors.contains(id), "the section was an anchor")
        try operations.sections.moved.note(id, "moved")
        let section = rows.remove(at: try section(id))
        try placeSection(section, before: try members.take("before"))
    }

    private mutating func removeSection(_ members: [Text: Tree]) throws {
        try enter(.sectionRemovals, members, ["op", "section"])
        let id = try members.take("section").id()
        try operations.sections.deleted.note(id, "removed")
        let section = rows.remove(at: try section(id))
        for row in section.rows { try operations.items.deleted.note(row.id, "removed with its section") }
    }

    private mutating func updateSection(_ members: [Text: Tree]) throws {
        try enter(.updates, members, ["op", "section", "as"])
        try requireManner(try members.take("as"))
        let tree = try members.take("section")
        guard case .object(let own) = tree else { throw Refusal("not a section") }
        let at = try section(try own.take("id").id())
        rows[at] = rows[at].dressed(as: try RowSection(updated: tree, from: rows[at]))
        try operations.sections.updated.note(rows[at].id, "updated")
    }

    // MARK: Items

    private func place(_ id: Text) throws -> (section: Int, row: Int) {
        for (section, content) in rows.enumerated() {
            if let row = content.rows.firstIndex(where: { $0.id == id }) { return (section, row) }
        }
        throw Refusal("no item \(id)")
    }

    private mutating func noteInserted(_ id: Text) throws {
        try require(!rows.contains { $0.rows.contains { $0.id == id } }, "the item \(id) exists")
        try operations.items.inserted.note(id, "inserted")
    }

    /// Puts rows, in order, where `in` and `before` say.
    private mutating func place(_ new: [Row], _ members: [Text: Tree]) throws {
        let section = try section(try members.take("in").id())
        guard let anchor = try members.take("before").optionalID() else {
            return rows[section].rows.append(contentsOf: new)
        }
        guard let at = rows[section].rows.firstIndex(where: { $0.id == anchor }) else { throw Refusal("no anchor") }
        rows[section].rows.insert(contentsOf: new, at: at)
        anchors.insert(anchor)
    }

    /// The elements of `items`, at least one.
    private func items(_ members: [Text: Tree]) throws -> [Tree] {
        let items = try members.take("items").elements()
        try require(!items.isEmpty, "an operation on no items")
        return items
    }

    private mutating func insertItems(_ members: [Text: Tree]) throws {
        try enter(.items, members, ["op", "items", "in", "before"])
        let new = try items(members).map { try Row(inserted: $0) }
        for row in new { try noteInserted(row.id) }
        let home = try members.take("in")
        if let last = lastInsertion, last.section == home {
            try require(try members.take("before").optionalID() != last.first, "a run in two operations")
        }
        lastInsertion = (home, new[0].id)
        try place(new, members)
    }

    private mutating func moveItem(_ members: [Text: Tree]) throws {
        try enter(.items, members, ["op", "item", "in", "before"])
        let id = try members.take("item").id()
        try require(!anchors.contains(id), "the item was an anchor")
        try operations.items.moved.note(id, "moved")
        let place = try place(id)
        let row = rows[place.section].rows.remove(at: place.row)
        try self.place([row], members)
    }

    private mutating func removeItems(_ members: [Text: Tree]) throws {
        try enter(.itemRemovals, members, ["op", "items"])
        try require(!removesItems, "two operations that remove items")
        removesItems = true
        for tree in try items(members) {
            let place = try place(try tree.id())
            let row = rows[place.section].rows.remove(at: place.row)
            try operations.items.deleted.note(row.id, "removed")
        }
    }

    private mutating func updateItems(_ members: [Text: Tree]) throws {
        try enter(.updates, members, ["op", "items", "as"])
        let manner = try members.take("as")
        try mannersOfUpdates.note(try manner.text(), "updated")
        for tree in try items(members) {
            guard case .object(let own) = tree else { throw Refusal("not an item") }
            let place = try place(try own.take("id").id())
            let old = rows[place.section].rows[place.row]
            let row = try Row(updated: tree, from: old)
            rows[place.section].rows[place.row] = row
            try requireManner(manner, old: old, new: row)
            try operations.items.updated.note(row.id, "updated")
        }
    }
}

/// `as` says how to redraw a section: its header in place, since nobody asked for more.
func requireManner(_ manner: Tree) throws {
    try require(try manner.text() == "reconfigure", "as \(manner) of a section")
}

/// `as` says how to redraw a row: a change of kind needs another cell.
func requireManner(_ manner: Tree, old: Row, new: Row) throws {
    let expected: Text = old.kind == new.kind ? "reconfigure" : "reload"
    try require(try manner.text() == expected, "as \(manner), not \(expected)")
}
