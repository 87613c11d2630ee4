/// The rules of a state in the library's own shape, on a tree.
struct StateRules {
    private var items: Set<Text> = []
    private var sections: Set<Text> = []

    /// Whether a tree is a state.
    static func accept(_ tree: Tree) -> Bool {
        var rules = StateRules()
        switch tree {
        case .array: return rules.acceptItems(tree, level: 0)
        case .object(var members):
            members["content"] = nil
            guard members.count == 1 else { return false }
            if let list = members["items"] { return rules.acceptItems(list, level: 0) }
            guard let list = members["sections"] else { return false }
            if isNull(list) { return true }
            guard case .array(let sections) = list else { return false }
            return sections.allSatisfy { rules.acceptSection($0) }
        default: return false
        }
    }

    private static func isNull(_ tree: Tree) -> Bool { if case .token("null") = tree { true } else { false } }

    private mutating func acceptSection(_ tree: Tree) -> Bool {
        guard let members = try? tree.members("id", "content", "expanded", "items") else { return false }
        return acceptID(members["id"], in: \.sections) && Self.isFlag(members["expanded"])
            && members["items"].map { acceptItems($0, level: 0) } ?? true
    }

    private mutating func acceptItems(_ tree: Tree, level: Int) -> Bool {
        if Self.isNull(tree) { return true }
        guard case .array(let elements) = tree else { return false }
        return elements.isEmpty || level < 8 && elements.allSatisfy { acceptItem($0, level: level) }
    }

    private mutating func acceptItem(_ tree: Tree, level: Int) -> Bool {
        guard case .object = tree else { return acceptID(tree, in: \.items) }
        guard let members = try? tree.members("id", "content", "kind", "expanded", "items") else { return false }
        if let kind = members["kind"] { guard case .string = kind else { return false } }
        guard acceptID(members["id"], in: \.items), Self.isFlag(members["expanded"]) else { return false }
        guard let list = members["items"] else { return true }
        return acceptItems(list, level: level + 1)
    }

    private mutating func acceptID(_ tree: Tree?, in ids: WritableKeyPath<StateRules, Set<Text>>) -> Bool {
        let text: Text
        switch tree {
        case .token(let token)? where token.utf8.allSatisfy({ "-0123456789".utf8.contains($0) }): text = Text(token)
        case .string(let string)?:
            let scalars = string.description.unicodeScalars
            guard scalars.allSatisfy({ $0.properties.generalCategory != .control }) else { return false }
            text = string
        default: return false
        }
        return (1...2_048).contains(text.bytes.count) && self[keyPath: ids].insert(text).inserted
    }

    private static func isFlag(_ tree: Tree?) -> Bool { tree.map { (try? $0.boolean()) != nil } ?? true }
}
