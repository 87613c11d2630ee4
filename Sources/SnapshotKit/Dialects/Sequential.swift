// Splices of one flat list, each index right at its moment: removals from the end, then insertions and moves, then
// updates. It has a minimum of its own: a row that changes sections need not move in it.

extension ChangesetView {
    func writeSequential(into writer: inout JSONWriter) {
        let plan = FlatPlan(self)
        writer.append("[")
        removeRuns(plan, &writer)
        putRuns(plan, &writer)
        updateRuns(plan, &writer)
        writer.append("]")
    }

    private func removeRuns(_ plan: FlatPlan, _ writer: inout JSONWriter) {
        var end = plan.isKept.count
        while end > 0 {
            var start = end
            while start > 0, !plan.isKept[start - 1] { start -= 1 }
            if start < end {
                writer.separate()
                writer.emit("{\"op\":\"remove\",\"at\":", start)
                writer.emit(",\"count\":", end - start, "}")
            }
            end = start - 1
        }
    }

    private func putRuns(_ plan: FlatPlan, _ writer: inout JSONWriter) {
        var tracker = plan.tracker
        var isInRun = false
        for (index, element) in plan.elements.enumerated() {
            let isNew = plan.oldOfNew[index] < 0
            if isInRun, !isNew { writer.append("]}") }
            if isNew {
                let position = tracker.put()
                writer.separate()
                if !isInRun { writer.emit("{\"op\":\"insert\",\"at\":", position, ",\"rows\":[") }
                append(element, to: &writer)
            } else if plan.stays[index] {
                tracker.pass()
            } else {
                writer.separate()
                writer.emit("{\"op\":\"move\",\"from\":", tracker.leave(Int(plan.oldOfNew[index])))
                writer.emit(",\"to\":", tracker.put())
                if case .row(let row) = element, changesSection(row: row) { append(sectionOfRow: row, to: &writer) }
                writer.append("}")
            }
            isInRun = isNew
        }
        if isInRun { writer.append("]}") }
    }

    private func updateRuns(_ plan: FlatPlan, _ writer: inout JSONWriter) {
        var run: Marks.Redraw?
        for index in plan.elements.indices {
            let redraw = redraw(index, plan)
            if let run, run != redraw { end(run, &writer) }
            if let redraw {
                writer.separate()
                if run != redraw { writer.emit("{\"op\":\"update\",\"at\":", index, ",\"rows\":[") }
                append(plan.elements[index], to: &writer)
            }
            run = redraw
        }
        if let run { end(run, &writer) }
    }

    /// Nil unless an element is in both lists and looks different, or stays where it is but in another section.
    private func redraw(_ index: Int, _ plan: FlatPlan) -> Marks.Redraw? {
        guard plan.oldOfNew[index] >= 0 else { return nil }
        switch plan.elements[index] {
        case .header(let section): return isUpdated(section: section) ? redraw(section: section) : nil
        case .row(let row):
            return isUpdated(row: row) || plan.stays[index] && changesSection(row: row) ? redraw(row: row) : nil
        }
    }

    private func end(_ run: Marks.Redraw, _ writer: inout JSONWriter) {
        writer.append("]")
        writer.append(run.member)
        writer.append("}")
    }

    private func append(_ element: FlatPlan.Element, to writer: inout JSONWriter) {
        switch element {
        case .header(let section):
            writer.append("{\"section\":")
            append(updatedSection: section, to: &writer)
        case .row(let row):
            writer.append("{\"item\":")
            append(updatedRow: row, to: &writer)
            append(sectionOfRow: row, to: &writer)
        }
        writer.append("}")
    }

    private func append(sectionOfRow row: Int, to writer: inout JSONWriter) {
        writer.emit(",\"in\":", new.id(ofSection: section(ofRow: row)))
    }

    private func changesSection(row: Int) -> Bool {
        newSection(of: section(ofOldRow: oldRow(of: row))) != section(ofRow: row)
    }
}

/// The new flat list, its elements' partners in the old one, and what stays.
private struct FlatPlan {
    enum Element {
        /// A section that has content.
        case header(Int)
        case row(Int)
    }

    let elements: [Element]
    let oldOfNew: [Int32]
    /// Of old elements: whether the new list has them.
    let isKept: [Bool]
    let stays: [Bool]
    let tracker: SpliceTracker

