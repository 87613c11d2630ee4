/// An array of the document: of all sections, or the `items` of one section or item, by index in its own state.
enum DocumentArray: Hashable {
    case sections
    case section(Int)
    case item(Int)
}

/// The arrays of a state's document.
struct DocumentArrays {
    /// Index of each item in its array.
    let ordinals: SiblingOrdinals
    private let childrenOfSections: [[Int]]
    private let ends: [UInt32]

    init(_ view: ColumnsView) {
        ordinals = SiblingOrdinals(view.nodes, sections: view.sections.count)
        childrenOfSections = view.sections.indices.map { section in
            let range = Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem)
            return Self.siblings(range) { Int(view.nodes[$0].end) }
        }
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
    func children(of array: DocumentArray) -> [Int] {
        switch array {
        case .sections: []
        case .section(let section): childrenOfSections[section]
        case .item(let item): Self.siblings(item + 1..<Int(ends[item])) { Int(ends[$0]) }
        }
    }

    /// All that is in an array, at any depth.
    func itemRange(of array: DocumentArray, _ view: ColumnsView) -> Range<Int> {
        switch array {
        case .sections: 0..<ends.count
        case .section(let section): Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem)
        case .item(let item): item + 1..<Int(ends[item])
        }
    }

    /// The array that an item stands in.
    func array(of item: Int, _ view: ColumnsView) -> DocumentArray {
        let node = view.nodes[item]
        return node.parent >= 0 ? .item(Int(node.parent)) : .section(Int(node.section))
    }
}
