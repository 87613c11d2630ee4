/// Compares the operations of `json-patch` inside each content of a document with replacing that content as a whole.
func requireSmallContents(_ patch: Tree, in target: Tree) throws {
    var sizes: [[Text]: Int] = [:]
    for operation in try patch.elements() {
        let path = try PatchPath(try operation.members("op", "path", "from", "value").take("path"))
        guard let place = path.tokens.firstIndex(of: "content"), place.isMultiple(of: 2) else { continue }
        sizes[Array(path.tokens[...place]), default: -1] += operation.json.utf8.count + 1
    }
    for (tokens, size) in sizes {
        let path = PatchPath(tokens)
        // All members are patched at the end, when every element is in its final place.
        guard let content = try? target.value(at: path) else { continue }
        let pointer = Text(path.description)
        let whole = Tree.object(["op": .string("replace"), "path": .string(pointer), "value": content])
        try require(size <= whole.json.utf8.count, "\(path) takes \(size) bytes, replaced \(whole.json.utf8.count)")
    }
}
