/// A changeset in the making: pair, keep, compare. Not copyable, since a copy retains all its lists.
struct ChangesetDraft: ~Copyable {
    package typealias RowChange = Changeset.RowChange

    private(set) var items: Pairing
    private(set) var sections: Pairing
    private(set) var oldRowOfNew: [Int32]
    private(set) var newRowOfOld: [Int32]
    private(set) var rowChanges: [RowChange]
    private(set) var sectionChanges: [RowChange]
    private(set) var sectionCounts = OperationCounts()
    private(set) var itemCounts = OperationCounts()
    private(set) var shared: SharedRuns
    /// The number of rows at the start of both states that stay, are not updated and need no search.
    private let start: Int

    init(_ old: ColumnsView, _ new: ColumnsView, ignoring ignored: PointerSet, _ marks: Marks, _ known: SharedRuns) {
        // With the same structure, all are pairs in order, and stay.
        let hasSameStructure = known.hasSameStructure
        shared = known
        if hasSameStructure {
            sections = Pairing(inOrder: new.sections.count)
            items = Pairing(inOrder: new.nodes.count)
        } else {
            sections = Pairing(old.sections, in: old.text, new.sections, in: new.text, table: new.columns.sectionTable)
            items =
                known.pairs ?? Pairing(old.nodes, in: old.text, new.nodes, in: new.text, table: new.columns.itemTable)
        }
        start = marks.isEmpty ? Self.unchangedStart(known.runs, old, new, sections) : 0
        (oldRowOfNew, newRowOfOld) = Self.rows(items, old, new)
        rowChanges = [RowChange](filled: .stays, count: new.rowCount)
        let oldSections = sections.oldOfNew
        let sectionsStay = oldSections.indices.allSatisfy { Int(oldSections[$0]) == $0 }
        sectionChanges = [RowChange](filled: sectionsStay ? .stays : [], count: new.sections.count)
        if !hasSameStructure { keep(old, new) }
        compareSections(old, new)
        if let runs = compareItems(old, new, ignored, known.runs) {
            shared = SharedRuns(
                runs, pairs: known.pairs, hasSameStructure: hasSameStructure, grown: known.grown, from: known.old,
                to: known.new)
        }
        if !marks.isEmpty { apply(marks, new) }
        sectionCounts = OperationCounts(
            sectionChanges, hasSameStructure ? nil : (sections.oldOfNew, sections.newOfOld), from: 0)
        itemCounts = OperationCounts(rowChanges, hasSameStructure ? nil : (oldRowOfNew, newRowOfOld), from: start)
    }

    /// The number of rows that, by the runs, both states begin with, in sections paired by index. As they come first in
    /// both, they extend any longest run of the others to a longest run of all, and each of them is at its old index.
    private static func unchangedStart(
        _ runs: [SharedRuns.Run], _ old: ColumnsView, _ new: ColumnsView, _ sections: Pairing
    ) -> Int {
        guard old.allVisible, new.allVisible else { return 0 }
        let start = runs.start
        // A run may continue although an item begins another section than before.
        for section in new.sections.indices {
            let first = Int(new.sections[section].firstItem)
            guard first < start else { break }
            guard Int(sections.oldOfNew[section]) == section else { return first }
            let (oldEnd, newEnd) = (old.sections[section].endItem, new.sections[section].endItem)
            if oldEnd != newEnd { return min(start, Int(min(oldEnd, newEnd))) }
        }
        return start
    }

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
        if !sectionChanges.allSatisfy({ $0.contains(.stays) }) {
            for (section, stays) in IncreasingRun.longest(of: sections.oldOfNew).enumerated() where stays {
                sectionChanges[section].insert(.stays)
            }
        }
        var run = IncreasingRun()
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

    /// The common case; false if the rows that a section keeps are out of order.
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

    /// - Parameter shift: the distance of a row from its old row if its index in the section is the same.
    private mutating func keepLongest(
        _ oldRows: Range<Int>, _ newRows: Range<Int>, _ shift: Int, _ run: inout IncreasingRun
    ) {
        // Rows at the end of both come last in either state: they stay, whatever else does.
        var (oldEnd, newEnd) = (oldRows.upperBound, newRows.upperBound)
        while newEnd > newRows.lowerBound, Int(oldRowOfNew[newEnd - 1]) == oldEnd - 1, oldEnd > oldRows.lowerBound {
            (oldEnd, newEnd) = (oldEnd - 1, newEnd - 1)
        }
        run.removeAll()
        oldRowOfNew.withUnsafeBufferPointer { oldRowOfNew in
            rowChanges.withUnsafeMutableBufferPointer { changes in
                for row in newRows.lowerBound..<newEnd { changes[row] = [] }
                var row = newRows.lowerBound
                while row < newEnd {
                    let (first, old) = (row, Int(oldRowOfNew[row]))
                    row += 1
                    guard old >= oldRows.lowerBound, old < oldEnd else { continue }
                    let end = min(newEnd, first + oldEnd - old)
                    while row < end, Int(oldRowOfNew[row]) == old + row - first { row += 1 }
                    run.append(Int32(truncatingIfNeeded: old), at: first, count: row - first)
                }
                run.find(fixedShift: shift, goesOn: newEnd < newRows.upperBound) {
                    for row in $0 { changes[row] = .stays }
                }
            }
        }
    }

    // MARK: What shows differently

