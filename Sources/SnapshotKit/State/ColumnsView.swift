/// The columns of a state as memory, valid while a closure runs.
struct ColumnsView {
    /// Each use counts a reference, so what is needed often is copied beside it.
    unowned(unsafe) let columns: Columns
    let text: TextView
    let nodes: UnsafeBufferPointer<Node>
    let sections: UnsafeBufferPointer<SectionNode>
    let payloads: UnsafeBufferPointer<Payload>
    /// Whether each item is a row, so that rows and items have the same indexes.
    let allVisible: Bool
    /// Whether all children of all items are in the columns.
    let hasAllChildren: Bool
    /// Both empty if `allVisible`.
    private let rowOfItem: UnsafeBufferPointer<Int32>
    private let itemOfRow: UnsafeBufferPointer<UInt32>
    private let structure: ObjectIdentifier

    init(
        columns: Columns, text: TextView, nodes: UnsafeBufferPointer<Node>,
        sections: UnsafeBufferPointer<SectionNode>, payloads: UnsafeBufferPointer<Payload>,
        rowOfItem: UnsafeBufferPointer<Int32>, itemOfRow: UnsafeBufferPointer<UInt32>
    ) {
        (self.columns, self.text) = (columns, text)
        (self.nodes, self.sections, self.payloads) = (nodes, sections, payloads)
        (self.rowOfItem, self.itemOfRow, allVisible) = (rowOfItem, itemOfRow, rowOfItem.isEmpty)
        structure = ObjectIdentifier(columns.structure)
        hasAllChildren = columns.childCounts.isEmpty
    }

    var rowCount: Int { sections.rowCount }

    /// Whether both states are known to have the same structure.
    func hasStructure(of other: ColumnsView) -> Bool { structure == other.structure }

    @inline(__always)
    func item(ofRow row: Int) -> Int { allVisible ? row : Int(itemOfRow[row]) }

    /// -1 for an item that is not visible.
    @inline(__always)
    func row(ofItem item: Int) -> Int { allVisible ? item : Int(rowOfItem[item]) }

    @inline(__always)
    func rows(ofSection section: Int) -> Range<Int> {
        Int(sections[section].firstRow)..<Int(sections[section].endRow)
    }

    /// A row's section, and its index among that section's rows.
    @inline(__always)
    func indexPath(ofRow row: Int) -> (section: Int, row: Int) {
        let section = Int(nodes[item(ofRow: row)].section)
        return (section, row - Int(sections[section].firstRow))
    }

    // MARK: Bytes

    @inline(__always)
    func id(ofItem item: Int) -> IDText {
        let node = nodes[item]
        return IDText(start: text.at(node.idStart), count: Int(node.idCount), flags: node.flags)
    }

    @inline(__always)
    func id(ofSection section: Int) -> IDText {
        let node = sections[section]
        return IDText(start: text.at(node.idStart), count: Int(node.idCount), flags: node.flags)
    }

    @inline(__always)
    func payload(ofItem item: Int) -> Payload { payloads.isEmpty ? Payload() : payloads[item] }

    /// Empty for an item without content.
    @inline(__always)
    func content(ofItem item: Int) -> UnsafeRawBufferPointer {
        let payload = payload(ofItem: item)
        return text.bytes(at: payload.contentStart, Int(payload.contentCount))
    }

    /// The list's own content; empty if it has none.
    var listContent: UnsafeRawBufferPointer { text.bytes(at: columns.list.start, Int(columns.list.count)) }

    @inline(__always)
    func content(ofSection section: Int) -> UnsafeRawBufferPointer {
        let node = sections[section]
        return text.bytes(at: node.contentStart, Int(node.contentCount))
    }

    /// The kind as a JSON string, quotes included, of an item that has one.
    func kind(ofItem item: Int) -> UnsafeRawBufferPointer {
        let text = kindText(ofItem: item)
        return UnsafeRawBufferPointer(start: text.start - 1, count: text.count + 2)
    }

    func kindText(ofItem item: Int) -> JSONString {
        var cursor = JSONCursor(text.at(payloads[item].kindStart))
        return cursor.takeString()
    }

    /// Whether an item has no children, hidden ones included. O(1).
    @inline(__always)
    func isLeaf(_ item: Int) -> Bool {
        hasAllChildren ? Int(nodes[item].end) == item + 1 : columns.childCounts[item] == 0
    }

    /// The number of direct children, hidden ones included. O(children).
    func childCount(ofItem item: Int) -> Int {
        if !hasAllChildren { return Int(columns.childCounts[item]) }
        var count = 0
        var child = item + 1
        let end = Int(nodes[item].end)
        while child < end {
            child = Int(nodes[child].end)
            count += 1
        }
        return count
    }
}

/// An id in memory: its text, and how it was written.
struct IDText {
    let start: UnsafeRawPointer
    let count: Int
    let flags: NodeFlags

    var text: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// The id as it was written: digits, or a string with its quotes.
    @inline(__always)
    var token: UnsafeRawBufferPointer {
        if flags.contains(.integerID) { return text }
        if flags.contains(.escapedID) { return TokenBuffer.token(before: start) }
        return UnsafeRawBufferPointer(start: start - 1, count: count + 2)
    }

    static func == (one: IDText, other: IDText) -> Bool {
        one.count == other.count && sameBytes(one.start, other.start, one.count)
    }
}

/// The hash that tables of ids use.
@inline(__always)
func idHash(_ start: UnsafeRawPointer, _ count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: KeyedHash.process.hash(start, count) >> 32)
}
