// A tree of names, built once: a walk down a document goes down the tree beside it. What leads nowhere is no node at
// all, so that below it nothing is asked any more; and a step looks up one name among those of one node, however many
// pointers there are, and allocates nothing.

/// Places inside a content: those that equality and fingerprints leave out, or those that a view shows.
struct PlaceSet: Sendable {
    private let node: Node?

    static let none = PlaceSet(node: nil)

    private init(node: Node?) { self.node = node }

    /// The pointer to the whole content is not taken into the set: a content that is ignored altogether would be no
    /// content.
    init(_ pointers: [JSONPointer]) {
        let ways = pointers.filter { !$0.tokens.isEmpty }.map { $0.tokens[...] }
        node = ways.isEmpty ? nil : Node(ways)
    }

    @inline(__always)
    var isEmpty: Bool { node == nil }

    /// The places below a member, or nil if the member itself is one. O(log pointers).
    func below(_ name: JSONString) -> PlaceSet? {
        guard let node else { return PlaceSet.none }
        return name.isEscaped
            ? Array(name.text).withUnsafeBytes { node.below($0) }
            : node.below(UnsafeRawBufferPointer(start: name.start, count: name.count))
    }

    /// The places below an element, or nil if the element itself is one. O(log pointers).
    func below(_ index: Int) -> PlaceSet? {
        guard let node else { return PlaceSet.none }
        return node.below(index)
    }

    private final class Node: Sendable {
        /// A name that pointers go on with, and which of the inner nodes they go on with behind it; -1 where one ends.
        /// No reference: a search copies some of these.
        private struct Step {
            let start: Int
            let count: Int
            let inner: Int
        }

        /// The names, one behind the other, as `steps` has them: by length, then by bytes.
        private let names: [UInt8]
        private let steps: [Step]
        private let inner: [Node]
        /// Those names that are array indexes too, in order, and which steps they are.
        private let indexes: [(index: Int, step: Int)]

        /// `ways`: what remains of each pointer, never nothing.
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
            // Without leading zeros a longer number is a larger one: they stand in order already.
            self.indexes = indexes
        }

        func below(_ name: UnsafeRawBufferPointer) -> PlaceSet? {
            let step = names.withUnsafeBytes { names in
                steps.withUnsafeBufferPointer { steps -> Int? in
                    var (low, high) = (0, steps.count)
                    while low < high {
                        let middle = (low + high) / 2
                        let step = steps[middle]
                        var order = step.count - name.count
                        if order == 0, step.count > 0 {
                            order = compareBytes(names.baseAddress! + step.start, name.baseAddress!, step.count)
                        }
                        if order == 0 { return middle }
                        if order < 0 { low = middle + 1 } else { high = middle }
                    }
                    return nil
                }
            }
            return step.map(below(step:)) ?? PlaceSet.none
        }

        private func below(step: Int) -> PlaceSet? {
            let inner = steps[step].inner
            return inner < 0 ? nil : PlaceSet(node: self.inner[inner])
        }

        func below(_ index: Int) -> PlaceSet? {
            var (low, high) = (0, indexes.count)
            while low < high {
                let middle = (low + high) / 2
                if indexes[middle].index == index { return below(step: indexes[middle].step) }
                if indexes[middle].index < index { low = middle + 1 } else { high = middle }
            }
            return PlaceSet.none
        }
    }
}
