import SnapshotKit

/// A client's list: sections with rows, which are the visible items, depth first.
///
/// A reset contains one, and changesets in `keyed`, `indexed`, `staged` and `diffable` apply to it. It is a plain value
/// to show and compare; for whole states there is `Snapshot`.
public struct RowList: Sendable, Equatable {
    /// A row.
    public struct Row: Sendable, Equatable, Identifiable {
        /// The item's id.
        public var id: ElementID
        /// The item's content.
        public var content: JSONText?
        /// The type of cell.
        public var kind: String?
        /// The number of ancestors within the section.
        public var level = 0
        /// The parent's id, if it has one.
        public var parent: ElementID?
        /// Whether its children are rows, too.
        public var isExpanded = true
        /// The number of direct children, including hidden ones.
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

    /// A section.
    public struct Section: Sendable, Equatable, Identifiable {
        /// The section's id.
        public var id: ElementID
        /// The content of its header.
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

    /// The list's own content, such as a title or the next page's cursor.
    public var content: JSONText?
    /// The sections, in order.
    public var sections: [Section] = []

    /// A list without sections.
    public init() {}

    /// A list of sections.
    public init(content: JSONText? = nil, sections: [Section]) { (self.content, self.sections) = (content, sections) }

    /// Reads the `state` of a reset: sections with rows, not nested. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else, or if it has an id twice.
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

    /// This list after an answer's `list`, the change of its own content. O(bytes).
    ///
    /// - Throws: `ApplyError` if it is anything else, or a patch without a content to apply it to.
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

    /// Checks that the ids of sections and, separately, of rows are unique. O(n).
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
    /// The row of a visible item. O(children).
    public init(_ item: StateItem) {
        self.init(
            id: item.id, content: item.content.map(JSONText.init(accepted:)), kind: item.kind, level: item.level,
            parent: item.parent?.id, isExpanded: item.isExpanded, childCount: item.children.count)
    }
}
