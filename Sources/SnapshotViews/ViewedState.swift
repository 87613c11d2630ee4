// What a view shows of a state is stored as a list of its items, four bytes each: records and texts stay where the
// state has them. It becomes a state of its own only for a reader that asks for all of it; a window reads a few rows,
// and a commit moves numbers (`ViewedState+Advancing`).
//
// Items are in depth-first order, as in a state, so that a subtree is a run, right after its parent. Those that a limit
// leaves out follow at the end: when one before them goes, they come in without a look at the whole state.

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
    /// The items that pass the tests, in the view's order; nil if they are all of the state's in its order.
    let picked: [UInt32]?
    /// The sections that are shown, in order; empty if `picked` is nil: then they are all of the state's.
    let spans: [Span]
    /// How many of the items are within the limit.
    let shownCount: Int
    /// The positions of the rows among the items, ascending, perhaps with some beyond the limit; nil if each item is a
    /// row.
    let rows: [UInt32]?

    /// A section that is shown.
    struct Span: Equatable {
        /// Its index in the state.
        let section: UInt32
        /// The position behind the last of its items.
        let end: UInt32
    }

    /// Views a state. O(n) if the view has sections or tests, O(n log n) if it has orders; else O(1), except for a
    /// limit.
    public init(_ view: StateView, of source: Snapshot) {
        let parts = view.parts
        guard parts.sections != nil || !parts.tests.isEmpty || !parts.orders.isEmpty else {
            self.init(view, of: source, picked: nil, spans: [])
            return
        }
        var (picked, spans): ([UInt32], [Span]) = ([], [])
        source.columns.withView { columns in
            for section in columns.sections.indices where parts.includes(section: section, of: columns) {
                let start = picked.count
                columns.appendItems(ofSection: section, passing: parts.tests, to: &picked)
                if !parts.orders.isEmpty { columns.sort(&picked, from: start, by: parts.orders) }
                spans.append(
                    Span(
                        section: UInt32(truncatingIfNeeded: section), end: UInt32(truncatingIfNeeded: picked.count)))
            }
        }
        self.init(view, of: source, picked: picked, spans: spans)
    }

    /// - Parameter picked: all that the tests let through, sorted.
    init(_ view: StateView, of source: Snapshot, picked: [UInt32]?, spans: [Span]) {
        // Growth leaves spare room behind an array, which a watched view would hold for as long as it is watched.
        let picked = picked.map { $0.capacity > $0.count + $0.count / 8 ? $0.withUnsafeBufferPointer(Array.init) : $0 }
        (self.view, self.source, self.picked, self.spans) = (view, source, picked, spans)
        (shownCount, rows) = source.columns.withView { columns in
            let shown = columns.end(ofFirst: view.parts.limit ?? .max, in: picked)
            if columns.allVisible { return (shown, nil) }
            guard let picked else { return (shown, source.columns.itemOfRow) }
            let rows = (0..<shown).filter { !columns.nodes[Int(picked[$0])].flags.contains(.isHidden) }
            return (shown, rows.count == shown ? nil : rows.map { UInt32(truncatingIfNeeded: $0) })
        }
    }

    /// Memory held besides the state, in bytes.
    public var footprint: Int {
        // Without items picked, the rows are the state's.
        (picked.map { $0.capacity + (rows?.capacity ?? 0) } ?? 0) * 4 + spans.capacity * MemoryLayout<Span>.stride
            + view.json.count
    }

    /// What the view shows, as a separate state, which shares what it does not cut with its source. O(items of the
    /// source or of the view, whichever are fewer); O(1) if the view shows everything.
    public var snapshot: Snapshot {
        if picked == nil, shownCount == source.itemCount {
            return view.cutsContents ? Snapshot(source.columns.compacted(keeping: view.parts.kept)) : source
        }
        return Snapshot(source.columns.withView(columns))
    }

    private func columns(of source: ColumnsView) -> Columns {
        let items = picked.map { Array($0[..<shownCount]) } ?? (0..<shownCount).map { UInt32(truncatingIfNeeded: $0) }
        let sections = (0..<sectionCount).map { section in
            source.sections[sourceSection(section)].holding(positions(ofSection: section))
        }
        let columns = source.columns(of: items, in: sections, hasCollapsed: !source.allVisible)
        return view.cutsContents ? columns.compacted(keeping: view.parts.kept) : columns
    }
}

// MARK: Where things stand

extension ViewedState {
    /// The number of sections that are shown.
    var sectionCount: Int { picked == nil ? source.sectionCount : spans.count }

    /// A section's index in the state.
    func sourceSection(_ section: Int) -> Int { picked == nil ? section : Int(spans[section].section) }

