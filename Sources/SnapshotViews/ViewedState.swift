// What a view shows of a state is stored as a list of its items, four bytes each: records and texts stay where the
// state has them. It becomes a state of its own only for a reader that asks for all of it; a window reads a few rows,
// and a commit shifts numbers (`ViewedState+Advancing`).
//
// Items are in depth-first order, as in a state, so a subtree is a run, right after its parent. Those that a limit
// leaves out follow at the end: when one before them goes, they come in without a look at the whole state.
//
// A view that makes, orders, hides or collapses sections has a second list (`ViewArrangement`): of the same items,
// section by section.

import SnapshotKit

/// A state seen through a view.
///
/// ```swift
/// let seen = ViewedState(view, of: snapshot)
/// let page = seen.window(StateWindow(.start))
/// let (next, isSame) = seen.advanced(over: StateStep(change))
/// ```
public struct ViewedState: Sendable {
    /// The view.
    public let view: StateView
    /// The state behind the view.
    public let source: Snapshot
    /// The items that pass the tests, in the view's order; nil if these are all of the state's in its order.
    let picked: [UInt32]?
    /// The sections that are picked, in order; one with a group. Empty if `picked` is nil: then they are all.
    let spans: [Span]
    /// The group of each item picked; nil if the view has no group.
    let groups: RowGroups?
    /// What is shown, if the view arranges sections; otherwise that is what was picked.
    let arrangement: ViewArrangement?
    let shownCount: Int
    /// Ascending positions among the items, perhaps with some beyond the limit; nil if each item is a row.
    let rows: [UInt32]?

    /// A section that is shown.
    struct Span: Equatable {
        let section: UInt32
        /// The position after the last of its items.
        let end: UInt32
    }

    /// Views a state. O(n) if the view picks or arranges, O(n log n) if it has orders; else O(1), except for a limit.
    public init(_ view: StateView, of source: Snapshot) {
        let parts = view.parts
        guard parts.sections != nil || !parts.tests.isEmpty || !parts.orders.isEmpty || parts.group != nil else {
            self.init(view, of: source, picked: nil, spans: [])
            return
        }
        var (picked, spans): ([UInt32], [Span]) = ([], [])
        var groups = parts.group.map { _ in RowGroups() }
        source.columns.withView { columns in
            var filter = ItemTests.Filter(parts.tests, of: columns)
            for section in columns.sections.indices where parts.includes(section: section, of: columns) {
                let start = picked.count
                columns.appendItems(ofSection: section, passing: &filter, to: &picked)
                if parts.group != nil { continue }
                if !parts.orders.isEmpty { columns.sort(&picked, from: start, by: parts.orders) }
                spans.append(Span(section: section, end: picked.count))
            }
            guard let group = parts.group else { return }
            if !parts.orders.isEmpty { columns.sort(&picked, from: 0, by: parts.orders) }
            spans.append(Span(section: 0, end: picked.count))
            groups?.ofRow.reserveCapacity(picked.count)
            for item in picked { groups?.append(Int(item), group, of: columns) }
        }
        self.init(view, of: source, picked: picked, spans: spans, groups: groups)
    }

    /// - Parameter known: an arrangement of the same items in the same groups, which differs only in indexes.
    init(
        _ view: StateView, of source: Snapshot, picked: [UInt32]?, spans: [Span], groups: RowGroups? = nil,
        arrangedAs known: ViewArrangement? = nil
    ) {
        // Growth leaves spare room, which a watched view would hold; how much depends on the allocator's state.
        let picked = picked.map { $0.capacity > $0.count + 16 ? $0.withUnsafeBufferPointer(Array.init) : $0 }
        (self.view, self.source, self.picked, self.spans, self.groups) = (view, source, picked, spans, groups)
        let parts = view.parts
        (arrangement, shownCount, rows) = source.columns.withView { columns in
            if parts.arranges {
                let arrangement = ViewArrangement(
                    parts, of: columns, picked: picked, spans: spans, groups: groups, known: known)
                return (arrangement, arrangement.shownCount, arrangement.rows(of: columns))
            }
            let shown = columns.end(ofFirst: parts.limit ?? .max, in: picked)
            if columns.allVisible { return (nil, shown, nil) }
            guard let picked else { return (nil, shown, source.columns.itemOfRow) }
            let rows = (0..<shown).filter { !columns.nodes[Int(picked[$0])].flags.contains(.isHidden) }
            return (nil, shown, rows.count == shown ? nil : rows.map { UInt32(truncatingIfNeeded: $0) })
        }
    }

