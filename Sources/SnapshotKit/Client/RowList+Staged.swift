// Stages for UITableView and UICollectionView. What either refuses, crashes on or draws wrongly is refused here, before
// it gets there: indexes beyond the list, places named twice, item operations in sections that come, go or move,
// updates among anything else, deletions of sections among moves of sections, and a list whose counts are not those
// that the stage announces. docs/diff.md lists the reports behind each.

/// One batch of a staged changeset, and the list after it.
public struct ListStage: Sendable {
    /// `updates`, `deletes`, `sections`, `items` or `headers`.
    public let name: String
    /// What to tell the view.
    public let batch: IndexBatch
    /// The list to hold from inside the batch on.
    public let list: RowList
}

extension RowList {
    /// This list after the `changes` of a `staged` changeset. O(n + operations) a stage.
    ///
    /// - Throws: as `stages(_:)`.
    public func applying(staged changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try stages(changes).last?.list ?? self
    }

    /// The stages of a `staged` changeset, each to be carried out as one `performBatchUpdates` inside which its list is
    /// adopted. O(n + operations) a stage.
    ///
    /// - Throws: `ApplyError` if any stage does not fit, or is one that a view would refuse. None of them is to be
    ///   carried out then.
    public func stages(_ changes: consuming [UInt8]) throws(ApplyError) -> [ListStage] {
        try ChangeText.read(changes) { (text) throws(ApplyError) in
            var stages: [ListStage] = []
            try text.elements(of: text.root) { (place) throws(ApplyError) in
                stages.append(try (stages.last?.list ?? self).stage(place, text))
            }
            return stages
        }
    }

    private func stage(_ place: ChangeText.Place, _ text: ChangeText) throws(ApplyError) -> ListStage {
        var name: String?
        var counts: [Int]?
        var batch = IndexBatch()
        batch.offset = text.offset(place)
        try text.members(of: place) { (member, value) throws(ApplyError) in
            if member.isText("name") {
                name = try text.string(value)
            } else if member.isText("counts") {
                var read: [Int] = []
                try text.elements(of: value) { (number) throws(ApplyError) in read.append(try text.integer(number)) }
                counts = read
            } else if member.isText("sections") {
                try batch.readSections(value, text, namesBoth: false)
            } else if member.isText("items") {
                try batch.readItems(value, text, namesBoth: false)
            } else {
                throw text.unknownMember(member, value)
            }
        }
        try batch.requireSafety()
        let list = try applying(batch, sectionsCarryRows: true)
        guard try text.required(counts, "counts", place) == list.sections.map(\.rows.count) else {
            throw ApplyError(.wrongCounts, "sections do not have as many rows as the stage says", at: batch.offset)
        }
        try list.requireUniqueIDs(at: batch.offset)
        return ListStage(name: try text.required(name, "name", place), batch: batch, list: list)
    }
}

extension IndexBatch {
    fileprivate func requireSafety() throws(ApplyError) {
        let changesSections = !(sections.deleted.isEmpty && sections.inserted.isEmpty && sections.moved.isEmpty)
        let changesItems = !(items.deleted.isEmpty && items.inserted.isEmpty && items.moved.isEmpty)
        if !items.updated.isEmpty || !sections.updated.isEmpty, changesSections || changesItems {
            throw ApplyError(.unsafeTogether, "updates among other operations", at: offset)
        }
        if !items.updated.isEmpty, !sections.updated.isEmpty {
            throw ApplyError(.unsafeTogether, "updates of items among updates of sections", at: offset)
        }
        if !sections.deleted.isEmpty, !sections.moved.isEmpty {
            throw ApplyError(.unsafeTogether, "deletions of sections among moves of sections", at: offset)
        }
        let leaving = Set(sections.deleted + sections.moved.map(\.from))
        for path in items.deleted + items.moved.map(\.from) where leaving.contains(path.section) {
            throw ApplyError(.insideChangingSection, "\(path) is in a section that goes or moves", at: offset)
        }
        let arriving = Set(sections.inserted + sections.moved.map(\.to))
        for path in items.inserted + items.moved.map(\.to) where arriving.contains(path.section) {
            throw ApplyError(.insideChangingSection, "\(path) is in a section that comes or moves", at: offset)
        }
    }
}
