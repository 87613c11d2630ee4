extension ColumnsBuilder {
    /// A section or an item, by its index.
    enum Place: Equatable { case section(Int), item(Int) }

    /// The records of a state of which each id is taken once, in the document's order; and what was left out. Items go
    /// with their children, sections with their items: what stood in these has not been there. O(items).
    static func distinct(_ view: ColumnsView, _ duplicates: [Duplicate]) -> (ColumnsBuilder, left: [Place]) {
        var sections = FirstOnes(duplicates.filter(\.isSection))
        var items = FirstOnes(duplicates.filter { !$0.isSection })
        var builder = ColumnsBuilder()
        builder.list = view.columns.list
        var left: [Place] = []
        for section in view.sections.indices {
            guard sections.takes(section) else {
                left.append(.section(section))
                continue
            }
            builder.add(view.sections[section])
            builder.addItems(of: view.sections[section], view) { item in
                if items.takes(item) { return true }
                left.append(.item(item))
                return false
            }
            builder.endSection()
        }
        return (builder, left)
    }

    /// Tells of records which share an id the first from the others.
    private struct FirstOnes {
        /// The first record with the same id, of those that share theirs.
        private var firsts: [Int: Int] = [:]
        private var taken: Set<Int> = []

        init(_ duplicates: [Duplicate]) {
            for each in duplicates { (firsts[each.first], firsts[each.later]) = (each.first, each.first) }
        }

        /// Whether a record is the first with its id; asked of each once, in order.
        mutating func takes(_ index: Int) -> Bool { firsts[index].map { taken.insert($0).inserted } ?? true }
    }

    private mutating func add(_ section: SectionNode) {
        beginSection()
        setID(
            ofSection: openSection, start: Int(section.idStart), count: Int(section.idCount),
            flags: section.flags.intersection(.ofID))
        if section.flags.contains(.hasContent) {
            setContent(
                ofSection: openSection, start: Int(section.contentStart), count: Int(section.contentCount))
        }
        if section.flags.contains(.isCollapsed) { collapse(section: openSection) }
    }

    private mutating func addItems(of section: SectionNode, _ view: ColumnsView, taking: (Int) -> Bool) {
        // The new index of each item that is open.
        var open: [Int] = []
        var item = Int(section.firstItem)
        while item < Int(section.endItem) {
            let node = view.nodes[item]
            while open.count > Int(node.level) { endItem(open.removeLast()) }
            guard taking(item) else {
                item = Int(node.end)
                continue
            }
            open.append(add(node, view.payload(ofItem: item), below: open.last ?? -1))
            item += 1
        }
        while let last = open.popLast() { endItem(last) }
    }

    private mutating func add(_ node: Node, _ payload: Payload, below parent: Int) -> Int {
        let item = beginItem(parent: parent, level: Int(node.level))
        setID(
            ofItem: item, start: Int(node.idStart), count: Int(node.idCount), flags: node.flags.intersection(.ofID),
            hash: node.hash)
        if node.flags.contains(.hasContent) {
            setContent(ofItem: item, start: Int(payload.contentStart), count: Int(payload.contentCount))
        }
        if node.flags.contains(.hasKind) { setKind(ofItem: item, start: Int(payload.kindStart)) }
        if node.flags.contains(.isCollapsed) { collapse(item: item) }
        return item
    }
}

extension NodeFlags {
    /// How an id was written.
    fileprivate static let ofID: NodeFlags = [.integerID, .escapedID, .isBare]
}
