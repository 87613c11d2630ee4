// What a view shows of a state is kept as a list of its items, four bytes each: records and texts stay where the state
// has them. A state of its own is made of it only for who asks for all of it; a window reads a few rows, and a commit
// moves numbers (`ViewedState+Advancing`).
//
// Items stand depth first, as in a state, so that a subtree is a run, behind its parent. Those that a limit leaves out
// stand behind it: when one before goes, they come in without a look at the whole state.

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
    /// The items that the tests let through, in the view's order; nil where they are all of the state's in its order.
    let picked: [UInt32]?
    /// The sections that are shown, in order; empty where they are all of the state's.
    let spans: [Span]
    /// Of the items, those that the limit lets through.
    let shownCount: Int
    /// Where the rows stand among the items picked; nil where each of these is a row, and where none were picked.
    let rows: [UInt32]?

    /// A section that is shown.
    struct Span: Equatable {
        /// Which of the state's it is.
        let section: UInt32
        /// Behind the last of its items.
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
        // Growth leaves room behind an array, which a view that is watched would hold for as long as that.
        let picked = picked.map { $0.capacity > $0.count + $0.count / 8 ? $0.withUnsafeBufferPointer(Array.init) : $0 }
        (self.view, self.source, self.picked, self.spans) = (view, source, picked, spans)
        let count = picked?.count ?? source.itemCount
        (shownCount, rows) = source.columns.withView { columns in
            let shown = view.parts.limit.map { columns.end(ofFirst: $0, in: picked) } ?? count
            guard let picked, !columns.allVisible else { return (shown, nil) }
            let rows = (0..<shown).filter { !columns.nodes[Int(picked[$0])].flags.contains(.isHidden) }
            return (shown, rows.count == shown ? nil : rows.map { UInt32(truncatingIfNeeded: $0) })
        }
    }

    /// Memory held besides the state, in bytes.
    public var footprint: Int {
        (picked?.capacity ?? 0) * 4 + spans.capacity * MemoryLayout<Span>.stride + (rows?.capacity ?? 0) * 4
            + view.json.count
    }

    /// What the view shows, as a separate state, which shares what it does not cut with its source. O(items of the
    /// source or of the view, whichever are fewer); O(1) if the view shows everything.
    public var snapshot: Snapshot { isWhole ? source : Snapshot(source.columns.withView(columns)) }

    /// Whether it shows all there is, as it is.
    private var isWhole: Bool { picked == nil && shownCount == source.itemCount && !view.cutsContents }

    private func columns(of source: ColumnsView) -> Columns {
        if picked == nil, shownCount == source.nodes.count { return source.columns.cut(by: view.parts) }
        let items = picked.map { Array($0[..<shownCount]) } ?? (0..<shownCount).map { UInt32(truncatingIfNeeded: $0) }
        let sections = (0..<sectionCount).map { section in
            source.sections[sourceSection(section)].holding(positions(ofSection: section))
        }
        let columns = source.columns(of: items, in: sections, hasCollapsed: !source.allVisible)
        return view.cutsContents ? columns.cut(by: view.parts) : columns
    }
}

// MARK: Where things stand

extension ViewedState {
    /// Sections that are shown.
    var sectionCount: Int { picked == nil ? source.sectionCount : spans.count }

    /// Which section of the state a section is.
    func sourceSection(_ section: Int) -> Int { picked == nil ? section : Int(spans[section].section) }

    /// Where the items of a section stand.
    func positions(ofSection section: Int) -> Range<Int> {
        let (start, end): (Int, Int)
        if picked == nil {
            let record = source.columns.sections[section]
            (start, end) = (Int(record.firstItem), Int(record.endItem))
        } else {
            (start, end) = (section == 0 ? 0 : Int(spans[section - 1].end), Int(spans[section].end))
        }
        return min(start, shownCount)..<min(end, shownCount)
    }

    /// The item of the state that stands at a position.
    func item(at position: Int) -> Int { picked.map { Int($0[position]) } ?? position }

    /// Where an item of the state stands; nil where it is not shown. As `place(ofItem:in:)`.
    func position(ofItem item: Int, in columns: ColumnsView) -> Int? {
        place(ofItem: item, in: columns).flatMap { $0 < shownCount ? $0 : nil }
    }

    /// The same also for those that the limit leaves out. O(log n) contents; O(n), at a sixteenth of an instruction or
    /// two each, where that is less.
    func place(ofItem item: Int, in columns: ColumnsView) -> Int? {
        guard let picked else { return item }
        guard let span = span(ofSection: Int(columns.nodes[item].section)) else { return nil }
        let range = (span == 0 ? 0 : Int(spans[span - 1].end))..<Int(spans[span].end)
        // Reading a content costs as much as a look at a thousand indexes.
        if !view.parts.orders.isEmpty, range.count <= 16_384 {
            return picked[range].firstIndex(ofNumber: UInt32(truncatingIfNeeded: item))
        }
        let place = ItemOrder(columns, view.parts.orders).place(of: item, in: picked, range)
        return place < range.upperBound && Int(picked[place]) == item ? place : nil
    }

    /// Which of the sections shown is this one of the state.
    func span(ofSection section: Int) -> Int? {
        let span = spans.indices.border { Int(spans[$0].section) < section }
        return span < spans.count && Int(spans[span].section) == section ? span : nil
    }

