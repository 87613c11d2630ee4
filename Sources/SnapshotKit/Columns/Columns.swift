// A state as columns over its text. Every item is a `Node` of 24 bytes in document order (depth first), so a subtree is
// a contiguous run and "the next sibling" is one addition; an item's content and kind are ranges of the text, in a
// column of their own. Nothing is allocated per item, copying a state copies one reference, and a diff reads memory in
// order.
//
// `checkInvariants` lists what all of this relies on.
//
// Rejected: the text of ids in a dictionary (40 times the cost, FNV or not, and Swift's String == is canonical
// equivalence, not bytes); a tree of objects (an allocation per item); re-encoding contents (number tokens must
// survive).

/// An id that was found: where its text is, and how it was written.
package struct FoundID {
    var start: Int
    var count: Int
    var flags: NodeFlags
}

/// A section or an item, by its index.
enum RecordIndex: Hashable { case section(Int), item(Int) }

/// A section or an item: where the text of its id is, how the id was written, and its hash.
package protocol IdentifiedRecord {
    var idStart: UInt32 { get set }
    var idCount: UInt16 { get set }
    var flags: NodeFlags { get set }
    var hash: UInt32 { get set }
}

extension IdentifiedRecord {
    @inline(__always)
    mutating func setID(_ id: FoundID) {
        idStart = UInt32(truncatingIfNeeded: id.start)
        idCount = UInt16(truncatingIfNeeded: id.count)
        flags = flags.subtracting(.idStorage).union(id.flags)
    }

    package var isInteger: Bool { flags.contains(.integerID) }

    /// Whether both ids have the same bytes, in the texts `ours` and `theirs`.
    @inline(__always)
    func hasSameID(as other: Self, _ ours: TextView, _ theirs: TextView) -> Bool {
        hash == other.hash && idCount == other.idCount
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }

    /// Whether another record has the same flags and the same id, written without escapes, apart from its hash.
    @inline(__always)
    func isWrittenLike(_ other: Self, _ ours: TextView, _ theirs: TextView) -> Bool {
        idCount == other.idCount && flags == other.flags.subtracting(.isHidden) && !flags.contains(.escapedID)
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }

    /// The text of the id. Hashes it if that has not been done: records that were taken over have their hashes.
    @inline(__always)
    mutating func hashedID(in text: TextView) -> UnsafeRawBufferPointer {
        let id = text.bytes(ofID: self)
        if hash == 0 { hash = idHash(id.baseAddress!, id.count) }
        return id
    }
}

/// One item: its id, and its position in the structure.
package struct Node: IdentifiedRecord {
    /// Where the text of the id starts, after its quote.
    package var idStart: UInt32 = 0
    package var idCount: UInt16 = 0
    /// Ancestors within the section.
    package var level: UInt8 = 0
    package var flags: NodeFlags = []
    /// The hash of the id's text, see `idHash`.
    package var hash: UInt32 = 0
    package var section: UInt32 = 0
    /// Index of the parent's node; -1 at the root of a section.
    package var parent: Int32 = -1
    /// Index after the last descendant.
    package var end: UInt32 = 0
}

/// Flags of an item or a section.
package struct NodeFlags: OptionSet {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The id was written as a number: its token is its text.
    static let integerID = NodeFlags(rawValue: 1)
    /// The id was written with escapes: its token precedes its text, see `TokenBuffer`.
    static let escapedID = NodeFlags(rawValue: 2)
    /// How the id is stored: one joined of several parts as if it had been written with escapes.
    static let idStorage: NodeFlags = [.integerID, .escapedID]
    package static let hasContent = NodeFlags(rawValue: 4)
    package static let hasKind = NodeFlags(rawValue: 8)
    package static let isCollapsed = NodeFlags(rawValue: 16)
    /// Below a collapsed section or item, so not a row.
    package static let isHidden = NodeFlags(rawValue: 32)
    /// Written as its id alone, without an object around it.
    static let isBare = NodeFlags(rawValue: 64)

    /// What an update can change, apart from content and kind themselves.
    static let shown: NodeFlags = [.hasContent, .hasKind, .isCollapsed]
}

/// What an item shows, as ranges of the text. The kind's length is that of the JSON string at its start.
package struct Payload {
    package var contentStart: UInt32 = 0
    package var contentCount: UInt32 = 0
    /// Where the kind's quote is.
    var kindStart: UInt32 = 0

    var content: Range<Int> { Int(contentStart)..<Int(contentStart) + Int(contentCount) }

    @inline(__always)
    mutating func setContent(_ start: Int, _ count: Int) {
        contentStart = UInt32(truncatingIfNeeded: start)
        contentCount = UInt32(truncatingIfNeeded: count)
    }

    @inline(__always)
    mutating func shift(by shift: UInt32, _ flags: NodeFlags) {
        contentStart &+= flags.contains(.hasContent) ? shift : 0
        kindStart &+= flags.contains(.hasKind) ? shift : 0
    }
}

