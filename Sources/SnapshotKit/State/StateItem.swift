/// An item of a state, visible or not. Retains the state.
public struct StateItem: Sendable {
    let columns: Columns
    let index: Int

    var node: Node { columns.nodes[index] }

    /// Its id, as written.
    public var id: ElementID { columns.withView { ElementID($0.id(ofItem: index)) } }

    /// The section it is in.
    public var section: StateSection { StateSection(columns: columns, index: Int(node.section)) }

    /// Its parent; nil at the root of its section.
    public var parent: StateItem? { node.parent < 0 ? nil : StateItem(columns: columns, index: Int(node.parent)) }

    /// The number of its ancestors within the section.
    public var level: Int { Int(node.level) }

    /// Its place among the rows; nil while it is hidden. O(1).
    public var path: ItemPath? { columns.path(ofItem: index) }

    /// Whether its section and all its ancestors are expanded.
    public var isVisible: Bool { !node.flags.contains(.isHidden) }

    /// Whether its children are visible when it is.
    public var isExpanded: Bool { !node.flags.contains(.isCollapsed) }

    /// Its direct children, including hidden ones. O(children).
    public var children: [StateItem] {
        StateItem.siblings(columns, index + 1..<Int(node.end))
    }

    /// Its kind; nil if it has none.
    public var kind: String? {
        guard node.flags.contains(.hasKind) else { return nil }
        return columns.withView { $0.kindText(ofItem: index).string }
    }

    /// Its content, verbatim; nil if it has none.
    public var content: [UInt8]? {
        guard node.flags.contains(.hasContent) else { return nil }
        return columns.withView { Array($0.content(ofItem: index)) }
    }

    /// The first item of each subtree in a range that covers whole ones.
    static func siblings(_ columns: Columns, _ range: Range<Int>) -> [StateItem] {
        var siblings: [StateItem] = []
        var item = range.lowerBound
        while item < range.upperBound {
            siblings.append(StateItem(columns: columns, index: item))
            item = Int(columns.nodes[item].end)
        }
        return siblings
    }

    /// Writes the members of a look-up of the item, after an object's opening brace: `id`, `section`, `parent` (null at
    /// the root), `level`, `indexPath` (null while hidden), `visible`, `expanded`, and if present, `kind` and
    /// `content`.
    ///
    /// - Parameter showsContent: whether to write content.
    public func writeLookup(into writer: inout JSONWriter, showsContent: Bool = true) {
        columns.withView { view in
            writer.emit("\"id\":", view.id(ofItem: index).token)
            writer.emit(",\"section\":", view.id(ofSection: Int(node.section)).token, ",\"parent\":")
            if node.parent < 0 { writer.append("null") } else { writer.append(view.id(ofItem: Int(node.parent)).token) }
            writer.emit(",\"level\":", level, ",\"indexPath\":")
            if let path { writer.append(path: path.section, path.row) } else { writer.append("null") }
            writer.append(isVisible ? ",\"visible\":true" : ",\"visible\":false")
            writer.append(isExpanded ? ",\"expanded\":true" : ",\"expanded\":false")
            if node.flags.contains(.hasKind) { writer.emit(",\"kind\":", view.kind(ofItem: index)) }
            if showsContent, node.flags.contains(.hasContent) {
                writer.emit(",\"content\":", view.content(ofItem: index))
            }
        }
    }
}
