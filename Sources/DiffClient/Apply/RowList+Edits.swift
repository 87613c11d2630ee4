// Rows are less than the state: what is hidden is only counted, and in a window the ancestors of its first rows are
// missing. So a state is made that has the same rows, with stand-ins for what is not known, and edited by the code that
// the server edits by; then the stand-ins are taken out again.

import Foundation
import SnapshotKit

extension RowList {
    /// This list after a batch of edits, as far as its rows can tell. O(n).
    ///
    /// - Throws: `EditError` where the server would refuse it, and where it names what is not shown.
    func applying(_ edits: EditBatch) throws -> RowList {
        var outline = Outline()
        var builder = Snapshot.Builder()
        for section in sections {
            let roots = outline.append(section.rows)
            builder.section(section.id, content: section.content, isExpanded: section.isExpanded) { items in
                for root in roots { outline.write(root, into: &items) }
            }
        }
        let edited = try builder.build().applying(edits, limits: .none).snapshot
        var list = RowList(edited)
        list.content = content
        for index in list.sections.indices {
            list.sections[index].rows = list.sections[index].rows.compactMap { outline.row($0, of: edited) }
        }
        return list
    }
}

/// Rows as a tree, with stand-ins.
private struct Outline {
    private struct Node {
        var id: ElementID
        /// Nil for a stand-in.
        var row: RowList.Row?
        var children: [Int] = []
    }

    private var nodes: [Node] = []
    /// Of each row with children that are not shown: the one that stands for them, and how many they are.
    private var hidden: [ElementID: (standIn: ElementID, count: Int)] = [:]
    private var standIns: Set<ElementID> = []
    /// No id that anybody has.
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
                let id = Self.ancestor(of: rows[index...], at: open.count) ?? newID()
                standIns.insert(id)
                add(Node(id: id))
            }
            add(Node(id: row.id, row: row))
        }
        for node in nodes.indices[first...] {
            guard let row = nodes[node].row, row.childCount > nodes[node].children.count else { continue }
            let id = newID()
            standIns.insert(id)
            hidden[row.id] = (id, row.childCount - nodes[node].children.count)
            nodes.append(Node(id: id))
            nodes[node].children.append(nodes.count - 1)
        }
        return roots
    }

    private func newID() -> ElementID { ElementID("\(prefix)-\(nodes.count)") }

    /// The id of the missing ancestor of the first of some rows: the next row right below it names it.
    private static func ancestor(of rows: ArraySlice<RowList.Row>, at level: Int) -> ElementID? {
        rows.prefix { $0.level > level }.first { $0.level == level + 1 }?.parent
    }

    func write(_ index: Int, into items: inout Snapshot.Builder.Items) {
        let (node, row) = (nodes[index], nodes[index].row)
        items.item(node.id, content: row?.content, kind: row?.kind, isExpanded: row?.isExpanded ?? true) { items in
            for child in node.children { write(child, into: &items) }
        }
    }

    /// A row of the edited state as it is to be shown; nil for a stand-in.
    func row(_ row: RowList.Row, of edited: Snapshot) -> RowList.Row? {
        if standIns.contains(row.id) { return nil }
        guard let (standIn, count) = hidden[row.id], edited.item(withID: standIn.text) != nil else { return row }
        var row = row
        row.childCount += count - 1
        return row
    }
}
