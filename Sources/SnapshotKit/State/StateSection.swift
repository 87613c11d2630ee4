/// A section of a state. Retains the state.
public struct StateSection: Sendable {
    let columns: Columns
    /// Its place among the sections, from zero.
    public let index: Int

    var node: SectionNode { columns.sections[index] }

    /// Its id, as written.
    public var id: ElementID { columns.withView { ElementID($0.id(ofSection: index)) } }

    /// Whether its items are visible.
    public var isExpanded: Bool { !node.flags.contains(.isCollapsed) }

    /// The number of its visible items.
    public var rowCount: Int { Int(node.endRow - node.firstRow) }

    /// Its rows, in order; access is O(1).
    public var rows: StateRows { StateRows(columns: columns, section: index) }

    /// Its top-level items, including hidden ones. O(items).
    public var items: [StateItem] { StateItem.siblings(columns, Int(node.firstItem)..<Int(node.endItem)) }

    /// Its content, verbatim; nil if it has none.
    public var content: [UInt8]? {
        guard node.flags.contains(.hasContent) else { return nil }
        return columns.withView { Array($0.content(ofSection: index)) }
    }

    /// Writes the members of a look-up of the section, after an object's opening brace: `id`, `index`, `expanded`,
    /// `rows`, and if present, `content`.
    ///
    /// - Parameter showsContent: whether to write content.
    public func writeLookup(into writer: inout JSONWriter, showsContent: Bool = true) {
        columns.withView { view in
            writer.emit("\"id\":", view.id(ofSection: index).token)
            writer.emit(",\"index\":", index)
            writer.append(isExpanded ? ",\"expanded\":true" : ",\"expanded\":false")
            writer.emit(",\"rows\":", rowCount)
            if showsContent, node.flags.contains(.hasContent) {
                writer.emit(",\"content\":", view.content(ofSection: index))
            }
        }
    }
}

/// The sections of a state, in order.
public struct StateSections: RandomAccessCollection, Sendable {
    let columns: Columns

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of sections.
    public var endIndex: Int { columns.sections.count }

    /// The section at an index. O(1).
    public subscript(index: Int) -> StateSection {
        precondition(columns.sections.indices.contains(index), "no such section")
        return StateSection(columns: columns, index: index)
    }
}

/// The rows of a section, in order.
public struct StateRows: RandomAccessCollection, Sendable {
    let columns: Columns
    let section: Int

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { Int(columns.sections[section].endRow - columns.sections[section].firstRow) }

    /// The item at a row. O(1).
    public subscript(row: Int) -> StateItem {
        guard let item = columns.item(at: ItemPath(section: section, row: row)) else {
            preconditionFailure("no such row")
        }
        return StateItem(columns: columns, index: item)
    }
}
