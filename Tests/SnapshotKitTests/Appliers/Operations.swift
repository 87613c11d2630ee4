/// An applier's findings about a changeset, for comparison with the minimum.
struct Operations: Equatable, CustomStringConvertible {
    /// Ids by what happened to them.
    struct IDs: Equatable {
        var deleted: Set<Text> = []
        var inserted: Set<Text> = []
        var moved: Set<Text> = []
        var updated: Set<Text> = []
    }

    var items = IDs()
    var sections = IDs()

    var description: String { "items \(items.counts), sections \(sections.counts)" }
}

extension Operations.IDs {
    var counts: Counts {
        Counts(deletions: deleted.count, insertions: inserted.count, moves: moved.count, updates: updated.count)
    }
}

/// How many operations of each sort.
struct Counts: Equatable, CustomStringConvertible, Sendable {
    var deletions = 0
    var insertions = 0
    var moves = 0
    var updates = 0

    var description: String { "-\(deletions) +\(insertions) ↕\(moves) ~\(updates)" }

    static func + (one: Counts, other: Counts) -> Counts {
        Counts(
            deletions: one.deletions + other.deletions, insertions: one.insertions + other.insertions,
            moves: one.moves + other.moves, updates: one.updates + other.updates)
    }
}

extension Set<Text> {
    /// Adds an id that must be new to the set.
    mutating func note(_ id: Text, _ what: String) throws {
        try require(insert(id).inserted, "\(id) is \(what) twice")
    }
}
