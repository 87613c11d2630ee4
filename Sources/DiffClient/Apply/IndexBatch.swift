import SnapshotKit

/// A batch of operations on indexes: `indexed` changes, or a stage of `staged`.
///
/// `deleted` and `from` are indexes in the list before the batch, `inserted`, `at` and `to` in the list after it. A
/// stage with updates has no other operations, so there indexes are the same in both.
public struct IndexBatch: Sendable {
    /// Operations on sections, or on rows.
    public struct Operations<Index: Hashable & Sendable, Element: Sendable>: Sendable {
        /// Before the batch.
        public internal(set) var deleted: [Index] = []
        /// After the batch.
        public internal(set) var inserted: [Index] = []
        /// From before the batch to after it.
        public internal(set) var moved: [Move<Index>] = []
        /// What looks different.
        public internal(set) var updated: [Update<Index>] = []

        /// The elements inserted, in the order of `inserted`.
        var arrivals: [Element] = []
        /// The updates, in the order of `updated`.
        var updates: [Updated<Element>] = []

        /// Whether there are none.
        public var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty }
    }

    /// One move.
    public struct Move<Index: Hashable & Sendable>: Sendable, Equatable {
        /// Before the batch.
        public let from: Index
        /// After the batch.
        public let to: Index
    }

    /// One update.
    public struct Update<Index: Hashable & Sendable>: Sendable, Equatable {
        /// Before the batch.
        public let from: Index
        /// After the batch.
        public let at: Index
        /// How to draw it.
        public let redraw: Marks.Redraw
    }

    /// Operations on sections, by index.
    public let sections: Operations<Int, RowList.Section>
    /// Operations on rows, by path.
    public let items: Operations<ItemPath, RowList.Row>
    /// The byte offset of the batch in the changes.
    let offset: Int
}

// MARK: Reading

extension IndexBatch {
    /// Reads `sections` and `items`. `namesBoth`: updates have `from` as well as `at`.
    init(_ members: Members, namesBoth: Bool) throws(ApplyError) {
        offset = members.owner.offset
        sections = try Operations(members["sections"], element: "section", namesBoth) { (value) throws(ApplyError) in
            try value.asInteger()
        }
        items = try Operations(members["items"], element: "item", namesBoth) { (value) throws(ApplyError) in
            let path = try value.asArray()
            guard path.count == 2 else { throw value.wrong("a path must be [section,row]") }
            return ItemPath(section: try path[0].asInteger(), row: try path[1].asInteger())
        }
    }
}

extension IndexBatch.Operations where Element: ListElement {
    fileprivate init(
        _ value: JSONSlice?, element: String, _ namesBoth: Bool, index: (JSONSlice) throws(ApplyError) -> Index
    ) throws(ApplyError) {
        guard let lists = try value?.object(["deleted", "inserted", "moved", "updated"]) else { return }
        for value in try lists.list("deleted") { deleted.append(try index(value)) }
        for value in try lists.list("inserted") {
            let members = try value.object(["at", element])
            inserted.append(try index(try members.required("at")))
            arrivals.append(try Element(try members.required(element)))
        }
        for value in try lists.list("moved") {
            let members = try value.object(["from", "to"])
            moved.append(
                .init(from: try index(try members.required("from")), to: try index(try members.required("to"))))
        }
        for value in try lists.list("updated") {
            let members = try value.object(["at", element, "as"] + (namesBoth ? ["from"] : []))
            let at = try index(try members.required("at"))
            let from = namesBoth ? try index(try members.required("from")) : at
            updated.append(.init(from: from, at: at, redraw: try members.required("as").asRedraw()))
            updates.append(try Updated(try members.required(element)))
        }
    }
}

// MARK: - Applying a batch
//
// Applying a batch: whatever is deleted or moved is removed by its index before the batch, and whatever is inserted or
// moved is put at its index after it; everything else keeps its order and fills the gaps. UITableView and
// UICollectionView interpret indexes in the same way.

