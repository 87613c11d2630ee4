extension Snapshot {
    /// The item with an id, hidden ones included. O(1).
    public func item(withID id: String) -> StateItem? { item(withID: Array(id.utf8)) }

    /// The item whose id has these UTF-8 bytes. O(1).
    public func item(withID id: [UInt8]) -> StateItem? {
        id.withUnsafeBytes(columns.item(withID:)).map { StateItem(columns: columns, index: $0) }
    }

    /// The item shown at a path; nil if there is none. O(1).
    public func item(at path: ItemPath) -> StateItem? {
        guard columns.sections.indices.contains(path.section) else { return nil }
        let rows = StateRows(columns: columns, section: path.section)
        return rows.indices.contains(path.row) ? rows[path.row] : nil
    }

    /// The section with an id. O(1).
    public func section(withID id: String) -> StateSection? { section(withID: Array(id.utf8)) }

    /// The section whose id has these UTF-8 bytes. O(1).
    public func section(withID id: [UInt8]) -> StateSection? {
        id.withUnsafeBytes(columns.section(withID:)).map { StateSection(columns: columns, index: $0) }
    }

    /// The list's own content, verbatim; nil if it has none.
    public var content: [UInt8]? { columns.withView { $0.listContent.isEmpty ? nil : Array($0.listContent) } }

    /// The sections, in order; each is found in O(1).
    public var sections: StateSections { StateSections(columns: columns) }
}

/// A section of a state. Retains the state.
public struct StateSection: Sendable {
    package let columns: Columns
    /// Its position among the sections, from zero.
    public let index: Int

    var node: SectionNode { columns.sections[index] }

    /// Its id, as written.
    public var id: ElementID { columns.withView { ElementID($0.id(ofSection: index)) } }

    /// Whether its items are visible.
    public var isExpanded: Bool { !node.flags.contains(.isCollapsed) }

    /// The number of its visible items.
    public var rowCount: Int { rows.count }

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
            writer.emit("\"id\":", view.id(ofSection: index))
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
    package let columns: Columns

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
    package let columns: Columns
    let section: Int

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { Int(columns.sections[section].endRow - columns.sections[section].firstRow) }

    /// The item at a row. O(1).
    public subscript(row: Int) -> StateItem {
        precondition(indices.contains(row), "no such row")
        let row = Int(columns.sections[section].firstRow) + row
        return StateItem(columns: columns, index: columns.withView { $0.item(ofRow: row) })
    }
}

/// An item of a state, visible or not. Retains the state.
public struct StateItem: Sendable {
    package let columns: Columns
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

    /// Its position among the rows; nil while it is hidden. O(1).
    public var path: ItemPath? {
        columns.withView { view in
            let row = view.row(ofItem: index)
            return row < 0 ? nil : ItemPath(section: Int(node.section), row: view.indexPath(ofRow: row).row)
        }
    }

    /// Whether its section and all its ancestors are expanded.
    public var isVisible: Bool { !node.flags.contains(.isHidden) }

    /// Whether its children are visible when it is.
    public var isExpanded: Bool { !node.flags.contains(.isCollapsed) }

    /// Its direct children, including hidden ones. O(children).
    public var children: [StateItem] { StateItem.siblings(columns, index + 1..<Int(node.end)) }

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

    /// The first item of each subtree in a range of whole subtrees.
    static func siblings(_ columns: Columns, _ range: Range<Int>) -> [StateItem] {
        sequence(first: range.lowerBound) { Int(columns.nodes[$0].end) }.prefix { $0 < range.upperBound }
            .map { StateItem(columns: columns, index: $0) }
    }

    /// Writes the members of a look-up of the item, after an object's opening brace: `id`, `section`, `parent` (null at
    /// the root), `level`, `indexPath` (null while hidden), `visible`, `expanded`, and if present, `kind` and
    /// `content`.
    ///
    /// - Parameter showsContent: whether to write content.
    public func writeLookup(into writer: inout JSONWriter, showsContent: Bool = true) {
        columns.withView { view in
            writer.emit("\"id\":", view.id(ofItem: index))
            writer.emit(",\"section\":", view.id(ofSection: Int(node.section)), ",\"parent\":")
            if node.parent < 0 { writer.append("null") } else { writer.append(view.id(ofItem: Int(node.parent))) }
            writer.emit(",\"level\":", level, ",\"indexPath\":")
            if let path { writer.append(path: (path.section, path.row)) } else { writer.append("null") }
            writer.append(isVisible ? ",\"visible\":true" : ",\"visible\":false")
            writer.append(isExpanded ? ",\"expanded\":true" : ",\"expanded\":false")
            if node.flags.contains(.hasKind) { writer.emit(",\"kind\":", view.kind(ofItem: index)) }
            if showsContent, node.flags.contains(.hasContent) {
                writer.emit(",\"content\":", view.content(ofItem: index))
            }
        }
    }
}

/// The position of a row: the index of its section, and its own among that section's rows, both from zero. Only visible
/// items are rows, depth first.
public struct ItemPath: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Index of the section.
    public var section: Int
    /// Index among the section's rows.
    public var row: Int

    /// A path from two indexes.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    /// In the order shown.
    public static func < (one: ItemPath, other: ItemPath) -> Bool {
        (one.section, one.row) < (other.section, other.row)
    }

    /// As JSON: `[section,row]`.
    public var description: String { "[\(section),\(row)]" }
}

extension JSONWriter {
    /// `[section,row]`.
    @inline(__always)
    mutating func append(path: (section: Int, row: Int)) {
        append(byte: UInt8(ascii: "["))
        append(path.section)
        append(byte: UInt8(ascii: ","))
        append(path.row)
        append(byte: UInt8(ascii: "]"))
    }
}
