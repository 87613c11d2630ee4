// A commit costs a view the tests and orders of the items that changed, and a comparison with O(log n) others for each
// one that goes or comes. Items that stay are copied as memory where indexes shift.

import SnapshotKit

extension ViewedState {
    /// What the view shows of the next state.
    ///
    /// O(changes · log n) contents, and O(n) of memory if items were inserted, deleted or moved: about 10 µs for
    /// 10,000.
    ///
    /// - Parameter step: a step from `source`.
    /// - Returns: what the view then shows, and whether it is known to be the same as before; if not, it may still be.
    public func advanced(over step: StateStep) -> (seen: ViewedState, isSame: Bool) {
        guard step.change.old === source.columns, let parts = step.parts else {
            return (ViewedState(view, of: step.new), false)
        }
        return source.columns.withViews(of: step.change.new) { old, new in
            var advance = ViewAdvance(self, step.change, parts, old, new)
            guard let seen = advance.seen(step.new) else { return (ViewedState(view, of: step.new), false) }
            return (seen, advance.isSame(in: seen))
        }
    }

    /// The marks on rows and sections that the view shows. O(marks · log n).
    public func shown(of marks: Marks) -> Marks {
        source.columns.withView { columns in
            marks.filter { id in
                columns.item(withID: id).flatMap { row(ofItem: $0, in: columns) } != nil
            } sections: { id in
                columns.section(withID: id).map(shows(section:)) ?? false
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
    private var filters: (old: ItemTests.Filter, new: ItemTests.Filter)
    /// Old positions of items that are no longer shown, or are shown elsewhere.
    private var removed: Set<Int> = []
    /// Items of the new state that were not shown, or are shown elsewhere.
    private var inserted: Set<Int> = []
    /// The new position of the first of those.
    private var firstArrival = Int.max
    private var showsChange = false
    private var isTooMuch = false

    init(_ seen: ViewedState, _ change: Changeset, _ step: StateStep.Parts, _ old: ColumnsView, _ new: ColumnsView) {
        (self.seen, self.change, self.step, self.old, self.new) = (seen, change, step, old, new)
        let tests = seen.view.parts.tests
        filters = (ItemTests.Filter(tests, of: old), ItemTests.Filter(tests, of: new))
        for changed in step.changed { look(at: changed) }
        for item in step.gone { remove(item..<item + 1) }
        for item in step.come { insert(item..<item + 1) }
    }

    private var parts: StateView.Parts { seen.view.parts }

    private var maxChanges: Int { max(64, (seen.picked?.count ?? 0) / 8) }

    private mutating func look(at changed: StateStep.Changed) {
        let passes = (old: filters.old.passes(changed.old), new: filters.new.passes(changed.new))
        guard passes.old || passes.new else { return }
        let isInOrder = ItemOrder(old, parts).areEqual(changed.old, changed.new, in: new) && hasSameGroup(changed)
        if passes.old, passes.new, isInOrder {
            guard !showsChange, seen.position(ofItem: changed.old, in: old) != nil else { return }
            showsChange = !showsSame(changed)
        } else {
            let subtrees = (
                changed.old..<Int(old.nodes[changed.old].end), changed.new..<Int(new.nodes[changed.new].end)
            )
            isTooMuch = isTooMuch || subtrees.0.count + subtrees.1.count > maxChanges
            if isTooMuch { return }
            remove(subtrees.0)
            insert(subtrees.1)
        }
    }

    private func hasSameGroup(_ changed: StateStep.Changed) -> Bool {
        guard let group = parts.group, new.nodes[changed.new].level == 0 else { return true }
        // The first item of a group decides what the section's content says of it.
        return group.of(changed.old, in: old) { before in
            group.of(changed.new, in: new) { before.form == $0.form && before.id.elementsEqual($0.id) }
        }
    }

    private mutating func remove(_ items: Range<Int>) {
        for item in items {
            if let index = seen.pickedIndex(ofItem: item, in: old) { removed.insert(index) }
        }
    }

    private mutating func insert(_ items: Range<Int>) {
        for item in items where parts.includes(section: Int(new.nodes[item].section), of: new) {
            var ancestor = item
            while ancestor >= 0, filters.new.passes(ancestor) { ancestor = Int(new.nodes[ancestor].parent) }
            if ancestor < 0 { inserted.insert(item) }
        }
    }

    private func showsSame(_ changed: StateStep.Changed) -> Bool {
        guard let places = parts.kept.items else { return false }
        let (one, other) = (old.nodes[changed.old].flags, new.nodes[changed.new].flags)
        let differing = one.symmetricDifference(other)
        guard differing.isDisjoint(with: [.hasKind, .isCollapsed]),
            !other.contains(.hasKind) || old.hasSameKind(item: changed.old, as: new, changed.new)
        else { return false }
        return places.showSame(old.content(ofItem: changed.old), new.content(ofItem: changed.new))
    }

    /// Nil if so much differs that the view is better made anew.
    mutating func seen(_ source: Snapshot) -> ViewedState? {
        let isUnmoved = removed.isEmpty && inserted.isEmpty && step.hasSameSections
        guard let picked = seen.picked else {
            return ViewedState(seen.view, of: source, picked: nil, spans: [], arrangedAs: isUnmoved ? arrangement : nil)
        }
        guard !isTooMuch, removed.count + inserted.count <= maxChanges else { return nil }
        if isUnmoved {
            return ViewedState(
                seen.view, of: source, picked: moved(picked), spans: seen.spans, groups: seen.groups,
                arrangedAs: arrangement)
        }
        let (kept, keptGroups, counts) = kept(picked, seen.groups?.ofRow)
        var groups = seen.groups
        let isOneList = groups != nil
        groups?.ofRow = []
        let lists =
            isOneList
            ? [(section: 0, span: Optional(0))]
            : new.sections.indices.filter { parts.includes(section: $0, of: new) }.map { section in
                let old = Int(change.sections.oldOfNew[section])
                return (section, old < 0 ? nil : seen.span(ofSection: old))
            }
        let arrivals = Dictionary(grouping: inserted) { isOneList ? 0 : Int(new.nodes[$0].section) }
        let order = ItemOrder(new, parts)
        var (result, spans): ([UInt32], [ViewedState.Span]) = ([], [])
        result.reserveCapacity(kept.count + inserted.count)
        var next = 0
        for list in lists {
            let end = next + (list.span.map { counts[$0] } ?? 0)
            for item in arrivals[list.section, default: []].sorted(by: order.precedes) {
                let index = order.index(of: item, in: kept, next..<end)
                result += kept[next..<index]
                groups?.ofRow += keptGroups[next..<index]
                firstArrival = min(firstArrival, result.count)
                result.append(UInt32(truncatingIfNeeded: item))
                if let group = parts.group { groups?.append(item, group, of: new) }
                next = index
            }
            result += kept[next..<end]
            groups?.ofRow += isOneList ? keptGroups[next..<end] : []
            next = end
            spans.append(ViewedState.Span(section: list.section, end: result.count))
        }
        // Groups come and go: those without items are forgotten once there are many.
        if let all = groups, all.count > 2 * (seen.arrangement?.groupCount ?? 0) + 16 { groups = all.withoutUnused }
        return ViewedState(seen.view, of: source, picked: result, spans: spans, groups: groups)
    }

    /// How the same items are arranged now; nil if that has to be found out.
    private var arrangement: ViewArrangement? {
        guard let arrangement = seen.arrangement,
            parts.sectionOrders.isEmpty || !change.sectionChanges.contains(where: { $0.contains(.updated) })
        else { return nil }
        return arrangement.moved { moved($0) }
    }

    private func moved(_ items: some Collection<UInt32>) -> [UInt32] {
        if step.keepsIndexes { return Array(items) }
        return change.items.newOfOld.withUnsafeBufferPointer { newOfOld in
            items.map { UInt32(bitPattern: newOfOld[Int($0)]) }
        }
    }

    /// The new indexes of the picked items that remain, their groups, and how many each section has.
    private func kept(_ picked: [UInt32], _ groups: [UInt32]?) -> ([UInt32], groups: [UInt32], counts: [Int]) {
        var (kept, keptGroups): ([UInt32], [UInt32]) = ([], [])
        kept.reserveCapacity(picked.count)
        keptGroups.reserveCapacity(groups?.count ?? 0)
        var counts: [Int] = []
        var start = 0
        let indexes = removed.sorted()
        var next = 0
        let keep = { (range: Range<Int>) in
            kept += moved(picked[range])
            if let groups { keptGroups += groups[range] }
        }
        for span in seen.spans {
            let before = kept.count
            while next < indexes.count, indexes[next] < Int(span.end) {
                keep(start..<indexes[next])
                start = indexes[next] + 1
                next += 1
            }
            keep(start..<Int(span.end))
            start = Int(span.end)
            counts.append(kept.count - before)
        }
        return (kept, keptGroups, counts)
    }

    func isSame(in now: ViewedState) -> Bool {
        guard !showsChange, showsSameItems(in: now) else { return false }
        guard now.sectionCount == seen.sectionCount else { return false }
        for index in 0..<now.sectionCount {
            guard let oldSection = seen.sourceSection(index), let newSection = now.sourceSection(index) else {
                // Made by a group, and so only of its id and of what its first item says of the group.
                if now.arrangement?.isKnown == true { break }
                guard let before = seen.arrangement, let after = now.arrangement,
                    before.forms[index] == after.forms[index], seen.id(ofSection: index) == now.id(ofSection: index)
                else { return false }
                continue
            }
            guard Int(change.sections.oldOfNew[newSection]) == oldSection else { return false }
            guard change.sectionChanges[newSection].contains(.updated) else { continue }
            let (one, other) = (old.sections[oldSection].flags, new.sections[newSection].flags)
            guard let places = parts.kept.sections, one.contains(.isCollapsed) == other.contains(.isCollapsed),
                places.showSame(old.content(ofSection: oldSection), new.content(ofSection: newSection))
            else { return false }
        }
        return !change.changesList || parts.kept.list?.showSame(old.listContent, new.listContent) == true
    }

    /// Whether the same items are known to be shown at the same positions, none of them removed or inserted.
    private func showsSameItems(in now: ViewedState) -> Bool {
        guard let before = seen.arrangement, let after = now.arrangement else {
            return removed.allSatisfy { $0 >= seen.shownCount }
                && (now.picked == nil ? inserted.allSatisfy { $0 >= now.shownCount } : firstArrival >= now.shownCount)
        }
        if removed.isEmpty, inserted.isEmpty, step.keepsIndexes, before.items == after.items {
            return before.shownCount == after.shownCount
        }
        return parts.limit != nil && before.shownCount == after.shownCount
            && (0..<after.shownCount).allSatisfy { position in
                let item = Int(after.items[position])
                return !inserted.contains(item)
                    && change.items.newOfOld[Int(before.items[position])] == Int32(truncatingIfNeeded: item)
            }
    }
}

extension PointerSet {
    fileprivate func showSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        let shown = [one, other].map { content in
            var writer = JSONWriter(capacity: content.count)
            return writer.append(content, keeping: self) ? JSONText(accepted: writer.bytes()) : nil
        }
        return shown[0] == shown[1]
    }
}