extension RowList {
    /// The list after a batch. `sectionsCarryRows`: sections take their rows along; otherwise each row has its own
    /// operation.
    func applying(_ batch: IndexBatch, sectionsCarryRows: Bool) throws(ApplyError) -> RowList {
        try batch.sections.requireNoneTwice(at: batch.offset)
        try batch.items.requireNoneTwice(at: batch.offset)
        try requireRange(batch)
        let remaining = remainingRows(batch)
        if !sectionsCarryRows { try requireEmpty(batch, remaining) }
        var list = RowList(content: content, sections: try sectionsAfter(batch, remaining: remaining))
        try list.insertRows(batch, from: self)
        try list.update(batch, from: self)
        try list.requireUniqueIDs(at: batch.offset)
        return list
    }

    private func contains(_ path: ItemPath) -> Bool {
        sections.indices.contains(path.section) && sections[path.section].rows.indices.contains(path.row)
    }

    /// Checks all indexes in the list before the batch.
    private func requireRange(_ batch: IndexBatch) throws(ApplyError) {
        let before = (
            batch.sections.sources + batch.sections.updated.map(\.from),
            batch.items.sources + batch.items.updated.map(\.from)
        )
        if let section = before.0.first(where: { !sections.indices.contains($0) }) {
            throw ApplyError(.outOfRange, "there is no section \(section) before", at: batch.offset)
        }
        if let path = before.1.first(where: { !contains($0) }) {
            throw ApplyError(.outOfRange, "there is no row \(path) before", at: batch.offset)
        }
    }

    private func requireEmpty(_ batch: IndexBatch, _ remaining: [[Row]]) throws(ApplyError) {
        for section in batch.sections.deleted where !remaining[section].isEmpty {
            throw ApplyError(
                .wrongShape, "section \(section) is deleted, but not all of its rows are", at: batch.offset)
        }
        if let full = batch.sections.arrivals.first(where: { !$0.rows.isEmpty }) {
            throw ApplyError(
                .wrongShape, "rows of the new section \"\(full.id)\" need operations of their own", at: batch.offset)
        }
    }

    /// The rows that remain in each section.
    private func remainingRows(_ batch: IndexBatch) -> [[Row]] {
        var removed: [Int: Set<Int>] = [:]
        for path in batch.items.sources { removed[path.section, default: []].insert(path.row) }
        return sections.indices.map { section in
            guard let places = removed[section] else { return sections[section].rows }
            return sections[section].rows.indices.filter { !places.contains($0) }.map { sections[section].rows[$0] }
        }
    }

    private func sectionsAfter(_ batch: IndexBatch, remaining: [[Row]]) throws(ApplyError) -> [Section] {
        let left = { (section: Int) in
            var left = sections[section]
            left.rows = remaining[section]
            return left
        }
        var arrivals: [Int: Section] = [:]
        for (at, section) in zip(batch.sections.inserted, batch.sections.arrivals) { arrivals[at] = section }
        for move in batch.sections.moved { arrivals[move.to] = left(move.from) }
        let leavers = Set(batch.sections.sources)
        let staying = sections.indices.filter { !leavers.contains($0) }.map(left)
        return try merged(staying, arrivals, "section", at: batch.offset)
    }

    /// Inserts the rows that are inserted, or moved from the list before.
    private mutating func insertRows(_ batch: IndexBatch, from before: RowList) throws(ApplyError) {
        var arrivals: [Int: [Int: Row]] = [:]
        for (at, row) in zip(batch.items.inserted, batch.items.arrivals) {
            arrivals[at.section, default: [:]][at.row] = row
        }
        for move in batch.items.moved { arrivals[move.to.section, default: [:]][move.to.row] = before[move.from] }
        for (section, arrivals) in arrivals {
            guard sections.indices.contains(section) else {
                throw ApplyError(.outOfRange, "there is no section \(section) after", at: batch.offset)
            }
            sections[section].rows = try merged(
                sections[section].rows, arrivals, "row of section \(section)", at: batch.offset)
        }
    }