    private mutating func compareSections(_ old: ColumnsView, _ new: ColumnsView) {
        for section in new.sections.indices {
            let oldSection = Int(sections.oldOfNew[section])
            guard oldSection >= 0 else { continue }
            let (one, other) = (old.sections[oldSection], new.sections[section])
            if one.flags.intersection(.shown) != other.flags.intersection(.shown)
                || !sameValue(old.content(ofSection: oldSection), new.content(ofSection: section), ignoring: .none)
            {
                sectionChanges[section].insert(.updated)
            }
        }
    }

    /// Compares the items that are in no run; returns the runs together with those that are the same, if any are.
    private mutating func compareItems(
        _ old: ColumnsView, _ new: ColumnsView, _ ignored: PointerSet, _ runs: [SharedRuns.Run]
    ) -> [SharedRuns.Run]? {
        // The list is copied only once more are found.
        var (unchanged, isLonger) = (runs, false)
        let grown = ignored.isEmpty ? shared.grown : [:]
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
                            let isSame = old.hasSameBytes(oldItem, as: new, item)
                            let change = Self.change(
                                oldItem, item, old, new, oldOfNew, isSame ? nil : ignored, differs: grown[item] != nil)
                            changes[row].formUnion(change)
                            guard isSame, change.isEmpty else { continue }
                            if !isLonger { (unchanged, isLonger) = (Array(runs[..<next]), true) }
                            unchanged.append(joining: SharedRuns.Run(old: oldItem, new: item, count: 1))
                        }
                        guard next < runs.count else { break }
                        if isLonger { unchanged.append(joining: runs[next]) }
                        item = end + runs[next].count
                    }
                }
            }
        }
        return isLonger ? unchanged : nil
    }

    /// - Parameters:
    ///   - ignored: nil for items that are known to be written the same way.
    ///   - differs: whether the contents are known to differ.
    @inline(__always)
    private static func change(
        _ oldItem: Int, _ newItem: Int, _ old: ColumnsView, _ new: ColumnsView, _ oldOfNew: UnsafeBufferPointer<Int32>,
        _ ignored: PointerSet?, differs: Bool
    ) -> RowChange {
        let (one, other) = (old.nodes[oldItem], new.nodes[newItem])
        let differing = one.flags.symmetricDifference(other.flags)
        if ignored != nil, other.flags.contains(.hasKind) || differing.contains(.hasKind) {
            guard !differing.contains(.hasKind), old.hasSameKind(item: oldItem, as: new, newItem) else {
                return [.updated, .reload]
            }
        }
        if !differing.isDisjoint(with: .shown) || one.level != other.level { return .updated }
        // On level 0 there is no parent to compare.
        if other.level > 0, one.parent != oldOfNew[Int(other.parent)] { return .updated }
        if let ignored, other.flags.contains(.hasContent),
            differs || !sameValue(old.content(ofItem: oldItem), new.content(ofItem: newItem), ignoring: ignored)
        {
            return .updated
        }
        if old.isLeaf(oldItem), new.isLeaf(newItem) { return [] }
        return old.childCount(ofItem: oldItem) == new.childCount(ofItem: newItem) ? [] : .updated
    }

    private mutating func apply(_ marks: Marks, _ new: ColumnsView) {
        for (id, redraw) in marks.items {
            guard let item = id.withUnsafeBytes({ new.item(withID: $0) }), case let row = new.row(ofItem: item),
                row >= 0, oldRowOfNew[row] >= 0
            else { continue }
            rowChanges[row].formUnion(redraw == .reload ? [.updated, .reload] : .updated)
        }
        for (id, redraw) in marks.sections {
            guard let section = id.withUnsafeBytes({ new.section(withID: $0) }), sections.oldOfNew[section] >= 0
            else { continue }
            sectionChanges[section].formUnion(redraw == .reload ? [.updated, .reload] : .updated)
        }
    }
}

extension OperationCounts {
    /// - Parameters:
    ///   - partners: nil if all elements are pairs and stay.
    ///   - start: how many elements at the start stay and are unchanged.
    fileprivate init(
        _ changes: [Changeset.RowChange], _ partners: (oldOfNew: [Int32], newOfOld: [Int32])?, from start: Int
    ) {
        updates = changes.sum(from: start) { UInt32($0.rawValue >> 1 & 1) }
        guard let partners else { return }
        insertions = partners.oldOfNew.sum(from: start) { UInt32(bitPattern: $0) >> 31 }
        deletions = partners.newOfOld.sum(from: start) { UInt32(bitPattern: $0) >> 31 }
        // Only common elements stay (bit 0) or are updated (bit 1).
        moves = changes.count - start - insertions - changes.sum(from: start) { UInt32($0.rawValue & 1) }
    }
}

extension Array {
    /// Adds bits rather than testing conditions, so that the compiler adds several elements at once.
    @inline(__always)
    fileprivate func sum(from start: Int, _ bit: (Element) -> UInt32) -> Int {
        withUnsafeBufferPointer { elements in
            var sum: UInt32 = 0
            for index in start..<elements.count { sum &+= bit(elements[index]) }
            return Int(sum)
        }
    }
}

extension ColumnsView {
    /// Whether an item with a kind in both states has the same one.
    package func hasSameKind(item: Int, as other: ColumnsView, _ otherItem: Int) -> Bool {
        kindText(ofItem: item) == other.kindText(ofItem: otherItem)
    }
}
