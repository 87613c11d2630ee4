/// A state as a tree: vertex 0 is the root, its children are the sections, and theirs are the items. After the sections
/// come the items, in their order, so what is below a section or an item is adjacent.
struct ColumnsTree {
    static let root = 0

    let view: ColumnsView
    let firstItem: Int

    init(_ view: ColumnsView) { (self.view, firstItem) = (view, 1 + view.sections.count) }

    var vertices: Range<Int> { 0..<firstItem + view.nodes.count }
    var items: Range<Int> { firstItem..<firstItem + view.nodes.count }

    /// The parent of a vertex that is not the root.
    func parent(of vertex: Int) -> Int {
        guard vertex >= firstItem else { return Self.root }
        let node = view.nodes[vertex - firstItem]
        return node.parent >= 0 ? firstItem + Int(node.parent) : 1 + Int(node.section)
    }

    /// The sections below the root; the items below a section or an item, at any depth.
    func below(_ vertex: Int) -> Range<Int> {
        if vertex == Self.root { return 1..<firstItem }
        guard vertex < firstItem else { return vertex + 1..<end(of: vertex) }
        let section = view.sections[vertex - 1]
        return firstItem + Int(section.firstItem)..<firstItem + Int(section.endItem)
    }

    /// The vertex after a section, or after an item and everything below it: its next sibling, if it has one.
    func end(of vertex: Int) -> Int {
        vertex < firstItem ? vertex + 1 : firstItem + Int(view.nodes[vertex - firstItem].end)
    }
}
