/// A changeset in the making: pair, keep, compare, in this order.
struct ChangesetDraft {
    typealias RowChange = Changeset.RowChange

    private(set) var items: Pairing
    private(set) var sections: Pairing
    private(set) var oldRowOfNew: [Int32]
    private(set) var newRowOfOld: [Int32]
    private(set) var rowChanges: [RowChange]
    private(set) var sectionChanges: [RowChange]
    private(set) var counts = OperationCounts()
    /// Items that show the same.
    private(set) var unchanged: [ReusedRun] = []
    /// Rows that both states begin with, that stay, are not updated and have no part in any search.
    private let start: Int
    /// Whether both states are known to have the same structure: all are pairs in order, and stay.
    private let hasSameStructure: Bool

    init<Comparison: ContentComparison>(
        _ old: ColumnsView, _ new: ColumnsView, _ comparison: Comparison, _ marks: Marks, reused runs: [ReusedRun]
    ) {
        hasSameStructure = old.hasStructure(of: new)
        if hasSameStructure {
            sections = Pairing(inOrder: new.sections.count)
            items = Pairing(inOrder: new.nodes.count)
        } else {
            sections = Pairing(
                old.sections, in: old.bytes, new.sections, in: new.bytes, table: new.columns.sectionTable)
            items = Pairing(
                old.nodes, in: old.bytes, new.nodes, in: new.bytes, table: new.columns.itemTable, reused: runs)
        }
        start = marks.isEmpty ? Self.unchangedStart(runs, old, new, sections) : 0
        (oldRowOfNew, newRowOfOld) = Self.rows(items, old, new)
        rowChanges = [RowChange](filled: .stays, count: new.rowCount)
        sectionChanges = [RowChange](filled: hasSameStructure ? .stays : [], count: new.sections.count)
        if !hasSameStructure { keep(old, new) }
        compareSections(old, new, comparison)
        compareItems(old, new, comparison, runs)
        if !marks.isEmpty { apply(marks, new) }
        count()
    }

    /// How many rows the runs say that both states begin with, in sections that are paired by index. They come first in
    /// both: whatever longest run the others have, these in front of it make a longer one, and each of them is at its
    /// old index.
    private static func unchangedStart(
        _ runs: [ReusedRun], _ old: ColumnsView, _ new: ColumnsView, _ sections: Pairing
    ) -> Int {
        guard old.allVisible, new.allVisible else { return 0 }
        var start = 0
        for run in runs {
            guard run.isInPlace, run.new == start, old.nodes[run.old].section == new.nodes[run.new].section else {
                break
            }
            start += run.count
        }
        let moved = sections.oldOfNew.indices.first { Int(sections.oldOfNew[$0]) != $0 }
        return min(start, moved.map { Int(new.sections[$0].firstItem) } ?? start)
    }

    /// Pairs of rows from pairs of items.
    private static func rows(_ items: Pairing, _ old: ColumnsView, _ new: ColumnsView) -> ([Int32], [Int32]) {
        if old.allVisible, new.allVisible { return (items.oldOfNew, items.newOfOld) }
        let row = { (item: Int32, view: ColumnsView) in
            item < 0 ? -1 : Int32(truncatingIfNeeded: view.row(ofItem: Int(item)))
        }
        return (
            (0..<new.rowCount).map { row(items.oldOfNew[new.item(ofRow: $0)], old) },
            (0..<old.rowCount).map { row(items.newOfOld[old.item(ofRow: $0)], new) }
        )
    }

    // MARK: What stays

    private mutating func keep(_ old: ColumnsView, _ new: ColumnsView) {
        var run = IncreasingRun()
        keepSections(&run)
        for section in new.sections.indices {
            let newRows = new.rows(ofSection: section).clamped(to: start..<new.rowCount)
            if newRows.isEmpty { continue }
            let oldSection = Int(sections.oldOfNew[section])
            let oldRows = oldSection < 0 ? 0..<0 : old.rows(ofSection: oldSection)
            if keepOrdered(oldRows, newRows) { continue }
            let shift = Int(new.sections[section].firstRow) - oldRows.lowerBound
            keepLongest(oldRows, newRows, shift, &run)
        }
    }

