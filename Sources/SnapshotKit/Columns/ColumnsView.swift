/// The columns of a state as memory, valid while a closure runs.
package struct ColumnsView {
    /// Each use counts a reference, so fields needed often are copied beside it.
    package unowned(unsafe) let columns: Columns
    package let text: TextView
    package let nodes: UnsafeBufferPointer<Node>
    package let sections: UnsafeBufferPointer<SectionNode>
    package let payloads: UnsafeBufferPointer<Payload>
    /// Whether each item is a row, so that rows and items have the same indexes.
    package let allVisible: Bool
    /// Whether all children of all items are in the columns.
    let hasAllChildren: Bool
    /// Both empty if `allVisible`.
    private let rowOfItem: UnsafeBufferPointer<Int32>
    private let itemOfRow: UnsafeBufferPointer<UInt32>

    init(
        columns: Columns, text: TextView, nodes: UnsafeBufferPointer<Node>,
        sections: UnsafeBufferPointer<SectionNode>, payloads: UnsafeBufferPointer<Payload>,
        rowOfItem: UnsafeBufferPointer<Int32>, itemOfRow: UnsafeBufferPointer<UInt32>
    ) {
        (self.columns, self.text) = (columns, text)
        (self.nodes, self.sections, self.payloads) = (nodes, sections, payloads)
        (self.rowOfItem, self.itemOfRow, allVisible) = (rowOfItem, itemOfRow, rowOfItem.isEmpty)
        hasAllChildren = columns.childCounts.isEmpty
    }

    var rowCount: Int { sections.rowCount }

    @inline(__always)
    func item(ofRow row: Int) -> Int { allVisible ? row : Int(itemOfRow[row]) }

    /// -1 for an item that is not visible.
    @inline(__always)
    func row(ofItem item: Int) -> Int { allVisible ? item : Int(rowOfItem[item]) }

    @inline(__always)
    func rows(ofSection section: Int) -> Range<Int> { Int(sections[section].firstRow)..<Int(sections[section].endRow) }

    @inline(__always)
    func indexPath(ofRow row: Int) -> (section: Int, row: Int) {
        let section = Int(nodes[item(ofRow: row)].section)
        return (section, row - Int(sections[section].firstRow))
    }

    // MARK: Bytes

    @inline(__always)
    package func id(ofItem item: Int) -> IDText { IDText(nodes[item], in: text) }

    @inline(__always)
    package func id(ofSection section: Int) -> IDText { IDText(sections[section], in: text) }

    @inline(__always)
    func payload(ofItem item: Int) -> Payload { payloads.isEmpty ? Payload() : payloads[item] }

    /// Empty for an item without content.
    @inline(__always)
    package func content(ofItem item: Int) -> UnsafeRawBufferPointer {
        let payload = payload(ofItem: item)
        return text.bytes(at: payload.contentStart, Int(payload.contentCount))
    }

    /// Empty for a list without content.
    package var listContent: UnsafeRawBufferPointer { text.bytes(at: columns.list.start, Int(columns.list.count)) }

    @inline(__always)
    package func content(ofSection section: Int) -> UnsafeRawBufferPointer {
        let node = sections[section]
        return text.bytes(at: node.contentStart, Int(node.contentCount))
    }

    /// The kind as a JSON string, quotes included, of an item that has one.
    func kind(ofItem item: Int) -> UnsafeRawBufferPointer {
        let text = kindText(ofItem: item)
        return UnsafeRawBufferPointer(start: text.start - 1, count: text.count + 2)
    }

    package func kindText(ofItem item: Int) -> JSONString {
        var cursor = JSONCursor(text.at(payloads[item].kindStart))
        return cursor.takeString()
    }

    /// Whether an item has no children, hidden ones included. O(1).
    @inline(__always)
    func isLeaf(_ item: Int) -> Bool {
        hasAllChildren ? Int(nodes[item].end) == item + 1 : columns.childCounts[item] == 0
    }

    /// The number of direct children, hidden ones included. O(children).
    package func childCount(ofItem item: Int) -> Int {
        if !hasAllChildren { return Int(columns.childCounts[item]) }
        let end = Int(nodes[item].end)
        var (count, child) = (0, item + 1)
        while child < end { (count, child) = (count + 1, Int(nodes[child].end)) }
        return count
    }

    // MARK: Parts

    /// A state of some items of this one, perhaps in another order, whose texts stay where they are. O(items).
    ///
    /// - Parameters:
    ///   - items: in depth-first order, each after its parent.
    ///   - sections: the sections that hold them, in order.
    ///   - hasCollapsed: whether any of them may be hidden.
    ///   - contextAncestors: how many items at the start are not rows; if any, then no other item is hidden.
    ///   - childCounts: the numbers of children, if not all of them are among the items.
    ///   - collapsed: items to collapse besides those collapsed here.
    ///   - whole: this state's text followed by that of the sections' ids; nil if they are in this state's text.
    package func columns(
        of items: [UInt32], in sections: [SectionNode], hasCollapsed: Bool, contextAncestors: Int = 0,
        childCounts: [UInt32] = [], collapsing collapsed: Set<UInt32> = [], text whole: TextRope? = nil
    ) -> Columns {
        var builder = ColumnsBuilder(of: self, items, in: sections)
        (builder.hasCollapsed, builder.contextAncestors) = (hasCollapsed, contextAncestors)
        builder.childCounts = childCounts
        if !collapsed.isEmpty {
            for (index, item) in items.enumerated() where collapsed.contains(item) {
                builder.nodes[index].flags.insert(.isCollapsed)
            }
        }
        // The rest is garbage. An estimate, by which writers of the state reserve memory.
        let used = builder.nodes.indices.reduce(Int(columns.list.count)) { sum, index in
            sum + Int(builder.nodes[index].idCount) + Int(builder.payloads[index].contentCount) + 16
        }
        let (text, nothing) = (whole ?? columns.text, UnsafeRawBufferPointer(start: nil, count: 0))
        let garbage = max(0, text.count - used - text.garbageBytes)
        return builder.finish(text: text.appending(nothing, garbageBytes: garbage)).columns
    }

    // MARK: Values in an item

    /// An item's value at a place. Arrays are not entered. O(bytes of its content).
    package func value(ofItem item: Int, at place: ItemPointer) -> OrderedValue {
        switch place {
        case .id: OrderedValue(id: id(ofItem: item).text)
        case .kind: nodes[item].flags.contains(.hasKind) ? OrderedValue(kindText(ofItem: item)) : .absent
        case .expanded: OrderedValue(!nodes[item].flags.contains(.isCollapsed))
        case .content(let inside):
            nodes[item].flags.contains(.hasContent)
                ? inside.orderedValue(in: text.at(payloads[item].contentStart)) : .absent
        }
    }

    /// A section's value at a place; `text` may continue this state's. O(bytes of its content).
    package func value(of section: SectionNode, in text: TextView, at place: ItemPointer) -> OrderedValue {
        switch place {
        case .id: OrderedValue(id: text.bytes(ofID: section))
        case .expanded: OrderedValue(!section.flags.contains(.isCollapsed))
        case .kind: .absent
        case .content(let inside):
            section.flags.contains(.hasContent) ? inside.orderedValue(in: text.at(section.contentStart)) : .absent
        }
    }
}