/// One section.
package struct SectionNode: IdentifiedRecord {
    package var idStart: UInt32 = 0
    package var idCount: UInt16 = 0
    package var flags: NodeFlags = []
    package var hash: UInt32 = 0
    var contentStart: UInt32 = 0
    var contentCount: UInt32 = 0
    package var firstItem: UInt32 = 0
    package var endItem: UInt32 = 0
    package var firstRow: UInt32 = 0
    package var endRow: UInt32 = 0
}

extension SectionNode {
    /// A section with the id, the flags and the content of an item.
    init(_ item: (node: Node, payload: Payload)) {
        // A section has no kind, whatever a damaged delta says.
        flags = item.node.flags.subtracting(.hasKind)
        (idStart, idCount, hash) = (item.node.idStart, item.node.idCount, item.node.hash)
        (contentStart, contentCount) = (item.payload.contentStart, item.payload.contentCount)
    }

    /// An empty section with an id, whose hash is not yet known.
    package init(_ id: FoundID, in text: TextView) {
        self.init()
        setID(id)
        _ = hashedID(in: text)
    }

    /// The section as an item, so that common members are changed in one way.
    var asItem: (node: Node, payload: Payload) {
        (
            Node(idStart: idStart, idCount: idCount, flags: flags, hash: hash),
            Payload(contentStart: contentStart, contentCount: contentCount)
        )
    }

    /// Sets the content; nil for none.
    package mutating func setContent(_ range: Range<Int>?) {
        contentStart = UInt32(truncatingIfNeeded: range?.lowerBound ?? 0)
        contentCount = UInt32(truncatingIfNeeded: range?.count ?? 0)
        if range == nil { flags.remove(.hasContent) } else { flags.insert(.hasContent) }
    }
}

extension BidirectionalCollection<SectionNode> {
    var rowCount: Int { last.map { Int($0.endRow) } ?? 0 }
}

/// Where the list's own content is in the text; empty if it has none.
package struct ListContent: Equatable {
    var start: UInt32 = 0
    package var count: UInt32 = 0
}

extension ListContent {
    init(_ range: Range<Int>) {
        self.init(start: UInt32(truncatingIfNeeded: range.lowerBound), count: UInt32(truncatingIfNeeded: range.count))
    }
}

/// Hashes of an item's content and kind; zero if it has none.
struct Fingerprint: Equatable {
    /// Two halves, so that the record needs no padding.
    var contentLow: UInt32 = 0
    var contentHigh: UInt32 = 0
    var kind: UInt32 = 0

    var content: UInt64 {
        get { UInt64(contentHigh) << 32 | UInt64(contentLow) }
        set { (contentLow, contentHigh) = (UInt32(truncatingIfNeeded: newValue), UInt32(newValue >> 32)) }
    }
}

/// How and where the top-level items were read: with equal settings, the same bytes mean the same.
package struct ParseSettings: Sendable, Equatable {
    /// How many levels of arrays and objects an item may have, by the limits it was read with.
    var room: Int
    var shape = StateShape.native
    /// Whether numeric kinds are stored after the document.
    var hasStoredKinds = false
    /// Whether items without `expanded` kept the value of the previous state, see `keepExpanded`.
    var hasKept = false
    /// Whether the value at `groupAt` was no group in some rows: readers of later documents are warned of them as well.
    var hasUnusableGroups = false

    /// Those of a state that was not read from one document.
    static let nowhere = ParseSettings(room: .max)
}

