import SnapshotKit

/// A list as a client holds it: sections with rows, visible items only, depth first.
///
/// It is what a reset carries, and what a changeset in `keyed`, `indexed` or `staged` is applied to. A plain value, to
/// be shown and compared; who holds whole states holds a `Snapshot`.
public struct RowList: Sendable, Equatable {
    /// One row.
    public struct Row: Sendable, Equatable, Identifiable {
        /// The item's id.
        public var id: ElementID
        /// What the item shows.
        public var content: JSONText?
        /// The type of cell.
        public var kind: String?
        /// Ancestors within the section.
        public var level = 0
        /// The item that this one is a child of.
        public var parent: ElementID?
        /// Whether its children are rows too.
        public var isExpanded = true
        /// Its direct children, hidden ones included.
        public var childCount = 0

        /// A row with an id, and defaults for the rest.
        public init(
            id: ElementID, content: JSONText? = nil, kind: String? = nil, level: Int = 0, parent: ElementID? = nil,
            isExpanded: Bool = true, childCount: Int = 0
        ) {
            self.id = id
            self.content = content
            self.kind = kind
            self.level = level
            self.parent = parent
            self.isExpanded = isExpanded
            self.childCount = childCount
        }
    }

    /// One section.
    public struct Section: Sendable, Equatable, Identifiable {
        /// The section's id.
        public var id: ElementID
        /// What its header shows.
        public var content: JSONText?
        /// Whether its items are rows.
        public var isExpanded = true
        /// Its rows, in order.
        public var rows: [Row] = []

        /// A section with an id, and defaults for the rest.
        public init(id: ElementID, content: JSONText? = nil, isExpanded: Bool = true, rows: [Row] = []) {
            self.id = id
            self.content = content
            self.isExpanded = isExpanded
            self.rows = rows
        }
    }

    /// What the list shows besides its rows, such as a title or the next page's cursor.
    public var content: JSONText?
    /// The sections, in order.
    public var sections: [Section] = []

    /// A list without sections.
    public init() {}

    /// A list of sections.
    public init(content: JSONText? = nil, sections: [Section]) { (self.content, self.sections) = (content, sections) }

    /// Reads the `state` of a reset: sections with rows, never nested. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else, or if an id stands in it twice.
    public init(state json: consuming [UInt8]) throws(ApplyError) {
        try self.init(state: JSONSlice(checking: json))
    }

    init(state: JSONSlice) throws(ApplyError) {
        let members = try state.object(["content", "sections"])
        content = members["content"]?.json
        for value in try members.required("sections").asArray() {
            sections.append(try Section(value))
        }
        try requireUniqueIDs(at: state.offset)
    }

    /// The rows of a state. O(n).
    public init(_ snapshot: Snapshot) {
        content = snapshot.content.map(JSONText.init(accepted:))
        sections = snapshot.sections.map { section in
            Section(
                id: section.id, content: section.content.map(JSONText.init(accepted:)), isExpanded: section.isExpanded,
                rows: section.rows.map(Row.init))
        }
    }

    /// This list with what an answer says of the list's own content as `list`. O(bytes).
    ///
    /// - Throws: `ApplyError` if it is anything else, or a patch for what has no content.
    public func applying(list change: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(list: JSONSlice(checking: change))
    }

    func applying(list change: JSONSlice) throws(ApplyError) -> RowList {
        let members = try change.object(["content", "patch"])
        var list = self
        list.content = members["content"]?.json
        if let patch = members["patch"]?.json {
            guard let content, list.content == nil else {
                throw ApplyError(.noContent, "a patch for what has no content", at: change.offset)
            }
            list.content = content.merging(patch)
        }
        return list
    }

    /// The row at a path. O(1).
    public subscript(path: ItemPath) -> Row { sections[path.section].rows[path.row] }

    /// Checks that sections and, separately, rows have ids of their own. O(n).
    func requireUniqueIDs(at offset: Int) throws(ApplyError) {
        var ids: Set<ElementID> = []
        for section in sections where !ids.insert(section.id).inserted {
            throw ApplyError(.duplicateID, "two sections have the id \"\(section.id)\"", at: offset)
        }
        ids.removeAll(keepingCapacity: true)
        for section in sections {
            for row in section.rows where !ids.insert(row.id).inserted {
                throw ApplyError(.duplicateID, "two rows have the id \"\(row.id)\"", at: offset)
            }
        }
    }
}

extension RowList.Row {
    /// The row that a visible item is. O(children).
    public init(_ item: StateItem) {
        self.init(
            id: item.id, content: item.content.map(JSONText.init(accepted:)), kind: item.kind, level: item.level,
            parent: item.parent?.id,
            isExpanded: item.isExpanded, childCount: item.children.count)
    }
}