    /// Puts arrivals at their places, and the others into the gaps, in order.
    private func merged<Element>(
        _ staying: [Element], _ arrivals: [Int: Element], _ what: String, at offset: Int
    ) throws(ApplyError) -> [Element] {
        let count = staying.count + arrivals.count
        if let place = arrivals.keys.first(where: { !(0..<count).contains($0) }) {
            throw ApplyError(.outOfRange, "there is no \(what) \(place) after", at: offset)
        }
        var next = staying.makeIterator()
        return (0..<count).map { arrivals[$0] ?? next.next()! }
    }

    private mutating func update(_ batch: IndexBatch, from before: RowList) throws(ApplyError) {
        for (place, update) in zip(batch.items.updated, batch.items.updates) {
            guard contains(place.at), self[place.at].id == before[place.from].id else {
                throw ApplyError(.outOfRange, "row \(place.from) does not end up at \(place.at)", at: batch.offset)
            }
            sections[place.at.section].rows[place.at.row] = try update.applied(to: before[place.from])
        }
        for (place, update) in zip(batch.sections.updated, batch.sections.updates) {
            guard sections.indices.contains(place.at), sections[place.at].id == before.sections[place.from].id else {
                throw ApplyError(.outOfRange, "section \(place.from) does not end up at \(place.at)", at: batch.offset)
            }
            var section = try update.applied(to: before.sections[place.from])
            section.rows = sections[place.at].rows
            sections[place.at] = section
        }
    }
}

extension IndexBatch.Operations {
    /// Indexes before the batch of what is deleted or moved.
    var sources: [Index] { deleted + moved.map(\.from) }
    /// Indexes after the batch of what is inserted or moved.
    var targets: [Index] { inserted + moved.map(\.to) }

    /// Checks that no two operations have the same index before or after the batch, and that nothing updated is
    /// deleted, inserted or updated twice.
    fileprivate func requireNoneTwice(at offset: Int) throws(ApplyError) {
        let lists = [
            ("before", sources), ("after", targets), ("before", deleted + updated.map(\.from)),
            ("after", inserted + updated.map(\.at)),
        ]
        for (when, places) in lists {
            var seen: Set<Index> = []
            for place in places where !seen.insert(place).inserted {
                throw ApplyError(.namedTwice, "two operations name \(place) \(when)", at: offset)
            }
        }
    }
}

// MARK: - One batch

extension RowList {
    /// This list after the `changes` of an `indexed` changeset: a batch with an operation for each row. O(n +
    /// operations).
    ///
    /// - Throws: `ApplyError` if an index is out of range or named twice, or if this is anything else.
    public func applying(indexed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(indexed: JSONSlice(checking: changes))
    }

    func applying(indexed changes: JSONSlice) throws(ApplyError) -> RowList {
        try applying(try IndexBatch(indexed: changes), sectionsCarryRows: false)
    }
}

extension IndexBatch {
    /// Reads the `changes` of an `indexed` changeset, to be applied by rules of your own. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else.
    public init(indexed changes: consuming [UInt8]) throws(ApplyError) {
        try self.init(indexed: JSONSlice(checking: changes))
    }

    fileprivate init(indexed changes: JSONSlice) throws(ApplyError) {
        try self.init(try changes.object(["sections", "items"]), namesBoth: true)
    }
}

// MARK: - Stages
//
// Stages for UITableView and UICollectionView. Whatever either of them crashes on or draws wrongly is refused here:
// indexes out of range or named twice, item operations in sections that are inserted, deleted or moved, updates with
// other operations, deletions of sections with moves of sections, and counts that do not match. docs/diff.md lists the
// bug reports for each.

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
            throw value.error(.wrongCounts, "the stage's row counts do not match the sections")
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
            throw ApplyError(.insideChangingSection, "\(path) is in a section that is deleted or moved", at: offset)
        }
        let arriving = Set(sections.targets)
        for path in items.targets where arriving.contains(path.section) {
            throw ApplyError(.insideChangingSection, "\(path) is in a section that is inserted or moved", at: offset)
        }
    }
}
