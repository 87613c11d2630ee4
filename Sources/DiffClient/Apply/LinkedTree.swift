/// An ordered tree of numbered vertices. Inserting or detaching a vertex with its subtree is O(1).
///
/// Vertex 0 is the root. Any other vertex without a parent is detached.
struct LinkedTree {
    /// No vertex.
    static let none = -1
    static let root = 0

    private struct Links {
        var parent: Int32 = -1
        var previous: Int32 = -1
        var next: Int32 = -1
        var first: Int32 = -1
        var last: Int32 = -1
    }

    private var links: [Links]

    /// A root and `count - 1` detached vertices.
    init(count: Int) { links = [Links](repeating: Links(), count: count) }

    /// Adds a detached vertex.
    mutating func add() -> Int {
        links.append(Links())
        return links.count - 1
    }

    func parent(of vertex: Int) -> Int { Int(links[vertex].parent) }
    func next(after vertex: Int) -> Int { Int(links[vertex].next) }
    func first(in parent: Int) -> Int { Int(links[parent].first) }
    func last(in parent: Int) -> Int { Int(links[parent].last) }

    /// Whether a vertex other than the root is in the tree.
    func contains(_ vertex: Int) -> Bool { links[vertex].parent >= 0 }

    /// Inserts a detached vertex below `parent`, before its child `next` or at the end.
    mutating func insert(_ vertex: Int, below parent: Int, before next: Int = none) {
        let number = Int32(truncatingIfNeeded: vertex)
        let previous = next >= 0 ? links[next].previous : links[parent].last
        links[vertex].parent = Int32(truncatingIfNeeded: parent)
        links[vertex].previous = previous
        links[vertex].next = Int32(truncatingIfNeeded: next)
        if previous >= 0 { links[Int(previous)].next = number } else { links[parent].first = number }
        if next >= 0 { links[next].previous = number } else { links[parent].last = number }
    }

    /// Detaches a vertex with its subtree.
    mutating func detach(_ vertex: Int) {
        let link = links[vertex]
        let parent = Int(link.parent)
        if link.previous >= 0 { links[Int(link.previous)].next = link.next } else { links[parent].first = link.next }
        if link.next >= 0 { links[Int(link.next)].previous = link.previous } else { links[parent].last = link.previous }
        (links[vertex].parent, links[vertex].previous, links[vertex].next) = (-1, -1, -1)
    }

    /// Detaches all vertices below one from each other, and returns them. O(vertices).
    mutating func dissolve(below vertex: Int) -> [Int] {
        var dissolved: [Int] = []
        var (parent, next) = (vertex, 0)
        while true {
            var child = first(in: parent)
            links[parent].first = -1
            links[parent].last = -1
            while child >= 0 {
                dissolved.append(child)
                let sibling = self.next(after: child)
                (links[child].parent, links[child].previous, links[child].next) = (-1, -1, -1)
                child = sibling
            }
            guard next < dissolved.count else { return dissolved }
            parent = dissolved[next]
            next += 1
        }
    }
}
