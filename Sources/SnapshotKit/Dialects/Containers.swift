/// An array of the document: of all sections, or the `items` of one section or item, by index in its own state.
enum Container: Hashable {
    case sections
    case section(Int)
    case item(Int)
}

/// The arrays of a state's document.
struct Containers {
    /// Index of each item in its array.
    let ordinals: [Int32]
    private let childrenOfSections: [[Int]]
    private let ends: [UInt32]

    init(_ view: ColumnsView) {
        var ordinals = [Int32](repeating: 0, count: view.nodes.count)
        var roots: [[Int]] = []
        for section in view.sections.indices {
            let range = Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem)
            roots.append(Self.siblings(range) { Int(view.nodes[$0].end) })
            for (ordinal, item) in roots[section].enumerated() { ordinals[item] = Int32(truncatingIfNeeded: ordinal) }
        }
        for item in view.nodes.indices where Int(view.nodes[item].end) > item + 1 {
            var ordinal: Int32 = 0
            for child in Self.siblings(item + 1..<Int(view.nodes[item].end), end: { Int(view.nodes[$0].end) }) {
                ordinals[child] = ordinal
                ordinal += 1
            }
        }
        self.ordinals = ordinals
        childrenOfSections = roots
        ends = view.nodes.map(\.end)
    }

    private static func siblings(_ range: Range<Int>, end: (Int) -> Int) -> [Int] {
        var siblings: [Int] = []
        var item = range.lowerBound
        while item < range.upperBound {
            siblings.append(item)
            item = end(item)
        }
        return siblings
    }

    func hasChildren(_ item: Int) -> Bool { Int(ends[item]) > item + 1 }

    /// The items of an array, which is not that of the sections.
    func children(of container: Container) -> [Int] {
        switch container {
        case .sections: []
        case .section(let section): childrenOfSections[section]
        case .item(let item): Self.siblings(item + 1..<Int(ends[item])) { Int(ends[$0]) }
        }
    }

    /// All that is in an array, at any depth.
    func itemRange(of container: Container, _ view: ColumnsView) -> Range<Int> {
        switch container {
        case .sections: 0..<ends.count
        case .section(let section): Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem)
        case .item(let item): item + 1..<Int(ends[item])
        }
    }

    /// The array that an item stands in.
    func container(of item: Int, _ view: ColumnsView) -> Container {
        let node = view.nodes[item]
        return node.parent >= 0 ? .item(Int(node.parent)) : .section(Int(node.section))
    }
}
