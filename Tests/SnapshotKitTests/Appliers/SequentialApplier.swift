// `sequential` as CONTRACT §6 and DIFF §5 describe it: splices on one flat list, in which a section with content is one
// row.

/// One row of the flat list.
struct FlatRow: Equatable, Sendable {
    /// A section's header, without its rows; or nil.
    var header: RowSection?
    var row: Row?
    /// The section that an item is in.
    var section: Text?

    /// Headers and items have separate ids.
    var key: FlatKey { FlatKey(isHeader: header != nil, id: header?.id ?? row?.id ?? "") }
}

/// The identity of a row in the flat list.
struct FlatKey: Hashable, CustomStringConvertible, Sendable {
    var isHeader: Bool
    var id: Text

    var description: String { (isHeader ? "#" : "") + id.description }
}

extension [RowSection] {
    /// The one flat list that `sequential` works on.
    var flat: [FlatRow] {
        flatMap { section in
            let header =
                section.content == nil
                ? []
                : [FlatRow(header: RowSection(id: section.id, content: section.content, expanded: section.expanded))]
            return header + section.rows.map { FlatRow(row: $0, section: section.id) }
        }
    }
}

/// Applies `sequential` operations one by one.
struct SequentialApplier {
    /// Keys by what happened to them.
    struct Keys {
        var removed: Set<FlatKey> = []
        var inserted: Set<FlatKey> = []
        var moved: Set<FlatKey> = []
        var updated: Set<FlatKey> = []
    }

    private(set) var list: [FlatRow]
    private(set) var keys = Keys()
    /// The previous operation, with `as` if it was an update.
    private var last: (op: String, manner: Text?, range: Range<Int>)?
    private var phase = 0

    /// The list after `changes`, and what was done.
    static func apply(_ changes: Tree, to old: Rows) throws -> (list: [FlatRow], keys: Keys) {
        var applier = SequentialApplier(list: old.flat)
        for operation in try changes.elements() {
            do { try applier.apply(operation) } catch { throw Refusal("\(error) at \(operation)") }
        }
        return (applier.list, applier.keys)
    }

    private init(list: [FlatRow]) { self.list = list }

    private mutating func apply(_ operation: Tree) throws {
        let members = try operation.members("op", "at", "count", "rows", "from", "to", "in", "as")
        let op = try members.take("op").text().description
        switch op {
        case "remove": try remove(members)
        case "insert": try insert(members)
        case "move": try move(members)
        case "update": try update(members)
        default: throw Refusal("unknown operation")
        }
        let order = ["remove": 0, "insert": 1, "move": 1, "update": 2]
        try require(order[op, default: 0] >= phase, "\(op) comes too late")
        phase = order[op, default: 0]
    }

    /// Runs of neighbours are one operation.
    private mutating func requireMerged(_ op: String, as manner: Text? = nil, _ range: Range<Int>) throws {
        if let last, last.op == op, last.manner == manner {
            let touches =
                switch op {
                case "remove": range.upperBound == last.range.lowerBound || range.lowerBound == last.range.lowerBound
                case "insert": last.range.lowerBound...last.range.upperBound ~= range.lowerBound
                default: range.upperBound == last.range.lowerBound || range.lowerBound == last.range.upperBound
                }
            try require(!touches, "a run in two operations, \(last.range) and \(range)")
            if op == "remove" { try require(range.upperBound < last.range.lowerBound, "removals go to the start") }
        }
        last = (op, manner, range)
    }

    private func range(_ members: [Text: Tree], count: Int, within limit: Int) throws -> Range<Int> {
        let start = try members.take("at").integer()
        try require(count > 0, "an empty run")
        try require(start >= 0 && start + count <= limit, "\(start)+\(count) of \(limit)")
        return start..<start + count
    }

    private mutating func remove(_ members: [Text: Tree]) throws {
        try require(members.keys.count == 3, "members of a removal")
        let range = try range(members, count: try members.take("count").integer(), within: list.count)
        try requireMerged("remove", range)
        for row in list[range] { try require(keys.removed.insert(row.key).inserted, "\(row.key) is removed twice") }
        list.removeSubrange(range)
    }

    private mutating func insert(_ members: [Text: Tree]) throws {
        try require(members.keys.count == 3, "members of an insertion")
        let trees = try members.take("rows").elements()
        let range = try range(members, count: trees.count, within: list.count + trees.count)
        try requireMerged("insert", range)
        for (at, tree) in zip(range, trees) {
            let row = try Self.row(tree, from: nil)
            try require(!list.contains { $0.key == row.key }, "\(row.key) exists")
            try require(keys.inserted.insert(row.key).inserted, "\(row.key) is inserted twice")
            list.insert(row, at: at)
        }
    }

    private mutating func move(_ members: [Text: Tree]) throws {
        try require(members.keys.count == (members["in"] == nil ? 3 : 4), "members of a move")
        let (from, to) = (try members.take("from").integer(), try members.take("to").integer())
        try require(list.indices.contains(from) && list.indices.contains(to), "\(from) or \(to) of \(list.count)")
        last = nil
        var row = list.remove(at: from)
        if let home = members["in"] {
            let section = try home.id()
            try require(row.section != nil && row.section != section, "\(row.key) is in \(section) already")
            row.section = section
        }
        try require(keys.moved.insert(row.key).inserted, "\(row.key) is moved twice")
        list.insert(row, at: to)
    }

    private mutating func update(_ members: [Text: Tree]) throws {
        try require(members.keys.count == 4, "members of an update")
        let trees = try members.take("rows").elements()
        let manner = try members.take("as")
        let range = try range(members, count: trees.count, within: list.count)
        try requireMerged("update", as: try manner.text(), range)
        for (at, tree) in zip(range, trees) {
            let row = try Self.row(tree, from: list[at])
            try require(row.key == list[at].key, "\(list[at].key) becomes \(row.key)")
            if let old = list[at].row, let new = row.row {
                try requireManner(manner, old: old, new: new)
            } else {
                try requireManner(manner)
            }
            try require(keys.updated.insert(row.key).inserted, "\(row.key) is updated twice")
            list[at] = row
        }
    }

    private static func row(_ tree: Tree, from old: FlatRow?) throws -> FlatRow {
        let members = try tree.members("section", "item", "in")
        if let section = members["section"] {
            try require(members.count == 1, "a header and more")
            let header = try old?.header.map { try RowSection(updated: section, from: $0) } ?? RowSection(bare: section)
            try require(header.content != nil, "a header without content")
            return FlatRow(header: header)
        }
        let (item, section) = (try members.take("item"), try members.take("in").id())
        let row = try old?.row.map { try Row(updated: item, from: $0) } ?? Row(inserted: item)
        return FlatRow(row: row, section: section)
    }
}
