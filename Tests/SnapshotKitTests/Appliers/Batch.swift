// Shared by `indexed` and the stages of `staged`: one object of operations in two-state indexes, carried out like a
// batch of UICollectionView: removals are named by their place before, arrivals by their place after, and the rest
// closes the ranks.

/// A place of a row.
struct IndexPath: Hashable, CustomStringConvertible {
    var section: Int
    var row: Int

    var description: String { "[\(section),\(row)]" }

    init(_ section: Int, _ row: Int) {
        self.section = section
        self.row = row
    }

    init(_ tree: Tree) throws {
        let numbers = try tree.elements().map { try $0.integer() }
        try require(numbers.count == 2, "not an index path: \(tree)")
        self.init(numbers[0], numbers[1])
    }
}

/// Operations that are carried out at once.
struct Batch {
    /// Operations on places of one sort.
    struct List<Place: Hashable> {
        var deleted: [Place] = []
        var inserted: [(at: Place, tree: Tree)] = []
        var moved: [(from: Place, to: Place)] = []
        /// `from` is the place before; if not given, it is `at`.
        var updated: [(from: Place, at: Place, tree: Tree, manner: Tree)] = []
    }

    var sections = List<Int>()
    var items = List<IndexPath>()

    /// Reads the members `sections` and `items`; with `namesBoth` an update names `from` and `at`.
    init(_ members: [Text: Tree], namesBoth: Bool) throws {
        if let tree = members["sections"] {
            sections = try Self.list(tree, member: "section", namesBoth) { try $0.integer() }
        }
        if let tree = members["items"] {
            items = try Self.list(tree, member: "item", namesBoth) { try IndexPath($0) }
        }
    }

    private static func list<Place: Hashable>(
        _ tree: Tree, member: Text, _ namesBoth: Bool, place: (Tree) throws -> Place
    ) throws -> List<Place> {
        let lists = try tree.members("deleted", "inserted", "moved", "updated")
        try require(!lists.isEmpty, "an empty object of operations")
        var list = List<Place>()
        list.deleted = try lists.list("deleted", isNeverEmpty: true).map(place)
        list.inserted = try lists.list("inserted", isNeverEmpty: true).map { tree in
            let members = try tree.members("at", member)
            return (try place(try members.take("at")), try members.take(member))
        }
        list.moved = try lists.list("moved", isNeverEmpty: true).map { tree in
            let members = try tree.members("from", "to")
            return (try place(try members.take("from")), try place(try members.take("to")))
        }
        list.updated = try lists.list("updated", isNeverEmpty: true).map { tree in
            let members = try tree.members("at", "from", member, "as")
            try require((members["from"] != nil) == namesBoth, "from and at in \(tree)")
            let at = try place(try members.take("at"))
            return (try members["from"].map(place) ?? at, at, try members.take(member), try members.take("as"))
        }
        return list
    }
}

extension Batch.List {
    /// Places before, of everything that leaves.
    var sources: [Place] { deleted + moved.map(\.from) }
    /// Places after, of everything that arrives.
    var targets: [Place] { inserted.map(\.at) + moved.map(\.to) }

    /// No place before may be deleted, moved and updated, nor a place after filled twice.
    func requireNoneTwice() throws {
        try require(Set(sources).count == sources.count, "a place before is named twice")
        try require(Set(targets).count == targets.count, "a place after is named twice")
        try require(Set(updated.map(\.at)).count == updated.count, "an update is named twice")
    }
}

/// Puts arrivals at their places and lets the rest close the ranks between.
func merged<Element>(staying: [Element], coming: [Int: Element], what: String) throws -> [Element] {
    var (result, rest) = ([Element](), staying[...])
    let count = staying.count + coming.count
    for place in coming.keys { try require((0..<count).contains(place), "\(what) \(place) of \(count)") }
    for place in 0..<count { result.append(coming[place] ?? rest.removeFirst()) }
    return result
}