/// An id in memory: its text, and how it was written.
package struct IDText {
    let start: UnsafeRawPointer
    let count: Int
    let flags: NodeFlags

    @inline(__always)
    init(_ record: some IdentifiedRecord, in text: TextView) {
        (start, count, flags) = (text.at(record.idStart), Int(record.idCount), record.flags)
    }

    package var text: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// The id as it was written: digits, or a string with its quotes.
    @inline(__always)
    var token: UnsafeRawBufferPointer {
        if flags.contains(.integerID) { return text }
        if flags.contains(.escapedID) { return TokenBuffer.token(before: start) }
        return UnsafeRawBufferPointer(start: start - 1, count: count + 2)
    }

    /// Whether it is written in quotes although it was a number, which most parsers would round.
    @inline(__always)
    var isQuoted: Bool { flags.contains(.integerID) && count > 15 && !text.isSafeInteger }

    /// Whether readers see it as a number.
    package var isInteger: Bool { flags.contains(.integerID) && !isQuoted }

    static func == (one: IDText, other: IDText) -> Bool {
        one.count == other.count && sameBytes(one.start, other.start, one.count)
    }
}

/// The hash that tables of ids use.
@inline(__always)
func idHash(_ start: UnsafeRawPointer, _ count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: KeyedHash.process.hash(start, count) >> 32)
}

extension Collection<UInt8> {
    /// Whether an integer's digits are within ±(2⁵³ − 1), so that a double holds it exactly (RFC 8259 §6).
    var isSafeInteger: Bool {
        let digits = first == UInt8(ascii: "-") ? dropFirst() : self[...]
        if digits.count != 16 { return digits.count < 16 }
        return !"9007199254740991".utf8.lexicographicallyPrecedes(digits)
    }
}

extension JSONWriter {
    /// Appends an id as it was written, except an integer beyond ±(2⁵³ − 1), which becomes a string.
    @inline(__always)
    package mutating func append(_ id: IDText) {
        if id.isQuoted {
            append(byte: UInt8(ascii: "\""))
            append(id.text)
            append(byte: UInt8(ascii: "\""))
        } else {
            append(id.token)
        }
    }

    @inline(__always)
    mutating func emit(_ before: StaticString, _ id: IDText, _ after: StaticString = "") {
        append(before)
        append(id)
        if after.utf8CodeUnitCount > 0 { append(after) }
    }
}

extension SectionNode {
    /// The section with these items in place of its own.
    package func holding(_ items: Range<Int>) -> SectionNode {
        var section = self
        section.firstItem = UInt32(truncatingIfNeeded: items.lowerBound)
        section.endItem = UInt32(truncatingIfNeeded: items.upperBound)
        return section
    }
}

/// The part of an item that a view looks at.
package enum ItemPointer: Hashable, Sendable {
    case id, kind, expanded
    /// In its content: a set of one pointer.
    case content(PointerSet)

    /// The place that a pointer into an item leads to; nil if no item can have it.
    package init?(_ pointer: JSONPointer) {
        switch (pointer.tokens.first.map { String(decoding: $0, as: UTF8.self) }, pointer.tokens.count) {
        case ("id", 1): self = .id
        case ("kind", 1): self = .kind
        case ("expanded", 1): self = .expanded
        case ("content", _): self = .content(PointerSet([JSONPointer(tokens: Array(pointer.tokens.dropFirst()))]))
        default: return nil
        }
    }

    package var pointer: JSONPointer {
        switch self {
        case .id: JSONPointer(tokens: [Array("id".utf8)])
        case .kind: JSONPointer(tokens: [Array("kind".utf8)])
        case .expanded: JSONPointer(tokens: [Array("expanded".utf8)])
        case .content(let inside): JSONPointer(tokens: [Array("content".utf8)] + inside.pointers[0].tokens)
        }
    }
}

extension PointerSet {
    fileprivate func orderedValue(in content: UnsafeRawPointer) -> OrderedValue {
        value(in: content, entersArrays: false).map(OrderedValue.init(at:)) ?? .absent
    }
}