    /// The number of items that the view shows, including hidden ones. O(1).
    public var itemCount: Int { shownCount }

    /// The number of rows that the view shows, over all sections. O(1), or O(log n) with a limit.
    public var rowCount: Int {
        if picked != nil { return rows?.count ?? shownCount }
        let columns = source.columns
        if columns.rowOfItem.isEmpty { return shownCount }
        return shownCount == columns.nodes.count
            ? columns.itemOfRow.count : columns.itemOfRow.firstIndex(notBelow: shownCount)
    }

    /// Where a row stands among the items.
    func position(ofRow row: Int) -> Int {
        if picked != nil { return rows.map { Int($0[row]) } ?? row }
        return source.columns.rowOfItem.isEmpty ? row : Int(source.columns.itemOfRow[row])
    }

    /// Which row stands at a position; the next one where none does. O(log n).
    func row(atOrBehind position: Int) -> Int {
        if picked != nil { return rows.map { $0.firstIndex(notBelow: position) } ?? position }
        let columns = source.columns
        return columns.rowOfItem.isEmpty ? position : columns.itemOfRow.firstIndex(notBelow: position)
    }

    /// The row that an item of the state is; nil where the view does not show it as one. O(log n).
    func row(ofItem item: Int, in columns: ColumnsView) -> Int? {
        guard !columns.nodes[item].flags.contains(.isHidden) else { return nil }
        return position(ofItem: item, in: columns).map(row(atOrBehind:))
    }
}

extension ArraySlice<UInt32> {
    /// The first index of a number, sixteen looked at at once. O(n).
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
    /// The first index of a number that is not below another, of numbers in ascending order. O(log n).
    func firstIndex(notBelow number: Int) -> Int { indices.border { Int(self[$0]) < number } }
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

    /// Sorts the items of a section, which stand from `start` on, each list of siblings for itself. O(n log n).
    fileprivate func sort(_ picked: inout [UInt32], from start: Int, by orders: [StateView.Order]) {
        let unsorted = Array(picked[start...])
        picked.removeLast(unsorted.count)
        appendSorted(unsorted, unsorted.indices, level: 0, by: SiblingSort(self, by: orders), to: &picked)
    }

    /// Appends the siblings of a level in their order, each with all that is below it; `range` is where they stand with
    /// that. The recursion is as deep as items are nested, 64 levels at most.
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

    /// Where the first `limit` items of the top level end, with all below them.
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

/// The order that items of a state have in a view.
struct ItemOrder {
    private let columns: ColumnsView
    private let orders: [StateView.Order]

    init(_ columns: ColumnsView, _ orders: [StateView.Order]) { (self.columns, self.orders) = (columns, orders) }

    /// Whether one item stands before another. O(1), or O(levels + bytes) where the view has orders.
    @inline(__always)
    func precedes(_ one: Int, _ other: Int) -> Bool { orders.isEmpty ? one < other : comesBefore(one, other) }

    /// The first place among items in order, of a range of them in its section, before which this one does not come.
    /// O(log n).
    func place(of item: Int, in items: [UInt32], _ range: Range<Int>) -> Int {
        let pivot = orders.first.map { ($0, OrderKey(columns.value(ofItem: item, at: $0.place)).bits) }
        let parent = columns.nodes[item].parent
        return range.border {
            let other = Int(items[$0])
            // Nearly always the keys of two siblings say which comes first.
            if let (order, key) = pivot, columns.nodes[other].parent == parent,
                case let otherKey = OrderKey(columns.value(ofItem: other, at: order.place)).bits, otherKey != key
            {
                return (otherKey < key) != order.isDescending
            }
            return precedes(other, item)
        }
    }

    private func comesBefore(_ one: Int, _ other: Int) -> Bool {
        let nodes = columns.nodes
        if nodes[one].section != nodes[other].section { return one < other }
        // Up to two siblings; an item comes before what is below it.
        var (left, right) = (one, other)
        while nodes[left].level > nodes[right].level { left = Int(nodes[left].parent) }
        while nodes[right].level > nodes[left].level { right = Int(nodes[right].parent) }
        if left == right { return nodes[one].level < nodes[other].level }
        while nodes[left].parent != nodes[right].parent {
            (left, right) = (Int(nodes[left].parent), Int(nodes[right].parent))
        }
        let order = compare(left, columns, right, columns)
        return order == 0 ? left < right : order < 0
    }

    /// Below, at or above zero as the orders put one sibling before, with or behind another, which may be of another
    /// state.
    private func compare(_ one: Int, _ columns: ColumnsView, _ other: Int, _ others: ColumnsView) -> Int {
        for order in orders {
            let (left, right) = (
                columns.value(ofItem: one, at: order.place), others.value(ofItem: other, at: order.place)
            )
            let sign = OrderedValue.compare(left, right)
            if sign != 0 { return order.isDescending ? -sign : sign }
        }
        return 0
    }

    /// Whether the orders cannot tell an item from one of another state.
    func areEqual(_ one: Int, _ other: Int, in others: ColumnsView) -> Bool {
        compare(one, columns, other, others) == 0
    }
}
