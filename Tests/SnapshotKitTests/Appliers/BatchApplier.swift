/// Carries out one batch on rows.
struct BatchApplier {
    private(set) var rows: Rows
    private(set) var operations = Operations()
    private let batch: Batch
    private let before: Rows
    /// Whether sections carry their rows; otherwise each row is named separately.
    private let sectionsCarryRows: Bool

    /// The rows after a batch, and what was done.
    static func apply(
        _ batch: Batch, to rows: Rows, sectionsCarryRows: Bool
    ) throws -> (rows: Rows, operations: Operations) {
        var applier = BatchApplier(batch, rows, sectionsCarryRows)
        try batch.sections.requireNoneTwice()
        try batch.items.requireNoneTwice()
        try applier.takeOut()
        try applier.arrangeSections()
        try applier.putIn()
        try applier.updateItems()
        try applier.updateSections()
        return (applier.rows, applier.operations)
    }

    private init(_ batch: Batch, _ rows: Rows, _ sectionsCarryRows: Bool) {
        self.batch = batch
        self.rows = rows
        self.sectionsCarryRows = sectionsCarryRows
        before = rows
    }

    private func row(before path: IndexPath) throws -> Row {
        guard before.indices.contains(path.section), before[path.section].rows.indices.contains(path.row) else {
            throw Refusal("no row at \(path) before")
        }
        return before[path.section].rows[path.row]
    }

    /// Takes deleted and moved rows out of their old sections.
    private mutating func takeOut() throws {
        var gone: [Int: Set<Int>] = [:]
        for path in batch.items.deleted {
            try operations.items.deleted.note(try row(before: path).id, "deleted")
            gone[path.section, default: []].insert(path.row)
        }
        for (from, _) in batch.items.moved {
            try operations.items.moved.note(try row(before: from).id, "moved")
            gone[from.section, default: []].insert(from.row)
        }
        for (section, places) in gone {
            rows[section].rows = rows[section].rows.enumerated().filter { !places.contains($0.offset) }.map(\.element)
        }
    }

    private mutating func arrangeSections() throws {
        var coming: [Int: RowSection] = [:]
        for (at, tree) in batch.sections.inserted {
            let section =
                sectionsCarryRows
                ? try RowSection(inserted: tree, requiresItems: true) : try RowSection(bare: tree)
            try operations.sections.inserted.note(section.id, "inserted")
            coming[at] = section
        }
        for at in batch.sections.sources { try require(rows.indices.contains(at), "no section \(at) before") }
        for at in batch.sections.deleted {
            try require(sectionsCarryRows || rows[at].rows.isEmpty, "rows of a deleted section are not named")
            try operations.sections.deleted.note(rows[at].id, "deleted")
        }
        for (from, to) in batch.sections.moved {
            try operations.sections.moved.note(rows[from].id, "moved")
            coming[to] = rows[from]
        }
        let staying = rows.enumerated().filter { !batch.sections.sources.contains($0.offset) }.map(\.element)
        rows = try merged(staying: staying, coming: coming, what: "section")
    }

    private mutating func putIn() throws {
        var coming: [Int: [Int: Row]] = [:]
        for (at, tree) in batch.items.inserted {
            let row = try Row(inserted: tree)
            try operations.items.inserted.note(row.id, "inserted")
            coming[at.section, default: [:]][at.row] = row
        }
        for (from, to) in batch.items.moved { coming[to.section, default: [:]][to.row] = try row(before: from) }
        for (section, places) in coming {
            try require(rows.indices.contains(section), "no section \(section) after")
            rows[section].rows = try merged(staying: rows[section].rows, coming: places, what: "row in \(section),")
        }
    }

    private mutating func updateItems() throws {
        for (from, at, tree, manner) in batch.items.updated {
            let old = try row(before: from)
            guard rows.indices.contains(at.section), rows[at.section].rows.indices.contains(at.row) else {
                throw Refusal("no row at \(at) after")
            }
            let row = try Row(updated: tree, from: old)
            try require(row.id == old.id && row.id == rows[at.section].rows[at.row].id, "\(from) is not \(at)")
            try requireManner(manner, old: old, new: row)
            try operations.items.updated.note(row.id, "updated")
            rows[at.section].rows[at.row] = row
        }
    }

    private mutating func updateSections() throws {
        for (from, at, tree, manner) in batch.sections.updated {
            try requireManner(manner)
            try require(before.indices.contains(from) && rows.indices.contains(at), "no section \(from) or \(at)")
            let section = try RowSection(updated: tree, from: before[from])
            try require(section.id == before[from].id && section.id == rows[at].id, "section \(from) is not \(at)")
            try operations.sections.updated.note(section.id, "updated")
            rows[at] = rows[at].dressed(as: section)
        }
    }
}

/// Applies `indexed`: one batch in which each row is named separately.
enum IndexedApplier {
    static func apply(_ changes: Tree, to old: Rows) throws -> (rows: Rows, operations: Operations) {
        let batch = try Batch(try changes.members("sections", "items"), namesBoth: true)
        return try BatchApplier.apply(batch, to: old, sectionsCarryRows: false)
    }
}
