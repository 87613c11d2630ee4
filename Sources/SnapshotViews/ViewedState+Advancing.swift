// What a commit costs a view depends on what changed: the tests and orders of those items, and for each one that goes
// or comes a comparison with O(log n) others. What stays keeps its order, and is copied as memory where indexes shift.

import SnapshotKit

extension ViewedState {
    /// What the view shows of the next state.
    ///
    /// O(changes · log n) contents, and O(n) of memory if items were inserted, deleted or moved: about 10 µs for
    /// 10,000.
    ///
    /// - Parameter step: a step from `source`.
    /// - Returns: what the view shows then, and whether it is known to be the same as before; if not, it may still be.
    public func advanced(over step: StateStep) -> (seen: ViewedState, isSame: Bool) {
        guard step.change.old === source.columns, let parts = step.parts else {
            return (ViewedState(view, of: step.new), false)
        }
        return source.columns.withView { old in
            step.change.new.withView { new in
                var advance = ViewAdvance(self, step.change, parts, old, new)
                guard let seen = advance.seen(step.new) else { return (ViewedState(view, of: step.new), false) }
                return (seen, advance.isSame(in: seen))
            }
        }
    }

    /// The marks that are on rows and sections which the view shows. O(marks · log n).
    public func shown(of marks: Marks) -> Marks {
        source.columns.withView { columns in
            marks.filter { id in
                columns.item(withID: id).flatMap { row(ofItem: $0, in: columns) } != nil
            } sections: { id in
                guard let section = columns.section(withID: id) else { return false }
                return picked == nil || span(ofSection: section) != nil
            }
        }
    }
}

/// A view's step from one state to the next.
private struct ViewAdvance {
    private let seen: ViewedState
    private let change: Changeset
    private let step: StateStep.Parts
    private let old: ColumnsView
    private let new: ColumnsView
    /// Old positions of items that are no longer shown, or are shown elsewhere.
    private var removed: Set<Int> = []
    /// Items of the new state that were not shown, or are shown elsewhere.
    private var inserted: Set<Int> = []
    /// The new position of the first of those.
    private var firstArrival = Int.max
    /// Whether an item that stays where it is shows something else.
    private var showsChange = false
    /// Whether so much is different that the view is better made anew.
    private var isTooMuch = false

    init(_ seen: ViewedState, _ change: Changeset, _ step: StateStep.Parts, _ old: ColumnsView, _ new: ColumnsView) {
        (self.seen, self.change, self.step, self.old, self.new) = (seen, change, step, old, new)
        for changed in step.changed { look(at: changed) }
        for item in step.gone { remove(item..<item + 1) }
        for item in step.come { insert(item..<item + 1) }
    }

    private var parts: StateView.Parts { seen.view.parts }

    private var maxChanges: Int { max(64, (seen.picked?.count ?? 0) / 8) }

    // MARK: What changes

    private mutating func look(at changed: StateStep.Changed) {
        let passes = (old: parts.passes(changed.old, of: old), new: parts.passes(changed.new, of: new))
        guard passes.old || passes.new else { return }
        let isInOrder = ItemOrder(old, parts.orders).areEqual(changed.old, changed.new, in: new)
        if passes.old, passes.new, isInOrder {
            guard !showsChange, let place = seen.place(ofItem: changed.old, in: old), place < seen.shownCount else {
                return
            }
            showsChange = !showsSame(changed)
        } else {
            // All that is below it goes with it.
            let subtrees = (
                changed.old..<Int(old.nodes[changed.old].end), changed.new..<Int(new.nodes[changed.new].end)
            )
            isTooMuch = isTooMuch || subtrees.0.count + subtrees.1.count > maxChanges
            if isTooMuch { return }
            remove(subtrees.0)
            insert(subtrees.1)
        }
    }

    private mutating func remove(_ items: Range<Int>) {
        for item in items {
            if let place = seen.place(ofItem: item, in: old) { removed.insert(place) }
        }
    }

    private mutating func insert(_ items: Range<Int>) {
        for item in items where parts.includes(section: Int(new.nodes[item].section), of: new) {
            var ancestor = item
            while ancestor >= 0, parts.passes(ancestor, of: new) { ancestor = Int(new.nodes[ancestor].parent) }
            if ancestor < 0 { inserted.insert(item) }
        }
    }

    /// Whether an item that is shown in both states looks the same.
    private func showsSame(_ changed: StateStep.Changed) -> Bool {
        guard let places = parts.kept.items else { return false }
        let (one, other) = (old.nodes[changed.old].flags, new.nodes[changed.new].flags)
        let differing = one.symmetricDifference(other)
        guard differing.isDisjoint(with: [.hasKind, .isCollapsed]),
            !other.contains(.hasKind) || old.hasSameKind(item: changed.old, as: new, changed.new)
        else { return false }
        return places.showSame(old.content(ofItem: changed.old), new.content(ofItem: changed.new))
    }

