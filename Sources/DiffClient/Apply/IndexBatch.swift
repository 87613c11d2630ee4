import SnapshotKit

/// A batch of operations on indexes: `indexed` changes, or a stage of `staged`.
///
/// `deleted` and `from` are indexes in the list before the batch, `inserted`, `at` and `to` in the list after it. A
/// stage with updates has no other operations, so there indexes are the same in both.
public struct IndexBatch: Sendable, CustomStringConvertible {
    /// Operations on sections, or on rows.
    public struct Operations<Index: Hashable & Sendable, Element: Sendable>: Sendable {
        /// Before the batch.
        public internal(set) var deleted: [Index] = []
        /// After the batch.
        public internal(set) var inserted: [Index] = []
        /// From before the batch to after it.
        public internal(set) var moved: [Move<Index>] = []
        /// Elements that look different.
        public internal(set) var updated: [Update<Index>] = []

        /// In the order of `inserted` and `updated`.
        var (insertedElements, updates): ([Element], [Updated<Element>]) = ([], [])
        /// The byte offset of the batch in the changes.
        var offset = 0

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
    /// Whether sections take their rows along, and updates have one index. Otherwise each row has its own operation.
    let isStage: Bool

    /// The operations with their indexes: `deleted [0,1]; moved [0,2] → [0,0]`.
    public var description: String { (sections.texts.map { "sections \($0)" } + items.texts).joined(separator: "; ") }
}

/// An index of a list: of the sections, or of the rows of one section.
protocol ListIndex: Hashable, Sendable {
    var list: Int { get }
    var position: Int { get }
    /// As in the JSON of changes.
    var text: String { get }

    init(_ value: JSONSlice) throws(ApplyError)
}

extension Int: ListIndex {
    var list: Int { 0 }
    var position: Int { self }
    var text: String { "\(self)" }

    init(_ value: JSONSlice) throws(ApplyError) { self = try value.asInteger() }
}

extension ItemPath: ListIndex {
    var list: Int { section }
    var position: Int { row }
    var text: String { "[\(section),\(row)]" }

    init(_ value: JSONSlice) throws(ApplyError) {
        let path = try value.asArray()
        guard path.count == 2 else { throw value.wrong("a path must be [section,row]") }
        self.init(section: try path[0].asInteger(), row: try path[1].asInteger())
    }
}

// MARK: Reading

extension IndexBatch {
    /// Reads the `changes` of an `indexed` changeset, to be applied by rules of your own. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else.
    public init(indexed changes: consuming [UInt8]) throws(ApplyError) {
        try self.init(JSONSlice(checking: changes).object(["sections", "items"]), isStage: false)
    }

    fileprivate init(_ members: Members, isStage: Bool) throws(ApplyError) {
        sections = try Operations(members["sections"], isStage: isStage, at: members.owner.offset)
        items = try Operations(members["items"], isStage: isStage, at: members.owner.offset)
        self.isStage = isStage
    }
}

extension IndexBatch.Operations where Index: ListIndex, Element: ListElement {
    fileprivate var texts: [String] {
        [
            ("deleted", deleted.map(\.text)), ("inserted", inserted.map(\.text)),
            ("moved", moved.map { "\($0.from.text) → \($0.to.text)" }), ("updated", updated.map(\.at.text)),
        ].filter { !$1.isEmpty }.map { "\($0) \($1.joined(separator: ", "))" }
    }

