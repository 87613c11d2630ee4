import Foundation
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
            (self.id, self.content, self.kind, self.level, self.parent) = (id, content, kind, level, parent)
            (self.isExpanded, self.childCount) = (isExpanded, childCount)
        }

        /// The row of a visible item. O(children).
        public init(_ item: StateItem) {
            self.init(
                id: item.id, content: item.content.map(JSONText.init(accepted:)), kind: item.kind, level: item.level,
                parent: item.parent?.id, isExpanded: item.isExpanded, childCount: item.children.count)
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
            (self.id, self.content, self.isExpanded, self.rows) = (id, content, isExpanded, rows)
        }
    }

    /// The list's own content, such as a title or the next page's cursor.
    public var content: JSONText?
    /// The sections, in order.
    public var sections: [Section] = []

    /// A list of sections.
    public init(content: JSONText? = nil, sections: [Section] = []) {
        (self.content, self.sections) = (content, sections)
    }

    /// Reads the `state` of a reset: sections with rows, not nested. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else, or if it has an id twice.
    public init(state json: consuming [UInt8]) throws(ApplyError) { try self.init(state: JSONSlice(checking: json)) }

    init(state: JSONSlice) throws(ApplyError) {
        let members = try state.object(["content", "sections"])
        content = members["content"]?.json
        sections = try members.required("sections").asArray().map(Section.init)
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
        let content = try change.object(["content", "patch", "append"]).content(after: content)
        return RowList(content: content, sections: sections)
    }

    /// The row at a path. O(1).
    public subscript(path: ItemPath) -> Row { sections[path.section].rows[path.row] }

    /// Checks that the ids of sections and, separately, of rows are unique. O(n).
    func requireUniqueIDs(at offset: Int) throws(ApplyError) {
        for (what, ids) in [("sections", sections.map(\.id)), ("rows", sections.flatMap { $0.rows.map(\.id) })] {
            if let id = ids.firstRepeated {
                throw ApplyError(.duplicateID, "two \(what) have the id \"\(id)\"", at: offset)
            }
        }
    }
}

extension Sequence where Element: Hashable {
    /// The first element that is equal to an earlier one; nil if no two are equal. O(n).
    var firstRepeated: Element? {
        var seen: Set<Element> = []
        return first { !seen.insert($0).inserted }
    }
}

// MARK: - Errors

/// Why a changeset cannot be applied to a list. The list is unchanged.
///
/// Whatever the reason, a client asks again without a base revision, and replaces its list by the reset.
public struct ApplyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of mistake.
    public enum Reason: String, Sendable, Equatable {
        /// The text is not JSON.
        case notJSON = "not-json"
        /// The JSON is not of the dialect.
        case wrongShape = "wrong-shape"
        /// Nothing in the list has the id.
        case unknownID = "unknown-id"
        /// The id is in the list already.
        case duplicateID = "duplicate-id"
        /// An index, or the number of operations, is beyond the list.
        case outOfRange = "out-of-range"
        /// Two operations of a batch have the same index.
        case namedTwice = "named-twice"
        /// An item operation is in a section that the same stage deletes, inserts or moves.
        case insideChangingSection = "inside-changing-section"
        /// Views do not carry out these operations reliably in one batch.
        case unsafeTogether = "unsafe-together"
        /// A stage's `counts` differ from the list after it.
        case wrongCounts = "wrong-counts"
        /// There is no content to apply a patch to.
        case noContent = "no-content"
    }

    /// The kind of mistake.
    public let reason: Reason
    /// A sentence for people.
    public let detail: String
    /// The byte offset of the operation or value in the changes.
    public let offset: Int

    init(_ reason: Reason, _ detail: String, at offset: Int) {
        (self.reason, self.detail, self.offset) = (reason, detail, offset)
    }

    /// Reason, detail and offset, for people.
    public var description: String { "\(reason.rawValue): \(detail) (at byte \(offset))" }
}

// MARK: - Edits
//
// Rows are less than a state: hidden items are only counted, and the ancestors of a window's first rows are missing. So
// placeholders complete the rows to a state, which the server's own code edits; then the placeholders are removed.

extension RowList {
    /// This list after a batch of edits, as far as its rows can tell. O(n). Throws if the server would refuse it, or if
    /// it names something that is not shown.
    func applying(_ edits: EditBatch) throws -> RowList {
        var placeholders = Placeholders()
        var builder = Snapshot.Builder()
        for section in sections {
            builder.section(section.id, content: section.content, isExpanded: section.isExpanded) { items in
                var rows = section.rows[...]
                _ = placeholders.write(&rows, at: 0, into: &items)
            }
        }
        let edited = try builder.build().applying(edits, limits: .none).snapshot
        var list = RowList(edited)
        list.content = content
        for index in list.sections.indices {
            list.sections[index].rows = list.sections[index].rows.compactMap { placeholders.row($0, of: edited) }
        }
        return list
    }
}

/// Placeholders for the items that are not shown.
private struct Placeholders {
    private var ids: Set<ElementID> = []
    /// For each row with hidden children, their placeholder and their count.
    private var hidden: [ElementID: (placeholder: ElementID, count: Int)] = [:]
    /// No other id begins with this.
    private let prefix = UUID().uuidString

    /// Removes the leading rows at a level and below it, and writes them; returns the number of rows at the level.
    mutating func write(
        _ rows: inout ArraySlice<RowList.Row>, at level: Int, into items: inout Snapshot.Builder.Items
    ) -> Int {
        var count = 0
        while let row = rows.first, row.level >= level || level == 0 {
            count += 1
            if row.level > level {
                // The first child of the missing ancestor names it.
                let child = rows.prefix { $0.level > level }.first { $0.level == level + 1 }
                items.item(add(child?.parent)) { _ = write(&rows, at: level + 1, into: &$0) }
                continue
            }
            rows.removeFirst()
            items.item(row.id, content: row.content, kind: row.kind, isExpanded: row.isExpanded) { children in
                let shown = write(&rows, at: level + 1, into: &children)
                guard row.childCount > shown else { return }
                let placeholder = add(nil)
                hidden[row.id] = (placeholder, row.childCount - shown)
                children.item(placeholder)
            }
        }
        return count
    }

    private mutating func add(_ id: ElementID?) -> ElementID {
        let id = id ?? ElementID("\(prefix)-\(ids.count)")
        ids.insert(id)
        return id
    }

    /// A row of the edited state as it is shown; nil for a placeholder.
    func row(_ row: RowList.Row, of edited: Snapshot) -> RowList.Row? {
        if ids.contains(row.id) { return nil }
        guard let (id, count) = hidden[row.id], edited.item(withID: id.text) != nil else { return row }
        var row = row
        row.childCount += count - 1
        return row
    }
}
