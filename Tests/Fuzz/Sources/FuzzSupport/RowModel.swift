// What a client shows, and how it applies changes: arrays, searched from the front, copied whole.

/// A list as a client shows it.
public struct RowModel: Equatable {
    /// One section and its rows.
    public struct Section: Equatable {
        /// The id as it was written.
        public var id: [UInt8]
        /// All that is said of the section but for its items.
        public var shown: Tree
        /// The rows, in order.
        public var rows: [Tree]
    }

    /// The sections, in order.
    public var sections: [Section] = []

    /// From what a reset carries.
    public init?(rows json: [UInt8]) {
        guard let tree = Tree(json, maxDepth: 1_000), let list = tree["sections"] else { return nil }
        sections = list.elements.map { Section($0) }
    }

    /// Rows of all sections.
    public var rowCount: Int { sections.reduce(0) { $0 + $1.rows.count } }
}

extension RowModel.Section {
    init(_ tree: Tree) {
        id = tree["id"]?.idText ?? []
        shown = tree.without("items").sorted
        rows = tree["items"]?.elements.map(\.asRow) ?? []
    }
}

extension Tree {
    /// A row, less what an update says only to take it back: the defaults.
    var asRow: Tree {
        var row = self
        if row["level"] == .number([UInt8(ascii: "0")]) { row = row.without("level") }
        if row["parent"] == .null { row = row.without("parent") }
        return row.sorted
    }

    func without(_ name: String) -> Tree {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.name != Array(name.utf8) })
    }
}

// MARK: keyed

extension RowModel {
    /// Applies the operations of the dialect `keyed`; nil if one names what is not there.
    public func applying(keyed changes: Tree) -> RowModel? {
        var model = self
        for operation in changes.elements {
            guard model.apply(operation) else { return nil }
        }
        return model
    }

    private mutating func apply(_ operation: Tree) -> Bool {
        let isSection = operation["section"] != nil
        guard let subject = operation[isSection ? "section" : "item"] else { return false }
        switch operation["op"] {
        case .string(Array("insert".utf8)):
            return isSection ? insert(section: subject, operation) : insert(row: subject, operation)
        case .string(Array("move".utf8)):
            return isSection ? move(section: subject, operation) : move(row: subject, operation)
        case .string(Array("remove".utf8)): return isSection ? take(section: subject) != nil : take(row: subject) != nil
        case .string(Array("update".utf8)): return isSection ? update(section: subject) : update(row: subject)
        default: return false
        }
    }

    private func index(ofSection id: Tree?) -> Int? {
        guard let id = id?.idText else { return nil }
        return sections.firstIndex { $0.id == id }
    }

    private func path(ofRow id: Tree?) -> (Int, Int)? {
        guard let id = id?.idText else { return nil }
        for section in sections.indices {
            if let row = sections[section].rows.firstIndex(where: { $0["id"]?.idText == id }) { return (section, row) }
        }
        return nil
    }

    private mutating func take(section id: Tree) -> Section? {
        index(ofSection: id).map { sections.remove(at: $0) }
    }

    private mutating func take(row id: Tree) -> Tree? {
        path(ofRow: id).map { sections[$0.0].rows.remove(at: $0.1) }
    }

    private mutating func insert(section: Tree, _ operation: Tree) -> Bool {
        put(Section(section), operation)
    }

    private mutating func put(_ section: Section, _ operation: Tree) -> Bool {
        if operation["before"] == .null {
            sections.append(section)
            return true
        }
        guard let anchor = index(ofSection: operation["before"]) else { return false }
        sections.insert(section, at: anchor)
        return true
    }

    private mutating func move(section id: Tree, _ operation: Tree) -> Bool {
        guard let section = take(section: id) else { return false }
        return put(section, operation)
    }

    private mutating func insert(row: Tree, _ operation: Tree) -> Bool {
        guard let section = index(ofSection: operation["in"]), path(ofRow: row["id"]) == nil else { return false }
        if operation["before"] == .null {
            sections[section].rows.append(row.asRow)
            return true
        }
        guard let (anchorSection, anchor) = path(ofRow: operation["before"]), anchorSection == section else {
            return false
        }
        sections[section].rows.insert(row.asRow, at: anchor)
        return true
    }

    private mutating func move(row id: Tree, _ operation: Tree) -> Bool {
        guard let row = take(row: id) else { return false }
        return insert(row: row, operation)
    }

    private mutating func update(section: Tree) -> Bool {
        guard let index = index(ofSection: section["id"]) else { return false }
        sections[index].shown = section.sorted
        return true
    }

