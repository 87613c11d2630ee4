// A tree of names, built once: a walk down a document descends the tree alongside it. A path that no pointer follows
// has no node, so nothing is looked up below it. A step searches the names of one node, however many pointers there
// are, and allocates nothing.

/// Places inside a content: those that equality and fingerprints ignore, or those that a view shows.
struct PlaceSet: Sendable {
    private let node: Node?

    static let none = PlaceSet(node: nil)

    private init(node: Node?) { self.node = node }

    /// The pointer to the whole content is left out: a content ignored altogether would be no content.
    init(_ pointers: [JSONPointer]) {
        let ways = pointers.filter { !$0.tokens.isEmpty }.map { $0.tokens[...] }
        node = ways.isEmpty ? nil : Node(ways)
    }

    @inline(__always)
    var isEmpty: Bool { node == nil }

    /// The places below a member, or nil if the member itself is one. O(log pointers).
    @inline(__always)
    func below(_ name: JSONString) -> PlaceSet? {
        guard let node else { return PlaceSet.none }
        return name.isEscaped
            ? Array(name.text).withUnsafeBytes(node.below)
            : node.below(UnsafeRawBufferPointer(start: name.start, count: name.count))
    }

    /// The places below an element, or nil if the element itself is one. O(log pointers).
    @inline(__always)
    func below(_ index: Int) -> PlaceSet? {
        guard let node else { return PlaceSet.none }
        return node.below(index)
    }

    private final class Node: Sendable {
        /// The next name of some pointers, and the index of the inner node that holds their rest; -1 where one ends.
        /// Not a reference, since a search copies some of these.
        private struct Step {
            let start: Int
            let count: Int
            let inner: Int
        }

        /// The names of `steps`, joined: in order of length, then of bytes.
        private let names: [UInt8]
        private let steps: [Step]
        private let inner: [Node]
        /// The names that are also array indexes, in order, and their steps.
        private let indexes: [(index: Int, step: Int)]

        /// - Parameter ways: what remains of each pointer; never empty.
        init(_ ways: [ArraySlice<[UInt8]>]) {
            var names: [UInt8] = []
            var steps: [Step] = []
            var inner: [Node] = []
            var indexes: [(index: Int, step: Int)] = []
            let groups = Dictionary(grouping: ways) { $0[$0.startIndex] }
            let sorted = groups.keys.sorted {
                $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count < $1.count
            }
            for name in sorted {
                let rest = groups[name]!.map { $0.dropFirst() }
                let ends = rest.contains { $0.isEmpty }
                if let index = name.arrayIndex { indexes.append((index, steps.count)) }
                steps.append(Step(start: names.count, count: name.count, inner: ends ? -1 : inner.count))
                if !ends { inner.append(Node(rest)) }
                names += name
            }
            self.names = names + JSONScanner.zeros
            self.steps = steps
            self.inner = inner
            // In order already: without leading zeros, a longer number is a larger one.
            self.indexes = indexes
        }

        func below(_ name: UnsafeRawBufferPointer) -> PlaceSet? {
            names.withUnsafeBytes { names in
                func order(_ index: Int) -> Int {
                    let step = steps[index]
                    if step.count != name.count || step.count == 0 { return step.count - name.count }
                    return compareBytes(names.baseAddress! + step.start, name.baseAddress!, step.count)
                }
                let index = steps.indices.border { order($0) < 0 }
                return index < steps.count && order(index) == 0 ? below(step: index) : PlaceSet.none
            }
        }

        func below(_ index: Int) -> PlaceSet? {
            let place = indexes.indices.border { indexes[$0].index < index }
            guard place < indexes.count, indexes[place].index == index else { return PlaceSet.none }
            return below(step: indexes[place].step)
        }

        private func below(step: Int) -> PlaceSet? {
            let inner = steps[step].inner
            return inner < 0 ? nil : PlaceSet(node: self.inner[inner])
        }
    }
}