    private mutating func keepSections(_ run: inout IncreasingRun) {
        run.removeAll()
        for section in sectionChanges.indices where sections.oldOfNew[section] >= 0 {
            run.append(sections.oldOfNew[section], at: section)
        }
        run.find(fixedShift: 0) { sectionChanges[$0].insert(.stays) }
    }

    /// The common case: the rows that a section kept are in order, and all stay. False if they are not.
    private mutating func keepOrdered(_ oldRows: Range<Int>, _ newRows: Range<Int>) -> Bool {
        oldRowOfNew.withUnsafeBufferPointer { oldRowOfNew in
            rowChanges.withUnsafeMutableBufferPointer { changes in
                var last = oldRows.lowerBound
                for row in newRows {
                    let oldRow = Int(oldRowOfNew[row])
                    if oldRow >= last, oldRow < oldRows.upperBound {
                        last = oldRow
                    } else if oldRows.contains(oldRow) {
                        return false
                    } else {
                        changes[row] = []
                    }
                }
                return true
            }
        }
    }

    /// `shift`: a row is at its old index in the section if it is so far from its old row.
    private mutating func keepLongest(
        _ oldRows: Range<Int>, _ newRows: Range<Int>, _ shift: Int, _ run: inout IncreasingRun
    ) {
        run.removeAll()
        run.reserve(newRows.count)
        oldRowOfNew.withUnsafeBufferPointer { oldRowOfNew in
            rowChanges.withUnsafeMutableBufferPointer { changes in
                for row in newRows {
                    changes[row] = []
                    if oldRows.contains(Int(oldRowOfNew[row])) { run.append(oldRowOfNew[row], at: row) }
                }
                run.find(fixedShift: shift) { changes[$0] = .stays }
            }
        }
    }

    // MARK: What shows differently

    private mutating func compareSections<Comparison: ContentComparison>(
        _ old: ColumnsView, _ new: ColumnsView, _ comparison: Comparison
    ) {
        for section in new.sections.indices {
            let oldSection = Int(sections.oldOfNew[section])
            guard oldSection >= 0 else { continue }
            let (one, other) = (old.sections[oldSection], new.sections[section])
            if one.flags.intersection(.shown) != other.flags.intersection(.shown)
                || (other.flags.contains(.hasContent) && !comparison.hasSameContent(section: oldSection, section))
            {
                sectionChanges[section].insert(.updated)
            }
        }
    }

    /// Compares the items that are in no run; those that show the same then are in one.
    private mutating func compareItems<Comparison: ContentComparison>(
        _ old: ColumnsView, _ new: ColumnsView, _ comparison: Comparison, _ runs: [ReusedRun]
    ) {
        // As long as no more are found, the list is that of the runs.
        var (unchanged, isLonger) = (runs, false)
        items.oldOfNew.withUnsafeBufferPointer { oldOfNew in
            oldRowOfNew.withUnsafeBufferPointer { oldRowOfNew in
                rowChanges.withUnsafeMutableBufferPointer { changes in
                    var item = 0
                    for next in 0...runs.count {
                        let end = next < runs.count ? runs[next].new : new.nodes.count
                        while item < end {
                            defer { item += 1 }
                            let row = new.row(ofItem: item)
                            guard row >= 0, oldRowOfNew[row] >= 0 else { continue }
                            let oldItem = Int(oldOfNew[item])
                            let change = Self.change(oldItem, item, old, new, oldOfNew, comparison)
                            if !change.isEmpty {
                                changes[row].formUnion(change)
                                continue
                            }
                            if !isLonger { (unchanged, isLonger) = (Array(runs[..<next]), true) }
                            unchanged.append(joining: ReusedRun(old: oldItem, new: item, count: 1))
                        }
                        guard next < runs.count else { break }
                        if isLonger { unchanged.append(joining: runs[next]) }
                        item = end + runs[next].count
                    }
                }
            }
        }
        self.unchanged = unchanged
    }

