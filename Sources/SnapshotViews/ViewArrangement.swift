// The sections of a view that are made by a group, in another order, without the empty ones, or collapsed for one
// reader. They are arranged anew after each commit that changes what the view picks, or its sections: items are put
// into sections by counting, four bytes each, and none of them is read, since their groups are known.

import SnapshotKit

/// The items that a view picked, section by section.
struct ViewArrangement: Sendable {
    /// The items of the state, those beyond the limit included.
    private(set) var items: [UInt32]
    /// The position after the last item of each section shown.
    let ends: [Int]
    /// The sections shown; their ranges of items are the state's.
    let sections: [SectionNode]
    /// Where each comes from: its index in the state or, with a group, the group's number.
    let sources: [UInt32]
    /// What the content of each says of its group, if groups make them.
    let forms: [GroupValue.Form]
    /// The state's text, followed by the ids of groups and the contents that say them.
    let text: TextRope?
    let collapsed: Set<UInt32>
    let shownCount: Int
    let groupCount: Int
    /// Whether it was carried over from the previous commit, but for the indexes of items.
    let isKnown: Bool

    /// Memory held, in bytes, apart from the state's text of `count` bytes.
    func footprint(besidesText count: Int) -> Int {
        items.count * 4 + collapsed.capacity * 8 + (text.map { $0.count - count } ?? 0)
            + sections.count * (MemoryLayout<SectionNode>.stride + MemoryLayout<Int>.stride + 5)
    }

    /// O(items + sections · log sections), or O(sections) if an arrangement is known.
    init(
        _ parts: StateView.Parts, of columns: ColumnsView, picked: [UInt32]?, spans: [ViewedState.Span],
        groups: RowGroups?, known: ViewArrangement?
    ) {
        isKnown = known != nil
        collapsed = parts.collapsed.items.reduce(into: []) { items, id in
            if let item = id.withUnsafeBytes({ columns.item(withID: $0) }) {
                items.insert(UInt32(truncatingIfNeeded: item))
            }
        }
        var lists =
            known.map { zip($0.sources, $0.forms).map { List(source: $0, form: $1) } }
            ?? Self.lists(of: columns, picked, spans, groups)
        groupCount = known?.groupCount ?? lists.count
        var records: [SectionNode]
        if let groups, let group = parts.group {
            if known == nil {
                for index in lists.indices {
                    lists[index].form = group.of(Int(picked![lists[index].first]), in: columns) { $0.form }
                }
            }
            (records, text) = Self.sections(of: groups, lists, behind: columns.columns.text)
        } else {
            (records, text) = (lists.map { columns.sections[Int($0.source)] }, nil)
        }
        let wholeText = text ?? columns.columns.text
        if !parts.collapsed.sections.isEmpty {
            wholeText.withView { text in
                for index in records.indices {
                    let id = Array(text.bytes(ofID: records[index]))
                    if parts.collapsed.sections.contains(id) { records[index].flags.insert(.isCollapsed) }
                }
            }
        }
        if let known {
            (items, ends, sources, shownCount) = (known.items, known.ends, known.sources, known.shownCount)
            (sections, forms) = (records, known.forms)
            return
        }
        if !parts.sectionOrders.isEmpty {
            let order = wholeText.withView { Self.order(of: records, in: $0, columns, by: parts.sectionOrders) }
            (lists, records) = (order.map { lists[$0] }, order.map { records[$0] })
        }
        let all = groups.map { Self.items(picked ?? [], in: lists, by: $0) } ?? Self.items(picked, in: lists)
        let allEnds: [Int] = lists.reduce(into: []) { $0.append(($0.last ?? 0) + $1.count) }
        let shown = columns.end(ofFirst: parts.limit ?? .max, in: all)
        let seen = lists.indices.filter { index in
            !parts.hidesEmptySections || (index == 0 ? 0 : allEnds[index - 1]) < min(shown, allEnds[index])
        }
        (items, shownCount) = (all, shown)
        ends = seen.map { allEnds[$0] }
        sections = seen.map { records[$0] }
        sources = seen.map { lists[$0].source }
        forms = seen.map { lists[$0].form }
    }

    /// A section to arrange: its source, the index of its first item among those picked, and how many it has.
    private struct List {
        let source: UInt32
        var first = 0
        var count = 0
        var form = GroupValue.Form.missing
    }

    private static func lists(
        of columns: ColumnsView, _ picked: [UInt32]?, _ spans: [ViewedState.Span], _ groups: RowGroups?
    ) -> [List] {
        if let groups { return lists(of: groups) }
        let all = columns.sections.enumerated().map { ViewedState.Span(section: $0, end: Int($1.endItem)) }
        var first = 0
        return (picked == nil ? all : spans).map { span in
            defer { first = Int(span.end) }
            return List(source: span.section, first: first, count: Int(span.end) - first)
        }
    }