    /// Memory held besides the state, in bytes.
    public var footprint: Int {
        // Without picked or arranged items, the rows are the state's.
        let ownsRows = picked != nil || arrangement != nil
        return ((picked?.count ?? 0) + (ownsRows ? rows?.capacity ?? 0 : 0)) * 4
            + spans.count * MemoryLayout<Span>.stride + (groups?.footprint ?? 0)
            + (arrangement?.footprint(besidesText: source.columns.text.count) ?? 0) + view.json.count
    }

    /// What the view shows, as a separate state, which shares with its source whatever it does not cut. O(items of the
    /// source or of the view, whichever are fewer); O(1) if the view shows everything.
    public var snapshot: Snapshot {
        if picked == nil, arrangement == nil, shownCount == source.itemCount {
            return view.cutsContents ? Snapshot(source.columns.compacted(keeping: view.parts.kept)) : source
        }
        return Snapshot(source.columns.withView(columns))
    }

    private func columns(of source: ColumnsView) -> Columns {
        let items = (0..<shownCount).map { UInt32(truncatingIfNeeded: item(at: $0)) }
        let sections = (0..<sectionCount).map { section(at: $0).holding(positions(ofSection: $0)) }
        return columns(of: items, in: sections, source, hasCollapsed: !source.allVisible || view.parts.collapses)
    }

    func columns(
        of items: [UInt32], in sections: [SectionNode], _ source: ColumnsView, hasCollapsed: Bool,
        contextAncestors: Int = 0, childCounts: [UInt32] = []
    ) -> Columns {
        let columns = source.columns(
            of: items, in: sections, hasCollapsed: hasCollapsed, contextAncestors: contextAncestors,
            childCounts: childCounts, collapsing: arrangement?.collapsed ?? [], text: arrangement?.text)
        return view.cutsContents ? columns.compacted(keeping: view.parts.kept) : columns
    }
}

extension ViewedState.Span {
    init(section: Int, end: Int) {
        self.init(section: UInt32(truncatingIfNeeded: section), end: UInt32(truncatingIfNeeded: end))
    }
}

// MARK: Indexes: item, position, row, section

extension ViewedState {
    var sectionCount: Int { arrangement?.sections.count ?? (picked == nil ? source.sectionCount : spans.count) }

    /// Its items are those of the state.
    func section(at index: Int) -> SectionNode {
        arrangement?.sections[index] ?? source.columns.sections[picked == nil ? index : Int(spans[index].section)]
    }

    /// The index in the state of a section that is shown; nil if the view made it.
    func sourceSection(_ section: Int) -> Int? {
        if let arrangement { return groups == nil ? Int(arrangement.sources[section]) : nil }
        return picked == nil ? section : Int(spans[section].section)
    }

    func id(ofSection index: Int) -> [UInt8] {
        let section = section(at: index)
        return (arrangement?.text ?? source.columns.text).withView { Array($0.bytes(ofID: section)) }
    }

    func positions(ofSection section: Int) -> Range<Int> {
        ((section == 0 ? 0 : end(ofSection: section - 1))..<end(ofSection: section)).clamped(to: 0..<shownCount)
    }

    /// The position after a section's last item, also beyond the limit.
    private func end(ofSection section: Int) -> Int {
        if let arrangement { return arrangement.ends[section] }
        return Int(picked == nil ? source.columns.sections[section].endItem : spans[section].end)
    }

    /// The section that holds a position. O(log sections).
    func section(ofPosition position: Int) -> Int {
        (0..<sectionCount).partitionPoint { positions(ofSection: $0).upperBound <= position }
    }

    func item(at position: Int) -> Int {
        if let arrangement { return Int(arrangement.items[position]) }
        return picked.map { Int($0[position]) } ?? position
    }

    /// Nil if an item is not shown. Costs as much as `pickedIndex(ofItem:in:)`; O(n) if sections are arranged.
    func position(ofItem item: Int, in columns: ColumnsView) -> Int? {
        let position =
            arrangement.map { $0.items[...].firstIndex(ofNumber: UInt32(truncatingIfNeeded: item)) }
            ?? pickedIndex(ofItem: item, in: columns)
        return position.flatMap { $0 < shownCount ? $0 : nil }
    }

    /// Also of one beyond the limit. O(log n) contents; or O(n), sixteen items at once, if that costs less.
    func pickedIndex(ofItem item: Int, in columns: ColumnsView) -> Int? {
        guard let picked else { return item }
        guard let span = span(ofSection: Int(columns.nodes[item].section)) else { return nil }
        let range = pickedRange(ofSpan: span)
        // Reading a content costs as much as looking at a thousand indexes.
        if !view.parts.orders.isEmpty, range.count <= 16_384 {
            return picked[range].firstIndex(ofNumber: UInt32(truncatingIfNeeded: item))
        }
        let index = ItemOrder(columns, view.parts).index(of: item, in: picked, range)
        return index < range.upperBound && Int(picked[index]) == item ? index : nil
    }

