// The sections of a view that are not simply those of the state: made by a group, in another order, without the empty
// ones, or collapsed for one reader. They are arranged anew after each commit that changes what the view picks, or its
// sections: items are put into sections by counting, four bytes each, and none of them is read, since their groups are
// known.

import SnapshotKit

/// The items that a view picked, section by section.
struct ViewArrangement: Sendable {
    /// The items of the state, those beyond the limit included.
    let items: [UInt32]
    /// The position after the last item of each section shown.
    let ends: [Int]
    /// The sections shown; their ranges of items are the state's.
    let sections: [SectionNode]
    /// Where each comes from: its index in the state or, with a group, the group's number.
    let origins: [UInt32]
    /// The state's text, followed by the ids of groups.
    let text: StateText?
    /// Items that are collapsed for this reader.
    let collapsed: Set<UInt32>
    /// How many of the items are within the limit.
    let shownCount: Int
    /// How many groups have items, also beyond the limit.
    let groupCount: Int
    /// Whether it is a known one, with the same sections.
    let isKnown: Bool

    /// Memory held, in bytes, apart from the state's text of `count` bytes.
    func footprint(besidesText count: Int) -> Int {
        items.capacity * 4 + collapsed.capacity * 8 + (text.map { $0.count - count } ?? 0)
            + sections.capacity * (MemoryLayout<SectionNode>.stride + MemoryLayout<Int>.stride + 4)
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
        // The places of each section's items among those picked, and its origin.
        var lists = known?.origins.map { List(origin: $0) } ?? Self.lists(of: columns, picked, spans, groups)
        groupCount = known?.groupCount ?? lists.count
        var records: [SectionNode]
        if let groups, let group = parts.group {
            // A group's id is written as in its first item, but one that is an item's id in one way.
            let areIntegers = lists.enumerated().map { index, list in
                if group.place == .id { return false }
                if let known { return known.sections[index].isInteger }
                let first = columns.value(ofItem: Int(picked![list.first]), at: group.place)
                return first.sort == .number && groups.withText(of: Int(list.origin)) { $0.elementsEqual(first.text) }
            }
            (records, text) = Self.sections(
                of: groups, lists.map { Int($0.origin) }, areIntegers, behind: columns.columns.text)
        } else {
            (records, text) = (lists.map { columns.sections[Int($0.origin)] }, nil)
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
            (items, ends, origins, shownCount) = (known.items, known.ends, known.origins, known.shownCount)
            sections = records
            return
        }
        if !parts.sectionOrders.isEmpty {
            let order = wholeText.withView { Self.order(of: records, in: $0, columns, by: parts.sectionOrders) }
            (lists, records) = (order.map { lists[$0] }, order.map { records[$0] })
        }
        let all = groups.map { Self.items(picked ?? [], in: lists, by: $0) } ?? Self.items(picked, in: lists)
        var end = 0
        let allEnds = lists.map { list in
            end += list.count
            return end
        }
        let shown = columns.end(ofFirst: parts.limit ?? .max, in: all)
        let seen = lists.indices.filter { index in
            !parts.hidesEmptySections || (index == 0 ? 0 : allEnds[index - 1]) < min(shown, allEnds[index])
        }
        (items, shownCount) = (all, shown)
        ends = seen.map { allEnds[$0] }
        sections = seen.map { records[$0] }
        origins = seen.map { lists[$0].origin }
    }

    /// A section to arrange: its origin, the place of its first item among those picked, and how many it has; in a
    /// state's section they are adjacent.
    private struct List {
        let origin: UInt32
        var first = 0
        var count = 0
    }

    private static func lists(
        of columns: ColumnsView, _ picked: [UInt32]?, _ spans: [ViewedState.Span], _ groups: RowGroups?
    ) -> [List] {
        if let groups { return lists(of: groups) }
        if picked != nil {
            return spans.enumerated().map { index, span in
                let first = index == 0 ? 0 : Int(spans[index - 1].end)
                return List(origin: span.section, first: first, count: Int(span.end) - first)
            }
        }
        return columns.sections.enumerated().map { index, section in
            List(
                origin: UInt32(truncatingIfNeeded: index), first: Int(section.firstItem),
                count: Int(section.endItem - section.firstItem))
        }
    }

    /// The groups that have items, in the order of their first items. O(items).
    private static func lists(of groups: RowGroups) -> [List] {
        var (counts, lists) = ([Int](repeating: 0, count: groups.count), [List]())
        groups.ofRow.withUnsafeBufferPointer { ofRow in
            counts.withUnsafeMutableBufferPointer { counts in
                for place in ofRow.indices {
                    let group = Int(ofRow[place])
                    if counts[group] == 0 { lists.append(List(origin: ofRow[place], first: place)) }
                    counts[group] += 1
                }
            }
        }
        for index in lists.indices { lists[index].count = counts[Int(lists[index].origin)] }
        return lists
    }

