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
            guard path.count == 2 else { throw value.wrong("a path is [section,row]") }
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
