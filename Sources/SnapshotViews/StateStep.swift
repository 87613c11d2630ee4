// What a commit does to a state, found once for all its views. Items that both states have in the same order, with the
// same parents in the same sections, stay, as runs; the few that show something else must be examined. All others go or
// come, and items that moved do both.

import SnapshotKit

/// A step from one state to the next, by which views are updated.
public final class StateStep: Sendable {
    /// An item that stays and may show something else.
    typealias Changed = (old: Int, new: Int)

    let change: Changeset
    /// Nil if so much differs that a view is better made anew.
    let parts: Parts?

    struct Parts: Sendable {
        fileprivate(set) var changed: [Changed] = []
        /// Items of the old state, and of the new one, that do not stay, in ascending order.
        fileprivate(set) var gone: [Int] = []
        fileprivate(set) var come: [Int] = []
        /// Whether all items that stay have the same indexes in both states.
        fileprivate(set) var keepsIndexes = true
        fileprivate(set) var hasSameSections = false
    }

    /// Finds what stays. O(changes · log changes), or O(n) if items moved.
    public init(_ change: Changeset) {
        self.change = change
        parts = change.old.withViews(of: change.new) { StepFinder(change, $0, $1).found() }
    }

    /// The state before.
    public var old: Snapshot { Snapshot(change.old) }
    /// The state after.
    public var new: Snapshot { Snapshot(change.new) }
}

private struct StepFinder {
    let change: Changeset
    let old: ColumnsView
    let new: ColumnsView
    private let maxChanges: Int

    init(_ change: Changeset, _ old: ColumnsView, _ new: ColumnsView) {
        (self.change, self.old, self.new) = (change, old, new)
        maxChanges = max(64, new.nodes.count / 8)
    }

    func found() -> StateStep.Parts? {
        let runs = change.shared.runs
        let same = runs.reduce(0) { $0 + $1.count }
        guard runs.count <= maxChanges, new.nodes.count - same <= maxChanges, old.nodes.count - same <= maxChanges
        else { return nil }
        var parts = StateStep.Parts()
        parts.hasSameSections =
            old.sections.count == new.sections.count
            && new.sections.indices.allSatisfy { Int(change.sections.oldOfNew[$0]) == $0 }
        let pairs = pairs(runs)
        var stays: [SharedRuns.Run] = []
        for pair in inOrder(pairs) where !appendParts(of: pair, to: &stays) { return nil }
        parts.keepsIndexes = stays.allSatisfy(\.keepsIndexes)
        stays.forOthers(of: new.nodes.count) { parts.come.append($0) }
        stays.lazy.map { SharedRuns.Run(old: $0.old, new: $0.old, count: $0.count) }
            .forOthers(of: old.nodes.count) { parts.gone.append($0) }
        // Everything below an item that goes or comes must go or come with it.
        guard parts.come.count <= maxChanges, parts.gone.count <= maxChanges,
            Self.areClosed(parts.come, new), Self.areClosed(parts.gone, old)
        else { return nil }
        runs.forOthers(of: new.nodes.count) { item in
            let partner = Int(change.items.oldOfNew[item])
            if partner >= 0, !parts.come.contains(sorted: item) { parts.changed.append((partner, item)) }
        }
        return parts
    }

    private func pairs(_ runs: [SharedRuns.Run]) -> [SharedRuns.Run] {
        var pairs = runs
        runs.forOthers(of: new.nodes.count) { item in
            let partner = Int(change.items.oldOfNew[item])
            if partner >= 0, hasSameParent(partner, item) {
                pairs.append(SharedRuns.Run(old: partner, new: item, count: 1))
            }
        }
        return pairs.sorted { $0.new < $1.new }.reduce(into: []) { $0.append(joining: $1) }
    }

    private func hasSameParent(_ oldItem: Int, _ newItem: Int) -> Bool {
        let (one, other) = (old.nodes[oldItem].parent, new.nodes[newItem].parent)
        return one < 0 || other < 0 ? one == other : change.items.newOfOld[Int(one)] == other
    }

    /// The pairs that keep their order: a longest run of them.
    private func inOrder(_ pairs: [SharedRuns.Run]) -> [SharedRuns.Run] {
        if zip(pairs, pairs.dropFirst()).allSatisfy({ $0.old < $1.old }) { return pairs }
        var search = IncreasingRun()
        for pair in pairs { search.append(Int32(truncatingIfNeeded: pair.old), at: pair.new, count: pair.count) }
        var kept = [Bool](repeating: false, count: new.nodes.count)
        search.find(fixedShift: 0) { for item in $0 { kept[item] = true } }
        // A run is kept or not as a whole.
        return pairs.filter { kept[$0.new] }.reduce(into: []) { $0.append(joining: $1) }
    }

    /// Appends those parts of a run whose sections are pairs as well; false if there are too many.
    private func appendParts(of run: SharedRuns.Run, to stays: inout [SharedRuns.Run]) -> Bool {
        var start = 0
        while start < run.count {
            let (oldSection, newSection) = (
                Int(old.nodes[run.old + start].section), Int(new.nodes[run.new + start].section)
            )
            let end = min(
                run.count, Int(old.sections[oldSection].endItem) - run.old,
                Int(new.sections[newSection].endItem) - run.new)
            if Int(change.sections.newOfOld[oldSection]) == newSection {
                stays.append(joining: SharedRuns.Run(old: run.old + start, new: run.new + start, count: end - start))
            }
            start = end
        }
        return stays.count <= 2 * maxChanges
    }

    private static func areClosed(_ items: [Int], _ view: ColumnsView) -> Bool {
        items.indices.allSatisfy { index in
            let below = Int(view.nodes[items[index]].end) - items[index] - 1
            return index + below < items.count && items[index + below] == items[index] + below
        }
    }
}

extension [Int] {
    fileprivate func contains(sorted number: Int) -> Bool {
        let index = indices.partitionPoint { self[$0] < number }
        return index < count && self[index] == number
    }
}