    /// The items of adjacent lists, list by list. O(items), as memory.
    private static func items(_ picked: [UInt32]?, in lists: [List]) -> [UInt32] {
        var items: [UInt32] = []
        items.reserveCapacity(lists.reduce(0) { $0 + $1.count })
        for list in lists {
            if let picked {
                items += picked[list.first..<list.first + list.count]
            } else {
                items += (list.first..<list.first + list.count).lazy.map { UInt32(truncatingIfNeeded: $0) }
            }
        }
        return items
    }

    /// The items of groups, group by group. O(items).
    private static func items(_ picked: [UInt32], in lists: [List], by groups: RowGroups) -> [UInt32] {
        var next = [Int](repeating: 0, count: groups.count)
        var start = 0
        for list in lists {
            next[Int(list.origin)] = start
            start += list.count
        }
        var items = picked
        items.withUnsafeMutableBufferPointer { items in
            picked.withUnsafeBufferPointer { picked in
                groups.ofRow.withUnsafeBufferPointer { ofRow in
                    next.withUnsafeMutableBufferPointer { next in
                        for place in ofRow.indices {
                            let group = Int(ofRow[place])
                            items[next[group]] = picked[place]
                            next[group] += 1
                        }
                    }
                }
            }
        }
        return items
    }

    /// A section for each of these groups, and the text that holds their ids.
    ///
    /// - Parameter areIntegers: whether each id is written as a number.
    private static func sections(
        of groups: RowGroups, _ numbers: [Int], _ areIntegers: [Bool], behind text: StateText
    ) -> ([SectionNode], StateText) {
        var buffer = TokenBuffer(base: text.count)
        let found = zip(numbers, areIntegers).map { number, isInteger in
            groups.withText(of: number) { isInteger ? buffer.append(idDigits: $0) : buffer.append(idText: $0) }
        }
        let whole = text.appending(buffer)
        return (whole.withView { view in found.map { SectionNode($0, in: view) } }, whole)
    }

    /// The sections in order, by their indexes. O(sections · log sections), with each value read once.
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
    func moved(_ move: ([UInt32]) -> [UInt32]) -> ViewArrangement { ViewArrangement(self, items: move(items)) }

    private init(_ other: ViewArrangement, items: [UInt32]) {
        (self.items, ends, sections, origins) = (items, other.ends, other.sections, other.origins)
        (text, collapsed) = (other.text, other.collapsed)
        (shownCount, groupCount, isKnown) = (other.shownCount, other.groupCount, false)
    }
}

extension StateView.Parts {
    /// Whether sections differ from the state's, or are in another order.
    var arranges: Bool { group != nil || !sectionOrders.isEmpty || hidesEmptySections || collapses }

    /// Whether a reader has collapsed something.
    var collapses: Bool { !collapsed.sections.isEmpty || !collapsed.items.isEmpty }
}

extension RowGroups {
    /// Notes the group of the next item: its own if it is at the top level, else that of the item before it, which is
    /// in the same subtree. O(bytes of its content).
    mutating func append(_ item: Int, _ group: StateView.Group, of columns: ColumnsView) {
        if columns.nodes[item].level > 0, let last = ofRow.last { return ofRow.append(last) }
        ofRow.append(UInt32(truncatingIfNeeded: number(of: columns.value(ofItem: item, at: group.place), group.prefix)))
    }

    /// The number of a value's group: as a shape groups elements, but values that cannot be ids are in `none`.
    mutating func number(of value: OrderedValue, _ prefix: Int?) -> Int {
        switch value.sort {
        case .string where value.isEscaped:
            return Array(value.string.text).withUnsafeBytes { number(ofText: $0, prefix) }
        case .string: return number(ofText: value.text, prefix)
        case .number where value.text.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: "-") }):
            return number(ofText: value.text, prefix)
        case .absent, .null, .no, .yes, .number, .container: return numberOfNone()
        }
    }

    private mutating func number(ofText text: UnsafeRawBufferPointer, _ prefix: Int?) -> Int {
        let id = UnsafeRawBufferPointer(rebasing: text.prefix(ofScalars: prefix ?? text.count))
        guard id.canBeID else { return numberOfNone() }
        return number(of: id) ?? insert(id)
    }

    private mutating func numberOfNone() -> Int {
        Array("none".utf8).withUnsafeBytes { number(of: $0) ?? insert($0) }
    }
}