    private mutating func update(row: Tree) -> Bool {
        guard let (section, index) = path(ofRow: row["id"]) else { return false }
        sections[section].rows[index] = row.asRow
        return true
    }
}

// MARK: indexed

extension RowModel {
    /// Applies the object of the dialect `indexed`; nil if its indexes do not fit.
    public func applying(indexed changes: Tree) -> RowModel? {
        var model = self
        model.sections = []
        guard let order = Self.merge(sections.indices.map { $0 }, changes["sections"], key: { $0.integer.map { [$0] } })
        else { return nil }
        var rows: [[Int]: Tree] = [:]
        for (section, content) in sections.enumerated() {
            for (row, tree) in content.rows.enumerated() { rows[[section, row]] = tree }
        }
        let left = Place.left(Set(rows.keys), changes["items"])
        guard let placed = Place.placed(rows, changes["items"]) else { return nil }
        for (index, source) in order.enumerated() {
            var section: Section
            var staying: [Tree] = []
            switch source {
            case .old(let old):
                section = sections[old]
                staying = section.rows.indices.filter { left.contains([old, $0]) }.map { section.rows[$0] }
            case .new(let tree): section = Section(tree)
            }
            section.rows = []
            staying.reverse()
            while let row = placed[[index, section.rows.count]] ?? staying.popLast() { section.rows.append(row) }
            model.sections.append(section)
        }
        guard model.rowCount == left.count + placed.count else { return nil }
        return model.updated(changes)
    }

    private enum Source {
        case old(Int)
        case new(Tree)
    }

    /// The order of the final sections: those placed by name of an index, and the others as they were.
    private static func merge(_ old: [Int], _ lists: Tree?, key: (Tree) -> [Int]?) -> [Source]? {
        var gone = Set(lists?["deleted"]?.elements.compactMap(\.integer) ?? [])
        var placed: [Int: Source] = [:]
        for entry in lists?["inserted"]?.elements ?? [] {
            guard let at = entry["at"]?.integer, let section = entry["section"] else { return nil }
            placed[at] = .new(section)
        }
        for entry in lists?["moved"]?.elements ?? [] {
            guard let from = entry["from"]?.integer, let to = entry["to"]?.integer, old.contains(from) else {
                return nil
            }
            guard gone.insert(from).inserted, placed.updateValue(.old(from), forKey: to) == nil else { return nil }
        }
        var staying = old.filter { !gone.contains($0) }[...]
        var order: [Source] = []
        while let source = placed.removeValue(forKey: order.count) ?? staying.popFirst().map(Source.old) {
            order.append(source)
        }
        return placed.isEmpty ? order : nil
    }

    private func updated(_ changes: Tree) -> RowModel? {
        var model = self
        for entry in changes["sections"]?["updated"]?.elements ?? [] {
            guard let at = entry["at"]?.integer, model.sections.indices.contains(at), let section = entry["section"]
            else { return nil }
            model.sections[at].shown = section.sorted
        }
        for entry in changes["items"]?["updated"]?.elements ?? [] {
            guard let path = entry["at"]?.path, let item = entry["item"], model.sections.indices.contains(path[0]),
                model.sections[path[0]].rows.indices.contains(path[1])
            else { return nil }
            model.sections[path[0]].rows[path[1]] = item.asRow
        }
        return model
    }
}

private enum Place {
    /// Old paths of rows that are neither deleted nor moved.
    static func left(_ paths: Set<[Int]>, _ lists: Tree?) -> Set<[Int]> {
        var left = paths
        for path in lists?["deleted"]?.elements ?? [] { if let path = path.path { left.remove(path) } }
        for entry in lists?["moved"]?.elements ?? [] { if let path = entry["from"]?.path { left.remove(path) } }
        return left
    }

    /// Rows by final path: those inserted, and those moved.
    static func placed(_ rows: [[Int]: Tree], _ lists: Tree?) -> [[Int]: Tree]? {
        var placed: [[Int]: Tree] = [:]
        for entry in lists?["inserted"]?.elements ?? [] {
            guard let path = entry["at"]?.path, let item = entry["item"] else { return nil }
            guard placed.updateValue(item.asRow, forKey: path) == nil else { return nil }
        }
        for entry in lists?["moved"]?.elements ?? [] {
            guard let from = entry["from"]?.path, let to = entry["to"]?.path, let row = rows[from] else { return nil }
            guard placed.updateValue(row, forKey: to) == nil else { return nil }
        }
        return placed
    }
}

extension Tree {
    /// `[section,row]`.
    fileprivate var path: [Int]? {
        let path = elements.compactMap(\.integer)
        return path.count == 2 ? path : nil
    }
}