    init(_ changeset: ChangesetView) {
        let (old, new) = (changeset.old, changeset.new)
        let (oldHeaders, newHeaders) = (Self.headersUpTo(old), Self.headersUpTo(new))
        var (elements, oldOfNew): ([Element], [Int32]) = ([], [])
        elements.reserveCapacity(new.rowCount + (newHeaders.last ?? 0))
        oldOfNew.reserveCapacity(elements.capacity)
        for section in new.sections.indices {
            if new.sections[section].flags.contains(.hasContent) {
                let oldSection = changeset.oldSection(of: section)
                let hadHeader = oldSection >= 0 && old.sections[oldSection].flags.contains(.hasContent)
                let header = hadHeader ? old.rows(ofSection: oldSection).lowerBound + oldHeaders[oldSection] - 1 : -1
                elements.append(.header(section))
                oldOfNew.append(Int32(truncatingIfNeeded: header))
            }
            for row in new.rows(ofSection: section) {
                let oldRow = changeset.oldRow(of: row)
                let partner = oldRow < 0 ? -1 : oldRow + oldHeaders[changeset.section(ofOldRow: oldRow)]
                elements.append(.row(row))
                oldOfNew.append(Int32(truncatingIfNeeded: partner))
            }
        }
        var isKept = [Bool](repeating: false, count: old.rowCount + (oldHeaders.last ?? 0))
        let common = oldOfNew.indices.filter { oldOfNew[$0] >= 0 }
        for index in common { isKept[Int(oldOfNew[index])] = true }
        let stays = IncreasingRun.longest(of: oldOfNew)
        // What is gone has been removed before, and does not count.
        tracker = SpliceTracker(
            stays: common.filter { stays[$0] }.map { ($0, Int(oldOfNew[$0])) },
            removals: common.filter { !stays[$0] }.map { Int(oldOfNew[$0]) }, oldCount: isKept.count)
        (self.elements, self.oldOfNew, self.isKept, self.stays) = (elements, oldOfNew, isKept, stays)
    }

    private static func headersUpTo(_ view: ColumnsView) -> [Int] {
        view.sections.reduce(into: []) { $0.append(($0.last ?? 0) + ($1.flags.contains(.hasContent) ? 1 : 0)) }
    }
}

// MARK: - Positions
//
// Where is an element while one list is turned into another? The list holds elements in place for good (those that
// stay, and those put so far, by final index) and those to remove, where they always were. An element is put directly
// behind its final predecessor, so an element to remove is behind everything put after the last staying element before
// it. Hence both counts that make up an index are sums: elements in place are counted by final index, removals by old
// index in a Fenwick tree (Fenwick 1994). O(log n) per question.

/// Current indexes of one list under splices.
struct SpliceTracker {
    /// The final and the old index of an element that never moves: removals with a smaller old one are before it.
    typealias FixedElement = (final: Int, old: Int)

    private let stays: [FixedElement]
    private var removals: FenwickTree
    /// The next final index; all elements below it are in place.
    private(set) var next = 0
    private var staysPassed = 0

    /// - Parameter stays: ascending in both numbers.
    init(stays: [FixedElement], removals: some Sequence<Int>, oldCount: Int) {
        self.stays = stays
        self.removals = FenwickTree(count: oldCount, ones: removals)
    }

    /// Puts the element of the next final index in place, by an operation or because it stays; returns its index.
    mutating func put() -> Int {
        let index = self.index(ofFinal: next)
        if staysPassed < stays.count, stays[staysPassed].final == next { staysPassed += 1 }
        next += 1
        return index
    }

    mutating func pass() {
        staysPassed += 1
        next += 1
    }

    mutating func leave(_ old: Int) -> Int {
        let index = index(ofRemoval: old)
        removals.remove(old)
        return index
    }

    /// The index of an element that is in place, or of the next one to be put.
    func index(ofFinal final: Int) -> Int {
        let rank = stays.indices.partitionPoint { stays[$0].final <= final }
        let before = final <= next ? final : next + rank - 1 - staysPassed
        return before + (rank == 0 ? 0 : removals.count(below: stays[rank - 1].old))
    }

    func index(ofRemoval old: Int) -> Int {
        let rank = stays.indices.partitionPoint { stays[$0].old <= old }
        let isPassed = rank < stays.count && stays[rank].final <= next
        let before = isPassed ? stays[rank].final : next + max(0, rank - staysPassed)
        return before + removals.count(below: old)
    }
}

/// Prefix sums over zeros and ones.
private struct FenwickTree {
    private var sums: [Int32]

    init(count size: Int, ones: some Sequence<Int>) {
        sums = [Int32](repeating: 0, count: size + 1)
        for index in ones { sums[index + 1] += 1 }
        for index in 1..<max(size + 1, 1) {
            let parent = index + index & -index
            if parent <= size { sums[parent] += sums[index] }
        }
    }

    mutating func remove(_ index: Int) {
        var at = index + 1
        while at < sums.count {
            sums[at] -= 1
            at += at & -at
        }
    }

    func count(below index: Int) -> Int {
        var sum = 0
        var at = min(index, sums.count - 1)
        while at > 0 {
            sum += Int(sums[at])
            at -= at & -at
        }
        return sum
    }
}