/// The columns of one state, immutable.
package final class Columns: Sendable {
    package let text: TextRope
    package let list: ListContent
    package let nodes: [Node]
    package let sections: [SectionNode]
    /// Empty if no item has a content or a kind.
    package let payloads: [Payload]
    /// Both empty in a rebuilt past state: ids are rarely looked up in a base.
    let itemTable: IDTable
    let sectionTable: IDTable
    /// The row of each item (-1: none), and the item of each row. Both empty if every item is a row.
    let rowOfItem: [Int32]
    package let itemOfRow: [UInt32]
    /// The number of children of each item, if a window shows only some of them; otherwise empty, as the nodes tell.
    let childCounts: [UInt32]
    /// How many leading items are not rows: ancestors of a window's first row that lie outside it.
    let contextAncestors: Int
    let settings: ParseSettings
    /// The item at each position of the document read, if rows were put into sections in another order; else empty.
    let documentOrder: [UInt32]
    /// Whether no item is nested and no id was written with escapes, so that in a state as read, starts of ids ascend.
    let isFlat: Bool
    /// Texts that have grown in the edit that made this state, by item: the next one need not look for their ends.
    let grown: [Int: GrownText]

    package init(
        text: TextRope, list: ListContent = ListContent(), nodes: [Node], sections: [SectionNode],
        payloads: [Payload] = [], itemTable: IDTable = .empty, sectionTable: IDTable = .empty,
        rowOfItem: [Int32] = [], itemOfRow: [UInt32] = [], childCounts: [UInt32] = [], contextAncestors: Int = 0,
        settings: ParseSettings = .nowhere, documentOrder: [UInt32] = [], isFlat: Bool = false,
        grown: [Int: GrownText] = [:]
    ) {
        (self.text, self.list, self.nodes, self.sections, self.payloads) = (text, list, nodes, sections, payloads)
        (self.itemTable, self.sectionTable) = (itemTable, sectionTable)
        (self.rowOfItem, self.itemOfRow, self.childCounts) = (rowOfItem, itemOfRow, childCounts)
        (self.contextAncestors, self.settings, self.isFlat) = (contextAncestors, settings, isFlat)
        (self.documentOrder, self.grown) = (documentOrder, grown)
    }

    var rowCount: Int { sections.rowCount }

    /// Whether any item or section is collapsed. O(1), or O(sections) if all items are rows.
    package var hasCollapsed: Bool { !rowOfItem.isEmpty || sections.contains { $0.flags.contains(.isCollapsed) } }

    var footprint: Int {
        text.footprint + nodes.capacity * MemoryLayout<Node>.stride
            + payloads.capacity * MemoryLayout<Payload>.stride
            + sections.capacity * MemoryLayout<SectionNode>.stride + itemTable.footprint + sectionTable.footprint
            + (rowOfItem.capacity + itemOfRow.capacity + childCounts.capacity + documentOrder.capacity) * 4
            + grown.capacity * 48
    }

    func item(withID id: UnsafeRawBufferPointer) -> Int? { withView { $0.item(withID: id) } }

    func section(withID id: UnsafeRawBufferPointer) -> Int? { withView { $0.section(withID: id) } }

    @inline(__always)
    package func withViews<Result, Failure: Error>(
        of other: Columns, _ body: (ColumnsView, ColumnsView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withView { (view) throws(Failure) in
            try other.withView { (others) throws(Failure) in try body(view, others) }
        }
    }

    @inline(__always)
    package func withView<Result, Failure: Error>(_ body: (ColumnsView) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        try text.withView { (text) throws(Failure) in
            try nodes.withUnsafeBufferPointer { (nodes) throws(Failure) in
                try sections.withUnsafeBufferPointer { (sections) throws(Failure) in
                    try payloads.withUnsafeBufferPointer { (payloads) throws(Failure) in
                        try rowOfItem.withUnsafeBufferPointer { (rowOfItem) throws(Failure) in
                            try itemOfRow.withUnsafeBufferPointer { (itemOfRow) throws(Failure) in
                                try body(
                                    ColumnsView(
                                        columns: self, text: text, nodes: nodes, sections: sections,
                                        payloads: payloads, rowOfItem: rowOfItem, itemOfRow: itemOfRow))
                            }
                        }
                    }
                }
            }
        }
    }
}

// MARK: - Looking up
//
// Look-ups by id use the tables made when a state's ids were checked. A rebuilt past state has none and is searched.

extension ColumnsView {
    /// The item, hidden or not, with the given id; `hash` is that of its text, if known. O(1), or O(n) without a table.
    package func item(withID id: UnsafeRawBufferPointer, hash: UInt32? = nil) -> Int? {
        find(id, hash, in: nodes, columns.itemTable)
    }

    /// The section with the given id. O(1), or O(n) without a table.
    package func section(withID id: UnsafeRawBufferPointer, hash: UInt32? = nil) -> Int? {
        find(id, hash, in: sections, columns.sectionTable)
    }

    @inline(__always)
    private func find<Record: IdentifiedRecord>(
        _ id: UnsafeRawBufferPointer, _ hash: UInt32?, in records: UnsafeBufferPointer<Record>, _ table: IDTable
    ) -> Int? {
        guard let start = id.baseAddress, id.count > 0 else { return nil }
        let hash = hash ?? idHash(start, id.count)
        let matches = { (index: Int) in
            let record = records[index]
            return record.hash == hash && Int(record.idCount) == id.count
                && sameBytes(text.at(record.idStart), start, id.count)
        }
        return table.isEmpty ? records.indices.first(where: matches) : table.first(hash, where: matches)
    }

    /// Where in its content an item's id is written: one found by a pointer is part of it. Nil if it is elsewhere.
    func idOffset(inContentOf item: Int) -> Int? {
        let (node, payload) = (nodes[item], payload(ofItem: item))
        let offset = Int(node.idStart) - Int(payload.contentStart)
        return !node.flags.contains(.escapedID) && 0..<Int(payload.contentCount) ~= offset ? offset : nil
    }
}

// MARK: - Compacting

/// Which members of its contents a state keeps: those at the places, nothing without places, or nil for all of them.
package struct KeptMembers: Sendable {
    package var list: PointerSet?
    package var sections: PointerSet?
    package var items: PointerSet?

    package init() {}

    package var areAll: Bool { list == nil && sections == nil && items == nil }
}

extension JSONWriter {
    /// Appends a content, or its members at the places. Appends nothing and returns false where nothing is kept.
    package mutating func append(_ content: UnsafeRawBufferPointer, keeping places: PointerSet?) -> Bool {
        guard let places else {
            append(content)
            return true
        }
        return !places.isEmpty && append(membersOf: content, at: places)
    }
}

extension Columns {
    /// The same state, with a text of its own if most of this one is unused.
    var compactedIfNeeded: Columns { text.needsCompaction ? compacted() : self }

    /// Contents that are chunks of their own, by item.
    private func longContents(_ view: ColumnsView) -> [Int: [UInt8]] {
        guard text.hasChunks else { return [:] }
        var long: [Int: [UInt8]] = [:]
        for item in nodes.indices where nodes[item].flags.contains(.hasContent) {
            guard let value = text.chunk(at: payloads[item].contentStart), value.count >= TextRope.longValue,
                value.count == Int(payloads[item].contentCount) + JSONScanner.padding,
                view.idOffset(inContentOf: item) == nil
            else { continue }
            long[item] = value
        }
        return long
    }

    /// The same state, or what is kept of it, over a text that holds nothing else. O(items + bytes).
    package func compacted(keeping kept: KeptMembers = KeptMembers()) -> Columns {
        withView { view in
            let keepsAll = kept.areAll
            let long = keepsAll ? longContents(view) : [:]
            let copied = text.count - text.garbageBytes - long.values.reduce(0) { $0 + $1.count }
            var buffer = TokenBuffer(capacity: max(0, copied) + JSONScanner.padding)
            var (nodes, payloads, sections, list) = (nodes, payloads, sections, list)
            if list.count > 0 {
                let content = view.listContent
                list = buffer.append { $0.append(content, keeping: kept.list) }.map(ListContent.init) ?? ListContent()
            }
            for section in sections.indices {
                let content = view.content(ofSection: section)
                sections[section].idStart = UInt32(truncatingIfNeeded: buffer.append(view.id(ofSection: section)))
                if sections[section].flags.contains(.hasContent) {
                    sections[section].setContent(buffer.append { $0.append(content, keeping: kept.sections) })
                }
            }
            for item in nodes.indices {
                let node = nodes[item]
                var inside: Int?
                if node.flags.contains(.hasContent), long[item] == nil {
                    let content = view.content(ofItem: item)
                    if let range = buffer.append(writing: { $0.append(content, keeping: kept.items) }) {
                        payloads[item].setContent(range.lowerBound, range.count)
                        if keepsAll { inside = view.idOffset(inContentOf: item).map { range.lowerBound + $0 } }
                    } else {
                        payloads[item].setContent(0, 0)
                        nodes[item].flags.remove(.hasContent)
                    }
                }
                if node.flags.contains(.hasKind) {
                    let start = buffer.append(value: view.kind(ofItem: item))
                    payloads[item].kindStart = UInt32(truncatingIfNeeded: start)
                }
                nodes[item].idStart = UInt32(truncatingIfNeeded: inside ?? buffer.append(view.id(ofItem: item)))
            }
            var text = TextRope((consume buffer).padded())
            for (item, value) in long {
                payloads[item].contentStart = UInt32(truncatingIfNeeded: text.count)
                text = text.appending(value)
            }
            return Columns(
                text: text, list: list, nodes: nodes, sections: sections, payloads: payloads, itemTable: itemTable,
                sectionTable: sectionTable, rowOfItem: rowOfItem, itemOfRow: itemOfRow, childCounts: childCounts,
                contextAncestors: contextAncestors, grown: keepsAll ? grown : [:])
        }
    }
}