    /// The positions of a section's items.
    func positions(ofSection section: Int) -> Range<Int> {
        let range: Range<Int>
        if picked == nil {
            let record = source.columns.sections[section]
            range = Int(record.firstItem)..<Int(record.endItem)
        } else {
            range = positions(ofSpan: section)
        }
        return range.clamped(to: 0..<shownCount)
    }

    /// The same of items that were picked, including those beyond the limit.
    private func positions(ofSpan span: Int) -> Range<Int> {
        (span == 0 ? 0 : Int(spans[span - 1].end))..<Int(spans[span].end)
    }

    /// The item of the state at a position.
    func item(at position: Int) -> Int { picked.map { Int($0[position]) } ?? position }

    /// The position of an item of the state; nil if it is not shown. Costs as much as `place(ofItem:in:)`.
    func position(ofItem item: Int, in columns: ColumnsView) -> Int? {
        place(ofItem: item, in: columns).flatMap { $0 < shownCount ? $0 : nil }
    }

    /// The same, also of items beyond the limit. O(log n) contents; or O(n), sixteen items at once, if that costs less.
    func place(ofItem item: Int, in columns: ColumnsView) -> Int? {
        guard let picked else { return item }
        guard let span = span(ofSection: Int(columns.nodes[item].section)) else { return nil }
        let range = positions(ofSpan: span)
        // To read a content costs as much as to look at a thousand indexes.
        if !view.parts.orders.isEmpty, range.count <= 16_384 {
            return picked[range].firstIndex(ofNumber: UInt32(truncatingIfNeeded: item))
        }
        let place = ItemOrder(columns, view.parts.orders).place(of: item, in: picked, range)
        return place < range.upperBound && Int(picked[place]) == item ? place : nil
    }

    /// The index in `spans` of a section of the state; nil if it is not shown.
    func span(ofSection section: Int) -> Int? {
        let span = spans.indices.partitionPoint { Int(spans[$0].section) < section }
        return span < spans.count && Int(spans[span].section) == section ? span : nil
    }

    /// The number of items that the view shows, including hidden ones. O(1).
    public var itemCount: Int { shownCount }

    /// The number of rows that the view shows, over all sections. O(1), or O(log n) with a limit.
    public var rowCount: Int {
        guard let rows else { return shownCount }
        return view.parts.limit == nil ? rows.count : rows.firstIndex(notBelow: shownCount)
    }

    /// The position of a row among the items.
    func position(ofRow row: Int) -> Int { rows.map { Int($0[row]) } ?? row }

    /// The row of an item of the state; nil if the view does not show it as one. Costs as much as
    /// `place(ofItem:in:)`.
    func row(ofItem item: Int, in columns: ColumnsView) -> Int? {
        guard !columns.nodes[item].flags.contains(.isHidden),
            let position = position(ofItem: item, in: columns)
        else { return nil }
        return rows.map { $0.firstIndex(notBelow: position) } ?? position
    }
}

extension ArraySlice<UInt32> {
    /// The first index of a number, searched sixteen at a time. O(n).
    fileprivate func firstIndex(ofNumber number: UInt32) -> Int? {
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
    /// The first index of a number that is not below another; the numbers are ascending. O(log n).
    func firstIndex(notBelow number: Int) -> Int { indices.partitionPoint { Int(self[$0]) < number } }
}

// MARK: Choosing

extension StateView.Parts {
    func includes(section: Int, of columns: ColumnsView) -> Bool {
        sections?.contains(Array(columns.id(ofSection: section).text)) ?? true
    }
}

extension ColumnsView {
    /// Appends the items of a section that pass all tests and whose ancestors do. O(items).
    fileprivate func appendItems(ofSection section: Int, passing tests: [ItemTest], to picked: inout [UInt32]) {
        var item = Int(sections[section].firstItem)
        let end = Int(sections[section].endItem)
        while item < end {
            if tests.allSatisfy({ $0.passes(item, of: self) }) {
                picked.append(UInt32(truncatingIfNeeded: item))
                item += 1
            } else {
                item = Int(nodes[item].end)
            }
        }
    }

    /// Sorts the items of a section, which begin at `start`, each list of siblings on its own. O(n log n).
    fileprivate func sort(_ picked: inout [UInt32], from start: Int, by orders: [StateView.Order]) {
        let unsorted = Array(picked[start...])
        picked.removeLast(unsorted.count)
        appendSorted(unsorted, unsorted.indices, level: 0, by: SiblingSort(self, by: orders), to: &picked)
    }

    /// Appends the siblings of a level in their order, each with all that is below it; `range` covers both. The
    /// recursion is as deep as items are nested, 64 levels at most.
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

    /// The position at which the first `limit` items of the top level end, with all below them.
    fileprivate func end(ofFirst limit: Int, in picked: [UInt32]?) -> Int {
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