    // MARK: What is shown

    /// What the view shows now; nil if so much is different that it is better made anew.
    mutating func seen(_ source: Snapshot) -> ViewedState? {
        guard let picked = seen.picked else { return ViewedState(seen.view, of: source, picked: nil, spans: []) }
        guard !isTooMuch, removed.count + inserted.count <= maxChanges else { return nil }
        if removed.isEmpty, inserted.isEmpty, step.hasSameSections {
            return ViewedState(
                seen.view, of: source, picked: step.isInPlace ? picked : moved(picked), spans: seen.spans)
        }
        let (kept, counts) = kept(picked)
        let arrivals = Dictionary(grouping: inserted) { new.nodes[$0].section }
        let order = ItemOrder(new, parts.orders)
        var (result, spans): ([UInt32], [ViewedState.Span]) = ([], [])
        result.reserveCapacity(kept.count + inserted.count)
        var next = 0
        for section in new.sections.indices where parts.includes(section: section, of: new) {
            let oldSection = Int(change.sections.oldOfNew[section])
            let span = oldSection < 0 ? nil : seen.span(ofSection: oldSection)
            let end = next + (span.map { counts[$0] } ?? 0)
            for item in arrivals[UInt32(truncatingIfNeeded: section), default: []].sorted(by: order.precedes) {
                let place = order.place(of: item, in: kept, next..<end)
                result += kept[next..<place]
                firstArrival = min(firstArrival, result.count)
                result.append(UInt32(truncatingIfNeeded: item))
                next = place
            }
            result += kept[next..<end]
            next = end
            spans.append(
                ViewedState.Span(
                    section: UInt32(truncatingIfNeeded: section), end: UInt32(truncatingIfNeeded: result.count)))
        }
        return ViewedState(seen.view, of: source, picked: result, spans: spans)
    }

    /// The new indexes of items that stay.
    private func moved(_ items: some Collection<UInt32>) -> [UInt32] {
        if step.isInPlace { return Array(items) }
        return change.items.newOfOld.withUnsafeBufferPointer { newOfOld in
            items.map { UInt32(bitPattern: newOfOld[Int($0)]) }
        }
    }

    /// The new indexes of those items picked that are left, and how many each section has.
    private func kept(_ picked: [UInt32]) -> ([UInt32], [Int]) {
        var kept: [UInt32] = []
        kept.reserveCapacity(picked.count)
        var counts: [Int] = []
        var start = 0
        let places = removed.sorted()
        var next = 0
        for span in seen.spans {
            let before = kept.count
            while next < places.count, places[next] < Int(span.end) {
                kept += moved(picked[start..<places[next]])
                start = places[next] + 1
                next += 1
            }
            kept += moved(picked[start..<Int(span.end)])
            start = Int(span.end)
            counts.append(kept.count - before)
        }
        return (kept, counts)
    }

    // MARK: Whether it is the same

    /// Whether the view is known to show the same as before.
    func isSame(in now: ViewedState) -> Bool {
        guard !showsChange, removed.allSatisfy({ $0 >= seen.shownCount }),
            now.picked == nil ? inserted.allSatisfy({ $0 >= now.shownCount }) : firstArrival >= now.shownCount
        else { return false }
        guard now.sectionCount == seen.sectionCount else { return false }
        for index in 0..<now.sectionCount {
            let (oldSection, newSection) = (seen.sourceSection(index), now.sourceSection(index))
            guard Int(change.sections.oldOfNew[newSection]) == oldSection else { return false }
            guard change.sectionChanges[newSection].contains(.updated) else { continue }
            let (one, other) = (old.sections[oldSection].flags, new.sections[newSection].flags)
            guard let places = parts.kept.sections, one.contains(.isCollapsed) == other.contains(.isCollapsed),
                places.showSame(old.content(ofSection: oldSection), new.content(ofSection: newSection))
            else { return false }
        }
        return !change.changesList || parts.kept.list?.showSame(old.listContent, new.listContent) == true
    }
}

extension StateView.Parts {
    /// Whether an item passes all tests, whatever its ancestors do.
    fileprivate func passes(_ item: Int, of columns: ColumnsView) -> Bool {
        tests.allSatisfy { $0.passes(item, of: columns) }
    }
}

extension PointerSet {
    /// Whether two contents have the same at the places.
    fileprivate func showSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        let shown = [one, other].map { content in
            var writer = JSONWriter(capacity: content.count)
            return writer.append(content, keeping: self) ? JSONText(accepted: writer.bytes()) : nil
        }
        return shown[0] == shown[1]
    }
}