    fileprivate init(_ value: JSONSlice?, isStage: Bool, at offset: Int) throws(ApplyError) {
        self.offset = offset
        guard let lists = try value?.object(["deleted", "inserted", "moved", "updated"]) else { return }
        deleted = try lists.list("deleted").map(Index.init)
        for value in try lists.list("inserted") {
            let members = try value.object(["at", Element.name])
            inserted.append(try Index(members.required("at")))
            insertedElements.append(try Element(members.required(Element.name)))
        }
        for value in try lists.list("moved") {
            let members = try value.object(["from", "to"])
            moved.append(.init(from: try Index(members.required("from")), to: try Index(members.required("to"))))
        }
        for value in try lists.list("updated") {
            let members = try value.object(["at", Element.name, "as"] + (isStage ? [] : ["from"]))
            let at = try Index(members.required("at"))
            let from = isStage ? at : try Index(members.required("from"))
            updated.append(.init(from: from, at: at, redraw: try members.required("as").asRedraw()))
            updates.append(try Updated(members.required(Element.name)))
        }
    }
}

// MARK: - Applying a batch
//
// Deleted and moved elements leave by their index before the batch, and inserted and moved ones arrive at their index
// after it; all others keep their order and fill the gaps. UITableView and UICollectionView interpret indexes in the
// same way.

extension RowList {
    /// This list after the `changes` of an `indexed` changeset: a batch with an operation for each row. O(n +
    /// operations).
    ///
    /// - Throws: `ApplyError` if an index is out of range or named twice, or if this is anything else.
    public func applying(indexed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(indexed: JSONSlice(checking: changes))
    }

    func applying(indexed changes: JSONSlice) throws(ApplyError) -> RowList {
        try applying(IndexBatch(changes.object(["sections", "items"]), isStage: false))
    }

    private func applying(_ batch: IndexBatch) throws(ApplyError) -> RowList {
        var lists = [sections]
        try batch.sections.requireSound(in: lists)
        try batch.items.requireSound(in: sections.rows)
        batch.items.leave(&lists[0].rows)
        if !batch.isStage { try batch.sections.requireEmpty(lists[0]) }
        let carried = lists
        batch.sections.leave(&lists)
        try batch.sections.arrive(in: &lists, from: carried)
        try batch.items.arrive(in: &lists[0].rows, from: sections.rows)
        try batch.items.update(&lists[0].rows, from: sections.rows)
        let rows = lists[0].rows
        try batch.sections.update(&lists, from: [sections])
        lists[0].rows = rows
        let list = RowList(content: content, sections: lists[0])
        try list.requireUniqueIDs(at: batch.sections.offset)
        return list
    }
}

extension [RowList.Section] {
    fileprivate var rows: [[RowList.Row]] {
        get { map(\.rows) }
        set { for index in indices { self[index].rows = newValue[index] } }
    }
}

extension IndexBatch.Operations where Element == RowList.Section, Index == Int {
    /// Checks that sections are inserted and deleted without rows.
    fileprivate func requireEmpty(_ sections: [RowList.Section]) throws(ApplyError) {
        for section in deleted where !sections[section].rows.isEmpty {
            throw error(.wrongShape, "section \(section) is deleted, but not all of its rows are")
        }
        for section in insertedElements where !section.rows.isEmpty {
            throw error(.wrongShape, "rows of the new section \"\(section.id)\" need operations of their own")
        }
    }
}

extension IndexBatch.Operations where Index: ListIndex, Element: ListElement {
    /// The indexes of deleted and moved elements, before the batch.
    var sources: [Index] { deleted + moved.map(\.from) }
    /// The indexes of inserted and moved elements, after the batch.
    var targets: [Index] { inserted + moved.map(\.to) }

    func error(_ reason: ApplyError.Reason, _ detail: String) -> ApplyError { ApplyError(reason, detail, at: offset) }

    /// Checks that no two operations have the same index before or after the batch, that no updated element is also
    /// deleted, inserted or updated again, and that the lists before the batch have all indexes.
    fileprivate func requireSound(in lists: [[Element]]) throws(ApplyError) {
        for (when, indexes) in [
            ("before", sources), ("after", targets), ("before", deleted + updated.map(\.from)),
            ("after", inserted + updated.map(\.at)),
        ] {
            if let index = indexes.firstRepeated { throw error(.namedTwice, "two operations name \(index) \(when)") }
        }
        for index in sources + updated.map(\.from) where !lists.contains(index) {
            throw error(.outOfRange, "there is no \(Element.name) \(index) before")
        }
    }

