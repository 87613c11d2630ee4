// Splices of one flat list, each index right at its moment: removals from the end, then insertions and moves towards
// the end, then updates in place. The flat list has a minimum of its own: a row that changes sections need not move in
// it.

extension ChangesetView {
    func writeSequential(into writer: inout JSONWriter) {
        let before = FlatList(old)
        let after = FlatList(new)
        let plan = FlatPlan(self, before, after)
        writer.append(byte: UInt8(ascii: "["))
        var list = JSONList()
        removeRuns(plan, before, &list, &writer)
        placeRuns(plan, after, &list, &writer)
        updateRuns(plan, after, &list, &writer)
        writer.append(byte: UInt8(ascii: "]"))
    }

    private func removeRuns(_ plan: FlatPlan, _ before: FlatList, _ list: inout JSONList, _ writer: inout JSONWriter) {
        var end = before.elements.count
        while end > 0 {
            var start = end
            while start > 0, plan.newOfOld[start - 1] < 0 { start -= 1 }
            if start < end {
                list.separate(&writer)
                writer.emit("{\"op\":\"remove\",\"at\":", start)
                writer.emit(",\"count\":", end - start, "}")
            }
            end = start - 1
        }
    }

    private func placeRuns(_ plan: FlatPlan, _ after: FlatList, _ list: inout JSONList, _ writer: inout JSONWriter) {
        var tracker = plan.tracker
        var isInRun = false
        for index in after.elements.indices {
            if isInRun, plan.oldOfNew[index] >= 0 {
                writer.append("]}")
                isInRun = false
            }
            if plan.oldOfNew[index] < 0 {
                let place = tracker.place()
                if isInRun {
                    writer.append(byte: UInt8(ascii: ","))
                } else {
                    list.separate(&writer)
                    writer.emit("{\"op\":\"insert\",\"at\":", place, ",\"rows\":[")
                    isInRun = true
                }
                append(after.elements[index], to: &writer)
            } else if plan.stays[index] {
                tracker.pass()
            } else {
                let from = tracker.leave(plan.placeAmongCommon[Int(plan.oldOfNew[index])])
                list.separate(&writer)
                writer.emit("{\"op\":\"move\",\"from\":", from)
                writer.emit(",\"to\":", tracker.place())
                if case .row(let row) = after.elements[index], changesSection(row: row) {
                    appendHome(ofRow: row, to: &writer)
                }
                writer.append(byte: UInt8(ascii: "}"))
            }
        }
        if isInRun { writer.append("]}") }
    }

    private func updateRuns(_ plan: FlatPlan, _ after: FlatList, _ list: inout JSONList, _ writer: inout JSONWriter) {
        var run: Marks.Redraw?
        for index in after.elements.indices {
            let redraw = plan.isUpdated(index, after, self) ? redraw(after.elements[index]) : nil
            if let run, run != redraw { end(run, &writer) }
            if let redraw {
                if run == redraw {
                    writer.append(byte: UInt8(ascii: ","))
                } else {
                    list.separate(&writer)
                    writer.emit("{\"op\":\"update\",\"at\":", index, ",\"rows\":[")
                }
                append(after.elements[index], to: &writer)
            }
            run = redraw
        }
        if let run { end(run, &writer) }
    }

    /// How an updated element is drawn again.
    private func redraw(_ element: FlatList.Element) -> Marks.Redraw {
        switch element {
        case .header(let section): redraw(section: section)
        case .row(let row): redraw(row: row)
        }
    }

    private func end(_ run: Marks.Redraw, _ writer: inout JSONWriter) {
        writer.append(byte: UInt8(ascii: "]"))
        writer.append(run.member)
        writer.append(byte: UInt8(ascii: "}"))
    }

    /// A header or an item row of the new list; a common one as an update says it.
    private func append(_ element: FlatList.Element, to writer: inout JSONWriter) {
        switch element {
        case .header(let section):
            writer.append("{\"section\":")
            if isNew(section: section) {
                append(section: section, to: &writer)
            } else {
                append(updatedSection: section, to: &writer)
            }
        case .row(let row):
            writer.append("{\"item\":")
            if isNew(row: row) { append(row: row, to: &writer) } else { append(updatedRow: row, to: &writer) }
            appendHome(ofRow: row, to: &writer)
        }
        writer.append(byte: UInt8(ascii: "}"))
    }

