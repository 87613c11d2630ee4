// Rows are less than the state: hidden items are only counted, and the ancestors of a window's first rows are missing.
// So the rows are completed to a state with placeholders, which is edited by the code that the server uses; then the
// placeholders are removed.

import Foundation
import SnapshotKit

extension RowList {
    /// This list after a batch of edits, as far as its rows can tell. O(n).
    ///
    /// - Throws: `EditError` if the server would refuse it, or if it names something that is not shown.
    func applying(_ edits: EditBatch) throws -> RowList {
        var tree = RowTree()
        var builder = Snapshot.Builder()
        for section in sections {
            let roots = tree.append(section.rows)
            builder.section(section.id, content: section.content, isExpanded: section.isExpanded) { items in
                for root in roots { tree.write(root, into: &items) }
            }
        }
        let edited = try builder.build().applying(edits, limits: .none).snapshot
        var list = RowList(edited)
        list.content = content
        for index in list.sections.indices {
            list.sections[index].rows = list.sections[index].rows.compactMap { tree.row($0, of: edited) }
        }
        return list
    }
}

/// Rows as a tree, with placeholders.
private struct RowTree {
    private struct Node {
        var id: ElementID
        /// Nil for a placeholder.
        var row: RowList.Row?
        var children: [Int] = []
    }

    private var nodes: [Node] = []
    /// For each row with hidden children, their placeholder and their count.
    private var hidden: [ElementID: (placeholder: ElementID, count: Int)] = [:]
    private var placeholders: Set<ElementID> = []
    /// Begins no other id.
    private let prefix = UUID().uuidString

    /// Appends a section's rows; returns those without a parent.
    mutating func append(_ rows: [RowList.Row]) -> [Int] {
        var roots: [Int] = []
        var open: [Int] = []  // the last node and its ancestors, by level
        func add(_ node: Node) {
            nodes.append(node)
            let index = nodes.count - 1
            if let parent = open.last { nodes[parent].children.append(index) } else { roots.append(index) }
            open.append(index)
        }
        let first = nodes.count
        for (index, row) in rows.enumerated() {
            open.removeLast(max(0, open.count - row.level))
            while open.count < row.level {
                add(placeholder(Self.ancestor(of: rows[index...], at: open.count) ?? newID()))
            }
            add(Node(id: row.id, row: row))
        }
        for node in nodes.indices[first...] {
            guard let row = nodes[node].row, row.childCount > nodes[node].children.count else { continue }
            let placeholder = placeholder(newID())
            hidden[row.id] = (placeholder.id, row.childCount - nodes[node].children.count)
            nodes.append(placeholder)
            nodes[node].children.append(nodes.count - 1)
        }
        return roots
    }

    private mutating func placeholder(_ id: ElementID) -> Node {
        placeholders.insert(id)
        return Node(id: id)
    }

    private func newID() -> ElementID { ElementID("\(prefix)-\(nodes.count)") }

    /// The id of the first row's missing ancestor, which the next row right below it names.
    private static func ancestor(of rows: ArraySlice<RowList.Row>, at level: Int) -> ElementID? {
        rows.prefix { $0.level > level }.first { $0.level == level + 1 }?.parent
    }

    func write(_ index: Int, into items: inout Snapshot.Builder.Items) {
        let (node, row) = (nodes[index], nodes[index].row)
        items.item(node.id, content: row?.content, kind: row?.kind, isExpanded: row?.isExpanded ?? true) { items in
            for child in node.children { write(child, into: &items) }
        }
    }

    /// A row of the edited state as it is shown; nil for a placeholder.
    func row(_ row: RowList.Row, of edited: Snapshot) -> RowList.Row? {
        if placeholders.contains(row.id) { return nil }
        guard let (id, count) = hidden[row.id], edited.item(withID: id.text) != nil else { return row }
        var row = row
        row.childCount += count - 1
        return row
    }
}
