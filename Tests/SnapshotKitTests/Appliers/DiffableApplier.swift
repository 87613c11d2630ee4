/// Applies `diffable`: final ids, and the contents that a reader lacks or must redraw.
struct DiffableApplier {
    /// What a reader of a diffable snapshot has done.
    struct Result {
        var rows: Rows
        var reloaded: Set<Text>
        var reconfigured: Set<Text>
        var reloadedSections: Set<Text>
        var reconfiguredSections: Set<Text>
        /// Items and sections that came with their content.
        var sentItems: Set<Text>
        var sentSections: Set<Text>
    }

    static func apply(_ changes: Tree, to old: Rows) throws -> Result {
        let members = try changes.members(
            "sections", "reload", "reconfigure", "reloadSections", "reconfigureSections", "items", "sectionContents")
        let (items, sentItems) = try readItems(try members.list("items"), old.byID)
        let (sections, sentSections) = try readSections(try members.list("sectionContents"), old)
        let rows = try members.take("sections").elements().map { tree in
            let members = try tree.members("id", "items")
            guard var section = sections[try members.take("id").id()] else {
                throw Refusal("no content of section \(tree)")
            }
            section.rows = try members.take("items").elements().map { tree in
                guard let row = items[try tree.id()] else { throw Refusal("no content of item \(tree)") }
                return row
            }
            return section
        }
        let result = Result(
            rows: rows, reloaded: try ids(members, "reload"), reconfigured: try ids(members, "reconfigure"),
            reloadedSections: try ids(members, "reloadSections"),
            reconfiguredSections: try ids(members, "reconfigureSections"), sentItems: sentItems,
            sentSections: sentSections)
        try result.requireNamesAreKnown()
        return result
    }

    private static func ids(_ members: [Text: Tree], _ name: Text) throws -> Set<Text> {
        var ids: Set<Text> = []
        for tree in try members.list(name) { try ids.note(try tree.id(), "\(name)") }
        return ids
    }

    private static func readItems(_ trees: [Tree], _ old: [Text: Row]) throws -> ([Text: Row], Set<Text>) {
        var (items, sent) = (old, Set<Text>())
        for tree in trees {
            guard case .object(let members) = tree else { throw Refusal("not an item: \(tree)") }
            let id = try members.take("id").id()
            let row = try old[id].map { try Row(updated: tree, from: $0) } ?? Row(inserted: tree)
            try sent.note(id, "sent")
            items[id] = row
        }
        return (items, sent)
    }

    private static func readSections(_ trees: [Tree], _ old: Rows) throws -> ([Text: RowSection], Set<Text>) {
        var (sections, sent) = (Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0) }), Set<Text>())
        for tree in trees {
            guard case .object(let members) = tree else { throw Refusal("not a section: \(tree)") }
            let known = sections[try members.take("id").id()]
            let section = try known.map { try RowSection(updated: tree, from: $0) } ?? RowSection(bare: tree)
            try sent.note(section.id, "sent")
            sections[section.id] = section
        }
        return (sections, sent)
    }
}

extension DiffableApplier.Result {
    /// Apple's snapshot refuses ids that it does not hold, and repeated ones.
    fileprivate func requireNamesAreKnown() throws {
        let ids = rows.flatMap { $0.rows.map(\.id) }
        try require(Set(ids).count == ids.count, "an item stands twice")
        try require(Set(rows.map(\.id)).count == rows.count, "a section stands twice")
        try require(reloaded.union(reconfigured).isSubset(of: ids), "a row to be drawn again is not there")
        try require(reloaded.isDisjoint(with: reconfigured), "a row is reloaded and reconfigured")
        let drawn = reloadedSections.union(reconfiguredSections)
        try require(drawn.isSubset(of: rows.map(\.id)), "a section to be drawn again is not there")
        try require(
            reloadedSections.isDisjoint(with: reconfiguredSections), "a section is reloaded and reconfigured")
        try require(sentItems.isSubset(of: ids), "an item is sent that is not there")
        try require(sentSections.isSubset(of: rows.map(\.id)), "a section is sent that is not there")
    }
}