    private func pickedRange(ofSpan span: Int) -> Range<Int> {
        (span == 0 ? 0 : Int(spans[span - 1].end))..<Int(spans[span].end)
    }

    /// The index in `spans` of a section of the state; nil if it is not picked.
    func span(ofSection section: Int) -> Int? {
        if groups != nil { return 0 }
        let span = spans.indices.partitionPoint { Int(spans[$0].section) < section }
        return span < spans.count && Int(spans[span].section) == section ? span : nil
    }

    func shows(section: Int) -> Bool {
        if let arrangement { return groups == nil && arrangement.sources.contains(UInt32(truncatingIfNeeded: section)) }
        return picked == nil || span(ofSection: section) != nil
    }

    /// The number of items that the view shows, including hidden ones. O(1).
    public var itemCount: Int { shownCount }

    /// The number of rows that the view shows, over all sections. O(1), or O(log n) with a limit.
    public var rowCount: Int {
        guard let rows else { return shownCount }
        return view.parts.limit == nil ? rows.count : rows.firstIndex(notBelow: shownCount)
    }

    func position(ofRow row: Int) -> Int { rows.map { Int($0[row]) } ?? row }

    /// Costs as much as `position(ofItem:in:)`.
    func row(ofItem item: Int, in columns: ColumnsView) -> Int? {
        guard let position = position(ofItem: item, in: columns) else { return nil }
        guard let rows else { return position }
        let row = rows.firstIndex(notBelow: position)
        return row < rows.count && Int(rows[row]) == position ? row : nil
    }
}

extension ArraySlice<UInt32> {
    /// The first index of a number, searched sixteen at a time. O(n).
    func firstIndex(ofNumber number: UInt32) -> Int? {
        let found = withUnsafeBytes { memory -> Int? in
            let wanted = SIMD16<UInt32>(repeating: number)
            var index = 0
            while index + 16 <= count {
                let block = memory.loadUnaligned(fromByteOffset: index * 4, as: SIMD16<UInt32>.self)
                if any(block .== wanted) { break }
                index += 16
            }
            return (index..<count).first { memory.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) == number }
        }
        return found.map { startIndex + $0 }
    }
}

extension [UInt32] {
    func firstIndex(notBelow number: Int) -> Int { indices.partitionPoint { Int(self[$0]) < number } }
}

extension StateView.Parts {
    func includes(section: Int, of columns: ColumnsView) -> Bool {
        sections?.contains(Array(columns.id(ofSection: section).text)) ?? true
    }
}

extension ColumnsView {
    /// Appends the items of a section that pass all tests and whose ancestors do. O(items).
    fileprivate func appendItems(
        ofSection section: Int, passing filter: inout ItemTests.Filter, to picked: inout [UInt32]
    ) {
        var item = Int(sections[section].firstItem)
        let end = Int(sections[section].endItem)
        while item < end {
            if filter.passes(item) {
                picked.append(UInt32(truncatingIfNeeded: item))
                item += 1
            } else {
                item = Int(nodes[item].end)
            }
        }
    }

    /// Sorts the items from `start` on, each list of siblings by itself. O(n log n).
    fileprivate func sort(_ picked: inout [UInt32], from start: Int, by orders: [StateView.Order]) {
        let unsorted = Array(picked[start...])
        picked.removeLast(unsorted.count)
        appendSorted(unsorted, unsorted.indices, level: 0, by: SiblingSort(self, by: orders), to: &picked)
    }

    /// Appends the siblings of a level in their order, each with everything below it. At most 64 levels deep.
    private func appendSorted(
        _ unsorted: [UInt32], _ range: Range<Int>, level: UInt8, by sort: SiblingSort, to picked: inout [UInt32]
    ) {
        var siblings: [Sibling] = []
        for index in range where nodes[Int(unsorted[index])].level == level {
            siblings.append(Sibling(item: unsorted[index], index: UInt32(truncatingIfNeeded: index)))
        }
        sort.sort(&siblings)
        for sibling in siblings {
            picked.append(sibling.item)
            let below = Int(sibling.index) + 1
            var end = below
            while end < range.upperBound, nodes[Int(unsorted[end])].level > level { end += 1 }
            if end > below { appendSorted(unsorted, below..<end, level: level + 1, by: sort, to: &picked) }
        }
    }

    /// The position at which the first `limit` top-level items end, with everything below them.
    func end(ofFirst limit: Int, in picked: [UInt32]?) -> Int {
        let count = picked?.count ?? nodes.count
        guard limit < count else { return count }
        var (position, roots) = (0, 0)
        while position < count {
            let item = picked.map { Int($0[position]) } ?? position
            if nodes[item].parent < 0 {
                if roots == limit { return position }
                roots += 1
            }
            position = picked == nil ? Int(nodes[item].end) : position + 1
        }
        return count
    }
}
