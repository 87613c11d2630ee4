/// The tree of an edited state: any vertex, with everything below it, is taken out or put in at the cost of its
/// neighbours.
///
/// The children of the root are the sections, and theirs are the items. Only links that edits touch are stored; all
/// others follow from the old state's columns, in O(levels).
struct EditedTree {
    /// No vertex.
    static let none = -1
    static let root = ColumnsTree.root

    private struct Links {
        var parent = Int32(EditedTree.none)
        var previous = Int32(EditedTree.none)
        var next = Int32(EditedTree.none)
        var first = Int32(EditedTree.none)
        var last = Int32(EditedTree.none)
        /// Whether its old children are out of the tree, unless they were touched.
        var isCleared = false
    }

    private let old: ColumnsTree
    private var touched: [Int: Links] = [:]

    /// The tree of a state. Vertices that it does not have are out of the tree.
    init(_ old: ColumnsView) { self.old = ColumnsTree(old) }

    func parent(of vertex: Int) -> Int { Int(links(vertex).parent) }
    func next(after vertex: Int) -> Int { Int(links(vertex).next) }
    func first(in parent: Int) -> Int { Int(links(parent).first) }
    func last(in parent: Int) -> Int { Int(links(parent).last) }

    func children(of parent: Int) -> [Int] { sequence(first: first(in: parent)) { next(after: $0) }.prefix { $0 >= 0 } }

    /// Whether a vertex that is not the root is in the tree. O(levels).
    func contains(_ vertex: Int) -> Bool {
        var vertex = vertex
        while vertex != Self.root {
            if let links = touched[vertex] {
                vertex = Int(links.parent)
            } else {
                vertex = Int(oldLinks(vertex).parent)
                if let parent = touched[vertex], parent.isCleared { return false }
            }
            if vertex < 0 { return false }
        }
        return true
    }

    /// A vertex and its ancestors, up to the root.
    func lineage(of vertex: Int) -> Set<Int> {
        var lineage: Set<Int> = []
        var ancestor = vertex
        while ancestor >= 0 {
            lineage.insert(ancestor)
            ancestor = parent(of: ancestor)
        }
        return lineage
    }

    mutating func touch(_ vertex: Int) { change(vertex) { _ in } }

    /// Puts a vertex that is out of the tree below `parent`: before its child `next`, or at its end.
    mutating func insert(_ vertex: Int, below parent: Int, before next: Int) {
        let number = Int32(truncatingIfNeeded: vertex)
        let previous = next >= 0 ? links(next).previous : links(parent).last
        change(vertex) {
            $0.parent = Int32(truncatingIfNeeded: parent)
            $0.previous = previous
            $0.next = Int32(truncatingIfNeeded: next)
        }
        if previous >= 0 { change(Int(previous)) { $0.next = number } }
        if next >= 0 { change(next) { $0.previous = number } }
        change(parent) {
            if previous < 0 { $0.first = number }
            if next < 0 { $0.last = number }
        }
    }

    /// Takes a vertex out with everything below it, for good or to be put in again.
    mutating func detach(_ vertex: Int) {
        let link = links(vertex)
        if link.previous >= 0 { change(Int(link.previous)) { $0.next = link.next } }
        if link.next >= 0 { change(Int(link.next)) { $0.previous = link.previous } }
        change(Int(link.parent)) {
            if link.previous < 0 { $0.first = link.next }
            if link.next < 0 { $0.last = link.previous }
        }
        change(vertex) { ($0.parent, $0.previous, $0.next) = (-1, -1, -1) }
    }

    /// Takes out for good everything below some vertices. O(vertices), and O(touched) if anything is below them.
    mutating func clear(_ vertices: [Int]) {
        let filled = Set(vertices.filter { first(in: $0) >= 0 })
        // Vertices below another of them go with that one.
        let outermost = filled.filter { filled.isDisjoint(with: lineage(of: parent(of: $0))) }
        guard !outermost.isEmpty else { return }
        for (child, links) in touched where outermost.contains(Int(links.parent)) { touched[child]!.parent = -1 }
        for vertex in outermost { change(vertex) { ($0.first, $0.last, $0.isCleared) = (-1, -1, true) } }
    }

    private mutating func change(_ vertex: Int, _ body: (inout Links) -> Void) {
        var links = links(vertex)
        body(&links)
        touched[vertex] = links
    }

    private func links(_ vertex: Int) -> Links { touched[vertex] ?? oldLinks(vertex) }

    /// The links that a vertex has in the old state; none if it is not there.
    private func oldLinks(_ vertex: Int) -> Links {
        var links = Links()
        guard old.vertices.contains(vertex) else { return links }
        if vertex != Self.root {
            let (parent, end) = (old.parent(of: vertex), old.end(of: vertex))
            let siblings = old.below(parent)
            links.parent = Int32(truncatingIfNeeded: parent)
            if vertex > siblings.lowerBound { links.previous = child(of: parent, holding: vertex - 1) }
            if end < siblings.upperBound { links.next = Int32(truncatingIfNeeded: end) }
        }
        let below = old.below(vertex)
        if !below.isEmpty {
            links.first = Int32(truncatingIfNeeded: below.lowerBound)
            links.last = child(of: vertex, holding: below.upperBound - 1)
        }
        return links
    }

    /// The old child of a vertex that another one is, or is below.
    private func child(of parent: Int, holding vertex: Int) -> Int32 {
        var child = vertex
        while case let next = old.parent(of: child), next != parent { child = next }
        return Int32(truncatingIfNeeded: child)
    }

    /// Whether the resulting state may differ.
    var isTouched: Bool { !touched.isEmpty }

    /// Old items before which something may have changed, in ascending order: the stretch between two of them is as it
    /// was, or gone as a whole. O(touched · log touched).
    func cuts() -> [Int] {
        touched.keys.lazy.filter(old.items.contains).flatMap { [$0, $0 + 1, old.end(of: $0)] }
            .map { $0 - old.firstItem }.sorted()
    }

    func isUntouchedItem(_ vertex: Int) -> Bool { old.items.contains(vertex) && touched[vertex] == nil }
}
