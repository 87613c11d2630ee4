/// The rules of a state in the library's own shape, on a tree.
public struct StateRules {
    private var items: Set<[UInt8]> = []
    private var sections: Set<[UInt8]> = []

    /// Whether a tree is a state.
    public static func accept(_ tree: Tree) -> Bool {
        var rules = StateRules()
        if case .array = tree { return rules.acceptItems(tree, level: 0) }
        guard case .object(let members) = tree, members.count == 1 else { return false }
        if let list = tree["items"] { return rules.acceptItems(list, level: 0) }
        guard case .array(let sections) = tree["sections"] else { return false }
        return sections.allSatisfy { rules.acceptSection($0) }
    }

    private mutating func acceptSection(_ tree: Tree) -> Bool {
        guard Self.holdsOnly(["id", "content", "expanded", "items"], tree), let list = tree["items"] else {
            return false
        }
        return acceptID(tree["id"], in: \.sections) && Self.isFlag(tree["expanded"]) && acceptItems(list, level: 0)
    }

    private mutating func acceptItems(_ tree: Tree, level: Int) -> Bool {
        guard case .array(let elements) = tree else { return false }
        return elements.isEmpty || level < 8 && elements.allSatisfy { acceptItem($0, level: level) }
    }

    private mutating func acceptItem(_ tree: Tree, level: Int) -> Bool {
        guard case .object = tree else { return acceptID(tree, in: \.items) }
        guard Self.holdsOnly(["id", "content", "kind", "expanded", "items"], tree) else { return false }
        if let kind = tree["kind"] { guard case .string = kind else { return false } }
        guard acceptID(tree["id"], in: \.items), Self.isFlag(tree["expanded"]) else { return false }
        guard let list = tree["items"] else { return true }
        return acceptItems(list, level: level + 1)
    }

    private mutating func acceptID(_ tree: Tree?, in ids: WritableKeyPath<StateRules, Set<[UInt8]>>) -> Bool {
        guard let text = tree?.idText, (1...2_048).contains(text.count) else { return false }
        switch tree {
        case .number: guard !text.contains(where: { ".eE".utf8.contains($0) }) else { return false }
        default:
            let scalars = String(decoding: text, as: UTF8.self).unicodeScalars
            guard scalars.allSatisfy({ $0.properties.generalCategory != .control }) else { return false }
        }
        return self[keyPath: ids].insert(text).inserted
    }

    private static func holdsOnly(_ names: [String], _ tree: Tree) -> Bool {
        guard case .object(let members) = tree else { return false }
        return members.allSatisfy { names.contains(String(decoding: $0.name, as: UTF8.self)) }
    }

    private static func isFlag(_ tree: Tree?) -> Bool { tree == nil || tree == .yes || tree == .no }
}
