// Stages for UITableView and UICollectionView. Whatever either of them crashes on or draws wrongly is refused here:
// indexes out of range or named twice, item operations in sections that are inserted, deleted or moved, updates with
// other operations, deletions of sections with moves of sections, and counts that do not match. docs/diff.md lists the
// bug reports for each.

import SnapshotKit

/// A batch of a staged changeset, and the list after it.
public struct ListStage: Sendable {
    /// `updates`, `deletes`, `sections`, `items` or `headers`.
    public let name: String
    /// The operations to pass to the view.
    public let batch: IndexBatch
    /// The list to adopt inside the batch.
    public let list: RowList
}

extension RowList {
    /// This list after the `changes` of a `staged` changeset. O(n + operations) per stage.
    ///
    /// - Throws: as `stages(_:)`.
    public func applying(staged changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try stages(changes).last?.list ?? self
    }

    /// The stages of a `staged` changeset, each for one `performBatchUpdates` inside which its list is adopted. O(n +
    /// operations) per stage.
    ///
    /// - Throws: `ApplyError` if any stage does not fit or is unsafe for a view. Then carry out none of them.
    public func stages(_ changes: consuming [UInt8]) throws(ApplyError) -> [ListStage] {
        try stages(JSONSlice(checking: changes))
    }

    func stages(_ changes: JSONSlice) throws(ApplyError) -> [ListStage] {
        var stages: [ListStage] = []
        for value in try changes.asArray() { stages.append(try (stages.last?.list ?? self).stage(value)) }
        return stages
    }

    private func stage(_ value: JSONSlice) throws(ApplyError) -> ListStage {
        let members = try value.object(["name", "counts", "sections", "items"])
        var counts: [Int] = []
        for count in try members.required("counts").asArray() { counts.append(try count.asInteger()) }
        let batch = try IndexBatch(members, namesBoth: false)
        try batch.requireSafety()
        let list = try applying(batch, sectionsCarryRows: true)
        guard counts == list.sections.map(\.rows.count) else {
            throw value.error(.wrongCounts, "sections do not have as many rows as the stage says")
        }
        return ListStage(name: try members.required("name").asString(), batch: batch, list: list)
    }
}

extension IndexBatch {
    fileprivate func requireSafety() throws(ApplyError) {
        let rearranges = !(sections.sources + sections.targets).isEmpty || !(items.sources + items.targets).isEmpty
        if !items.updated.isEmpty || !sections.updated.isEmpty, rearranges {
            throw ApplyError(.unsafeTogether, "updates among other operations", at: offset)
        }
        if !items.updated.isEmpty, !sections.updated.isEmpty {
            throw ApplyError(.unsafeTogether, "updates of items among updates of sections", at: offset)
        }
        if !sections.deleted.isEmpty, !sections.moved.isEmpty {
            throw ApplyError(.unsafeTogether, "deletions of sections among moves of sections", at: offset)
        }
        let leaving = Set(sections.sources)
        for path in items.sources where leaving.contains(path.section) {
            throw ApplyError(.insideChangingSection, "\(path) is in a section that goes or moves", at: offset)
        }
        let arriving = Set(sections.targets)
        for path in items.targets where arriving.contains(path.section) {
            throw ApplyError(.insideChangingSection, "\(path) is in a section that comes or moves", at: offset)
        }
    }
}