    /// The groups that have items, in the order of their first items. O(items).
    private static func lists(of groups: RowGroups) -> [List] {
        var (counts, lists) = ([Int](repeating: 0, count: groups.count), [List]())
        groups.ofRow.withUnsafeBufferPointer { ofRow in
            counts.withUnsafeMutableBufferPointer { counts in
                for index in ofRow.indices {
                    let group = Int(ofRow[index])
                    if counts[group] == 0 { lists.append(List(source: ofRow[index], first: index)) }
                    counts[group] += 1
                }
            }
        }
        for index in lists.indices { lists[index].count = counts[Int(lists[index].source)] }
        return lists
    }

    /// The items of adjacent lists, list by list. O(items), as memory.
    private static func items(_ picked: [UInt32]?, in lists: [List]) -> [UInt32] {
        var items: [UInt32] = []
        items.reserveCapacity(lists.reduce(0) { $0 + $1.count })
        for list in lists {
            let range = list.first..<list.first + list.count
            if let picked {
                items += picked[range]
            } else {
                items += UInt32(range.lowerBound)..<UInt32(range.upperBound)
            }
        }
        return items
    }

    private static func items(_ picked: [UInt32], in lists: [List], by groups: RowGroups) -> [UInt32] {
        var next = [Int](repeating: 0, count: groups.count)
        var start = 0
        for list in lists {
            next[Int(list.source)] = start
            start += list.count
        }
        var items = picked
        items.withUnsafeMutableBufferPointer { items in
            picked.withUnsafeBufferPointer { picked in
                groups.ofRow.withUnsafeBufferPointer { ofRow in
                    next.withUnsafeMutableBufferPointer { next in
                        for index in ofRow.indices {
                            let group = Int(ofRow[index])
                            items[next[group]] = picked[index]
                            next[group] += 1
                        }
                    }
                }
            }
        }
        return items
    }

    /// A section for each of these groups, and the text that holds their ids and contents.
    private static func sections(
        of groups: RowGroups, _ lists: [List], behind text: TextRope
    ) -> ([SectionNode], TextRope) {
        var buffer = TokenBuffer(base: text.count)
        let found = lists.map { list in
            groups.withText(of: Int(list.source)) { id in
                let isInteger = list.form == .literal && id.isInteger
                return (
                    id: isInteger ? buffer.append(idDigits: id) : buffer.append(idText: id),
                    content: buffer.append(headerOf: id, list.form)
                )
            }
        }
        let whole = text.appending(buffer)
        let sections = whole.withView { view in
            found.map { found in
                var section = SectionNode(found.id, in: view)
                section.setContent(found.content)
                return section
            }
        }
        return (sections, whole)
    }

    /// O(sections · log sections), with each value read once.
    private static func order(
        of sections: [SectionNode], in text: TextView, _ columns: ColumnsView, by orders: [StateView.Order]
    ) -> [Int] {
        let values = sections.map { section in orders.map { columns.value(of: section, in: text, at: $0.place) } }
        return sections.indices.sorted { one, other in
            for (index, order) in orders.enumerated() {
                let sign = OrderedValue.compare(values[one][index], values[other][index])
                if sign != 0 { return (sign < 0) != order.isDescending }
            }
            return one < other
        }
    }

    /// The positions of the rows; nil if each item shown is a row. O(items).
    func rows(of columns: ColumnsView) -> [UInt32]? {
        let hasCollapsed = columns.columns.hasCollapsed || !collapsed.isEmpty
        guard hasCollapsed || sections.contains(where: { $0.flags.contains(.isCollapsed) }) else { return nil }
        var rows: [UInt32] = []
        var start = 0
        for (section, end) in zip(sections, ends) {
            defer { start = end }
            if section.flags.contains(.isCollapsed) { continue }
            // The level of the collapsed item around the next ones.
            var folded = Int.max
            for position in start..<max(start, min(end, shownCount)) {
                let node = columns.nodes[Int(items[position])]
                if Int(node.level) > folded { continue }
                rows.append(UInt32(truncatingIfNeeded: position))
                let isCollapsed = node.flags.contains(.isCollapsed) || collapsed.contains(items[position])
                folded = isCollapsed ? Int(node.level) : Int.max
            }
        }
        return rows.count == shownCount ? nil : rows
    }

    /// The same items of the next state, where they have other indexes; everything else is still to be made.
    func moved(_ move: ([UInt32]) -> [UInt32]) -> ViewArrangement {
        var moved = self
        moved.items = move(items)
        return moved
    }
}

extension StateView.Parts {
    /// Whether sections differ from the state's, or are in another order.
    var arranges: Bool { group != nil || !sectionOrders.isEmpty || hidesEmptySections || collapses }

    var collapses: Bool { !collapsed.sections.isEmpty || !collapsed.items.isEmpty }
}

extension RowGroups {
    /// Notes the group of the next item: a nested one has that of the item before it. O(bytes of its content).
    mutating func append(_ item: Int, _ group: StateView.Group, of columns: ColumnsView) {
        if columns.nodes[item].level > 0, let last = ofRow.last { return ofRow.append(last) }
        ofRow.append(UInt32(truncatingIfNeeded: group.of(item, in: columns) { number(of: $0.id) ?? insert($0.id) }))
    }
}