    @inline(__always)
    private static func change<Comparison: ContentComparison>(
        _ oldItem: Int, _ newItem: Int, _ old: ColumnsView, _ new: ColumnsView, _ oldOfNew: UnsafeBufferPointer<Int32>,
        _ comparison: Comparison
    ) -> RowChange {
        let (one, other) = (old.nodes[oldItem], new.nodes[newItem])
        let differing = one.flags.symmetricDifference(other.flags)
        if other.flags.contains(.hasKind) || differing.contains(.hasKind) {
            guard !differing.contains(.hasKind), comparison.hasSameKind(item: oldItem, newItem) else {
                return [.updated, .reload]
            }
        }
        if !differing.isDisjoint(with: .shown) || one.level != other.level { return .updated }
        // On level 0 there is no parent to compare.
        if other.level > 0, one.parent != oldOfNew[Int(other.parent)] { return .updated }
        if other.flags.contains(.hasContent), !comparison.hasSameContent(item: oldItem, newItem) { return .updated }
        let (oldLeaf, newLeaf) = (Int(one.end) == oldItem + 1, Int(other.end) == newItem + 1)
        if oldLeaf, newLeaf { return [] }
        return old.childCount(ofItem: oldItem) == new.childCount(ofItem: newItem) ? [] : .updated
    }

    // MARK: Marks, numbers

    private mutating func apply(_ marks: Marks, _ new: ColumnsView) {
        for (id, redraw) in marks.items {
            id.withUnsafeBytes { text in
                guard let item = new.item(withID: text) else { return }
                let row = new.row(ofItem: item)
                guard row >= 0, oldRowOfNew[row] >= 0 else { return }
                rowChanges[row].formUnion(redraw == .reload ? [.updated, .marked, .reload] : [.updated, .marked])
            }
        }
        for (id, redraw) in marks.sections {
            id.withUnsafeBytes { text in
                guard let section = new.section(withID: text),
                    sections.oldOfNew[section] >= 0
                else { return }
                sectionChanges[section].formUnion(
                    redraw == .reload ? [.updated, .marked, .reload] : [.updated, .marked])
            }
        }
    }

    private mutating func count() {
        if hasSameStructure {
            counts.updates = rowChanges.updates(from: start) + sectionChanges.updates(from: 0)
        } else {
            counts.add(rowChanges, oldRowOfNew, newRowOfOld, from: start)
            counts.add(sectionChanges, sections.oldOfNew, sections.newOfOld, from: 0)
        }
    }
}

extension OperationCounts {
    /// Counts what becomes of one list; its first `start` elements stay and are unchanged.
    fileprivate mutating func add(
        _ changes: [Changeset.RowChange], _ oldOfNew: [Int32], _ newOfOld: [Int32], from start: Int
    ) {
        let added = oldOfNew.sum(from: start) { UInt32(bitPattern: $0) >> 31 }
        insertions += added
        deletions += newOfOld.sum(from: start) { UInt32(bitPattern: $0) >> 31 }
        // Only common elements stay (bit 0) or are updated (bit 1).
        moves += changes.count - start - added - changes.sum(from: start) { UInt32($0.rawValue & 1) }
        updates += changes.updates(from: start)
    }
}

extension [Changeset.RowChange] {
    fileprivate func updates(from start: Int) -> Int { sum(from: start) { UInt32($0.rawValue >> 1 & 1) } }
}

extension Array {
    /// Bits rather than conditions, so that the compiler adds several elements at once.
    @inline(__always)
    fileprivate func sum(from start: Int, _ bit: (Element) -> UInt32) -> Int {
        withUnsafeBufferPointer { elements in
            var sum: UInt32 = 0
            for index in start..<elements.count { sum &+= bit(elements[index]) }
            return Int(sum)
        }
    }
}
