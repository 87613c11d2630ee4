/// A state's document as a tree: the document, its sections, and its items, each an element of the array of what holds
/// it. Vertex 0 is the document; the sections follow, then the items. An array is named by the vertex that holds it.
struct DocumentTree {
    static let root = 0

    let view: ColumnsView
    /// The vertex of the first item.
    let firstItem: Int
    private let ordinals: SiblingOrdinals

    init(_ view: ColumnsView) {
        self.view = view
        firstItem = 1 + view.sections.count
        ordinals = SiblingOrdinals(view.nodes, sections: view.sections.count)
    }

    var vertices: Range<Int> { 0..<firstItem + view.nodes.count }

    /// Index of an element in its array.
    func ordinal(of vertex: Int) -> Int { vertex < firstItem ? vertex - 1 : ordinals[vertex - firstItem] }

    func parent(of vertex: Int) -> Int {
        guard vertex >= firstItem else { return Self.root }
        let node = view.nodes[vertex - firstItem]
        return node.parent >= 0 ? firstItem + Int(node.parent) : 1 + Int(node.section)
    }

    /// Whether the document has an array there: items without children have none.
    func hasArray(_ vertex: Int) -> Bool {
        vertex < firstItem || Int(view.nodes[vertex - firstItem].end) > vertex - firstItem + 1
    }

    /// The elements of an array, in order.
    func children(of vertex: Int) -> Siblings {
        if vertex == Self.root { return Siblings(tree: self, vertex: 1, end: firstItem) }
        let items = items(below: vertex)
        return Siblings(tree: self, vertex: firstItem + items.lowerBound, end: firstItem + items.upperBound)
    }

    /// The items below a section or an item, at any depth, by their index in the state.
    func items(below vertex: Int) -> Range<Int> {
        if vertex >= firstItem { return vertex - firstItem + 1..<Int(view.nodes[vertex - firstItem].end) }
        return Int(view.sections[vertex - 1].firstItem)..<Int(view.sections[vertex - 1].endItem)
    }

    struct Siblings: Sequence, IteratorProtocol {
        fileprivate let tree: DocumentTree
        fileprivate var vertex: Int
        fileprivate let end: Int

        mutating func next() -> Int? {
            guard vertex < end else { return nil }
            defer {
                let item = vertex - tree.firstItem
                vertex = item < 0 ? vertex + 1 : tree.firstItem + Int(tree.view.nodes[item].end)
            }
            return vertex
        }
    }
}