    fileprivate func leave(_ lists: inout [[Element]]) {
        for (list, indexes) in Dictionary(grouping: sources, by: \.list) {
            let (elements, leaving) = (lists[list], Set(indexes.map(\.position)))
            lists[list] = elements.indices.filter { !leaving.contains($0) }.map { elements[$0] }
        }
    }

    /// Puts inserted and moved elements at their indexes, and the others into the gaps, in order.
    fileprivate func arrive(in lists: inout [[Element]], from before: [[Element]]) throws(ApplyError) {
        var arriving: [Int: [Int: Element]] = [:]
        for (at, element) in zip(inserted, insertedElements) { arriving[at.list, default: [:]][at.position] = element }
        for move in moved {
            arriving[move.to.list, default: [:]][move.to.position] = before[move.from.list][move.from.position]
        }
        for (list, arriving) in arriving {
            let count = lists.indices.contains(list) ? lists[list].count + arriving.count : 0
            for position in arriving.keys where !(0..<count).contains(position) {
                throw error(.outOfRange, "there is no place for \(Element.name) \(position) of list \(list)")
            }
            var staying = lists[list].makeIterator()
            lists[list] = (0..<count).map { arriving[$0] ?? staying.next()! }
        }
    }

    fileprivate func update(_ lists: inout [[Element]], from before: [[Element]]) throws(ApplyError) {
        for (index, update) in zip(updated, updates) {
            let old = before[index.from.list][index.from.position]
            guard lists.contains(index.at), lists[index.at.list][index.at.position].id == old.id else {
                throw error(.outOfRange, "\(Element.name) \(index.from) does not end up at \(index.at)")
            }
            lists[index.at.list][index.at.position] = try update.applied(to: old)
        }
    }
}

extension Array {
    fileprivate func contains<Inner>(_ index: some ListIndex) -> Bool where Element == [Inner] {
        indices.contains(index.list) && self[index.list].indices.contains(index.position)
    }
}

// MARK: - Stages
//
// Stages for UITableView and UICollectionView. Whatever would crash either of them, or be drawn wrongly, is refused:
// indexes out of range or named twice, item operations in sections that are inserted, deleted or moved, updates with
// other operations, deletions of sections with moves of sections, and counts that do not match. docs/diff.md lists the
// bug reports for each.

/// A batch of a staged changeset, and the list after it.
public struct ListStage: Sendable, CustomStringConvertible {
    /// `updates`, `deletes`, `sections`, `items` or `headers`.
    public let name: String
    /// The operations to pass to the view.
    public let batch: IndexBatch
    /// The list to adopt inside the batch.
    public let list: RowList

    /// The operations with their indexes.
    public var description: String { batch.description }
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
        let counts = try members.required("counts").asArray().map(Int.init(_:))
        let batch = try IndexBatch(members, isStage: true)
        try batch.requireSafety()
        let list = try applying(batch)
        if counts != list.sections.map(\.rows.count) {
            throw value.error(.wrongCounts, "the stage's row counts do not match the sections")
        }
        return ListStage(name: try members.required("name").asString(), batch: batch, list: list)
    }
}

extension IndexBatch {
    fileprivate func requireSafety() throws(ApplyError) {
        let updates = (sections: !sections.updated.isEmpty, items: !items.updated.isEmpty)
        let rearranges = !(sections.sources + sections.targets).isEmpty || !(items.sources + items.targets).isEmpty
        for (isUnsafe, what) in [
            (rearranges && (updates.sections || updates.items), "updates among other operations"),
            (updates.sections && updates.items, "updates of items among updates of sections"),
            (!sections.deleted.isEmpty && !sections.moved.isEmpty, "deletions of sections among moves of sections"),
        ] where isUnsafe { throw items.error(.unsafeTogether, what) }
        let (leaving, arriving) = (Set(sections.sources), Set(sections.targets))
        for path in items.sources where leaving.contains(path.section) {
            throw items.error(.insideChangingSection, "\(path) is in a section that is deleted or moved")
        }
        for path in items.targets where arriving.contains(path.section) {
            throw items.error(.insideChangingSection, "\(path) is in a section that is inserted or moved")
        }
    }
}