    private func appendHome(ofRow row: Int, to writer: inout JSONWriter) {
        writer.emit(",\"in\":", new.id(ofSection: section(ofRow: row)).token)
    }

    /// Whether a common row is in another section than before.
    fileprivate func changesSection(row: Int) -> Bool {
        newSection(of: section(ofOldRow: oldRow(of: row))) != section(ofRow: row)
    }
}

/// Headers and rows in one line.
private struct FlatList {
    enum Element {
        /// A section that has content.
        case header(Int)
        case row(Int)
    }

    private(set) var elements: [Element] = []
    /// Index of each row.
    private(set) var indexOfRow: [Int32] = []
    /// Index of each section's header, or -1.
    private(set) var indexOfHeader: [Int32] = []

    init(_ view: ColumnsView) {
        elements.reserveCapacity(view.rowCount + view.sections.count)
        indexOfRow.reserveCapacity(view.rowCount)
        indexOfHeader.reserveCapacity(view.sections.count)
        for section in view.sections.indices {
            let hasHeader = view.sections[section].flags.contains(.hasContent)
            indexOfHeader.append(hasHeader ? Int32(truncatingIfNeeded: elements.count) : -1)
            if hasHeader { elements.append(.header(section)) }
            for row in view.rows(ofSection: section) {
                indexOfRow.append(Int32(truncatingIfNeeded: elements.count))
                elements.append(.row(row))
            }
        }
    }
}

/// Partners in the flat lists, and what stays.
private struct FlatPlan {
    private(set) var oldOfNew: [Int32] = []
    private(set) var newOfOld: [Int32]
    private(set) var stays: [Bool]
    /// Index of an old element once those that are gone are removed.
    private(set) var placeAmongCommon: [Int]
    let tracker: SpliceTracker

    init(_ changeset: ChangesetView, _ before: FlatList, _ after: FlatList) {
        newOfOld = [Int32](repeating: -1, count: before.elements.count)
        oldOfNew.reserveCapacity(after.elements.count)
        for (index, element) in after.elements.enumerated() {
            let partner: Int32
            switch element {
            case .header(let section):
                partner =
                    changeset.isNew(section: section) ? -1 : before.indexOfHeader[changeset.oldSection(of: section)]
            case .row(let row): partner = changeset.isNew(row: row) ? -1 : before.indexOfRow[changeset.oldRow(of: row)]
            }
            oldOfNew.append(partner)
            if partner >= 0 { newOfOld[Int(partner)] = Int32(truncatingIfNeeded: index) }
        }
        placeAmongCommon = []
        placeAmongCommon.reserveCapacity(newOfOld.count)
        var common = 0
        for partner in newOfOld {
            placeAmongCommon.append(common)
            if partner >= 0 { common += 1 }
        }
        stays = [Bool](repeating: false, count: after.elements.count)
        tracker = Self.keep(&stays, oldOfNew, placeAmongCommon, common)
    }

    private static func keep(
        _ stays: inout [Bool], _ oldOfNew: [Int32], _ placeAmongCommon: [Int], _ common: Int
    ) -> SpliceTracker {
        let places = oldOfNew.indices.filter { oldOfNew[$0] >= 0 }
        var run = IncreasingRun()
        for place in places { run.append(oldOfNew[place], at: place) }
        run.find(fixedShift: 0) { stays[$0] = true }
        return SpliceTracker(
            stays: places.filter { stays[$0] }.map { .init(final: $0, old: placeAmongCommon[Int(oldOfNew[$0])]) },
            leavers: places.filter { !stays[$0] }.map { placeAmongCommon[Int(oldOfNew[$0])] }, oldCount: common)
    }

    /// Whether a common element shows differently, or stays where it is in another section.
    func isUpdated(_ index: Int, _ after: FlatList, _ changeset: ChangesetView) -> Bool {
        guard oldOfNew[index] >= 0 else { return false }
        switch after.elements[index] {
        case .header(let section): return changeset.isUpdated(section: section)
        case .row(let row):
            return changeset.isUpdated(row: row) || stays[index] && changeset.changesSection(row: row)
        }
    }
}
