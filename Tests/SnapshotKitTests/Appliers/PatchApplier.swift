// `json-patch` as CONTRACT §6 and DIFF §7 describe it. The document is patched by RFC 6902 alone; the targets of the
// paths are then checked, to see that sections and items were treated as units, and which ones.
//
// RFC 6902 §4.4 forbids a move whose `from` is a proper prefix of its `path`, even where the removal has shifted
// another element there: a row cannot go into its next sibling by one operation. Only then may a unit take two moves,
// one right after the other.

/// Applies `json-patch` to a document.
struct PatchApplier {
    private(set) var document: Tree
    private(set) var operations = Operations()
    /// The move just before, as the first half of a detour.
    private var lastMove: (id: Text, isSection: Bool, from: PatchPath)?

    /// The target of a path.
    private enum Target {
        case section, item
        /// A section's or item's list of items.
        case items
        /// The array of sections.
        case sections
        /// The list's own content, or something inside it.
        case list
        /// A member of a section or item, or something inside it.
        case member(owner: PatchPath, isSection: Bool, name: Text)
    }

    static func apply(_ changes: Tree, to document: Tree) throws -> (document: Tree, operations: Operations) {
        var applier = PatchApplier(document: document)
        for operation in try changes.elements() {
            do { try applier.apply(operation) } catch { throw Refusal("\(error) at \(operation)") }
        }
        return (applier.document, applier.operations)
    }

    private init(document: Tree) { self.document = document }

    private mutating func apply(_ operation: Tree) throws {
        let members = try operation.members("op", "path", "from", "value")
        let path = try PatchPath(try members.take("path"))
        let op = try members.take("op").text().description
        if op != "move" { lastMove = nil }
        switch op {
        case "add": try add(try members.take("value"), path)
        case "remove": try remove(path)
        case "replace": try replace(try members.take("value"), path)
        case "move": try move(try PatchPath(try members.take("from")), path)
        default: throw Refusal("an operation that is never used")
        }
    }

    private static func target(_ path: PatchPath) throws -> Target {
        let tokens = path.tokens
        if tokens.first == "content" { return .list }
        try require(tokens.first == "sections", "not below /sections")
        if tokens.count == 1 { return .sections }
        if tokens.count == 2 { return .section }
        var depth = 2
        while depth < tokens.count, tokens[depth] == "items" {
            if depth + 1 == tokens.count { return .items }
            if depth + 2 == tokens.count { return .item }
            depth += 2
        }
        return .member(owner: PatchPath(Array(tokens[..<depth])), isSection: depth == 2, name: tokens[depth])
    }

    private mutating func note(_ target: Target) throws {
        guard case .member(let owner, let isSection, let name) = target else { return }
        try require(["content", "kind", "expanded"].contains(name), "the member \(name) is changed")
        let id = try document.value(at: owner).identity()
        if isSection { operations.sections.updated.insert(id) } else { operations.items.updated.insert(id) }
    }

    // MARK: Operations

    private mutating func add(_ value: Tree, _ path: PatchPath) throws {
        let target = try Self.target(path)
        switch target {
        case .section:
            try operations.sections.inserted.note(try value.identity(), "added")
            try noteAdded(try value.below())
        case .item: try noteAdded([value])
        case .items: try noteAdded(try value.elements())
        case .sections: throw Refusal("the array of sections is added")
        case .member, .list: try note(target)
        }
        if case .items = target { try require((try? document.value(at: path)) == nil, "items is there already") }
        try document.add(value, at: path)
    }

    private mutating func remove(_ path: PatchPath) throws {
        let target = try Self.target(path)
        let value = try document.value(at: path)
        switch target {
        case .section:
            try operations.sections.deleted.note(try value.identity(), "removed")
            try noteRemoved(try value.below())
        case .item: try noteRemoved([value])
        case .items: try noteRemoved(try value.elements())
        case .sections: throw Refusal("the array of sections is removed")
        case .member, .list: try note(target)
        }
        _ = try document.remove(at: path)
    }

    private mutating func replace(_ value: Tree, _ path: PatchPath) throws {
        let target = try Self.target(path)
        switch target {
        case .member, .list: break
        default: throw Refusal("a unit is replaced")
        }
        try note(target)
        try document.replace(value, at: path)
    }

    private mutating func move(_ from: PatchPath, _ path: PatchPath) throws {
        try require(!path.isBelow(from), "moved below itself")
        let id = try document.value(at: from).identity()
        // A section and an item may have one id.
        var isSection = false
        if case .section = try Self.target(from) { isSection = true }
        if let lastMove, lastMove.id == id, lastMove.isSection == isSection {
            try require(path.isBelow(lastMove.from), "a detour where one move would do")
            operations.items.moved.remove(id)
        }
        lastMove = (id, isSection, from)
        switch (try Self.target(from), try Self.target(path)) {
        case (.section, .section): try operations.sections.moved.note(id, "moved")
        case (.item, .item): try operations.items.moved.note(id, "moved")
        default: throw Refusal("what is moved is no unit")
        }
        try document.add(try document.remove(at: from), at: path)
    }

    // MARK: Units

    private mutating func noteAdded(_ items: [Tree]) throws {
        for item in items {
            try operations.items.inserted.note(try item.identity(), "added")
            try noteAdded(try item.below())
        }
    }

    private mutating func noteRemoved(_ items: [Tree]) throws {
        for item in items {
            try operations.items.deleted.note(try item.identity(), "removed")
            try noteRemoved(try item.below())
        }
    }
}

extension Tree {
    /// The id of a section or item of a document.
    func identity() throws -> Text {
        guard case .object(let members) = self else { throw Refusal("no unit: \(self)") }
        return try members.take("id").id()
    }

    /// The items below a section or item of a document.
    func below() throws -> [Tree] {
        guard case .object(let members) = self else { throw Refusal("no unit: \(self)") }
        return try members.list("items")
    }
}
