// A state as columns over its text. Every item is a `Node` of 24 bytes in document order (depth first), so that
// a subtree is a contiguous run and "the next sibling" is one addition; what an item shows is a range of the text in a
// column beside it. Nothing is allocated per item, copying a state is one reference, and a diff reads memory in
// order.
//
// Invariants: sections cover the nodes without gaps, in order; node.end > its index; a child's parent stands before it;
// ranges lie within the text, of which each stretch ends with at least `JSONScanner.padding` zero bytes; ids are
// unique.
//
// Rejected: the text of ids in a dictionary (40 times the cost, FNV or not, and Swift's String == is canonical
// equivalence, not bytes); a tree of objects (an allocation an item); re-encoding contents (number tokens must
// survive).

/// What has an id: where its text stands in the buffer, and its hash.
protocol IdentifiedRecord {
    var idStart: UInt32 { get }
    var idCount: UInt16 { get }
    var hash: UInt32 { get set }
}

extension IdentifiedRecord {
    /// Whether both ids have the same bytes; `ours` and `theirs` are the texts they stand in.
    @inline(__always)
    func hasSameID(as other: Self, _ ours: TextView, _ theirs: TextView) -> Bool {
        hash == other.hash && idCount == other.idCount
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }
}

/// One item: its id, and where it stands in the structure.
struct Node: IdentifiedRecord {
    /// Where the text of the id starts, behind its quote.
    var idStart: UInt32 = 0
    var idCount: UInt16 = 0
    /// Ancestors within the section.
    var level: UInt8 = 0
    var flags: NodeFlags = []
    /// Of the id's text, by the process's hash.
    var hash: UInt32 = 0
    var section: UInt32 = 0
    /// Index of the parent's node; -1 at the root of a section.
    var parent: Int32 = -1
    /// Index behind the last descendant.
    var end: UInt32 = 0
}

extension Node {
    @inline(__always)
    mutating func setID(_ start: Int, _ count: Int, _ flags: NodeFlags) {
        idStart = UInt32(truncatingIfNeeded: start)
        idCount = UInt16(truncatingIfNeeded: count)
        self.flags.formUnion(flags)
    }
}

extension Node {
    /// Takes it to another place of another list, whose text stands `shift` bytes further on.
    @inline(__always)
    mutating func move(by moved: Int, section: UInt32, shiftedBy shift: Int) {
        idStart = UInt32(truncatingIfNeeded: Int(idStart) + shift)
        self.section = section
        if parent >= 0 { parent += Int32(truncatingIfNeeded: moved) }
        end = UInt32(truncatingIfNeeded: Int(end) + moved)
        flags.remove(.isHidden)
    }
}

/// What a node is, besides its numbers.
struct NodeFlags: OptionSet {
    let rawValue: UInt8
    /// The id was written as a number: its token is its text.
    static let integerID = NodeFlags(rawValue: 1)
    /// The id was written with escapes: its token stands before its text, see `TokenBuffer`.
    static let escapedID = NodeFlags(rawValue: 2)
    static let hasContent = NodeFlags(rawValue: 4)
    static let hasKind = NodeFlags(rawValue: 8)
    static let isCollapsed = NodeFlags(rawValue: 16)
    /// Below a collapsed section or item: no row.
    static let isHidden = NodeFlags(rawValue: 32)
    /// Written as its id alone, without an object around it.
    static let isBare = NodeFlags(rawValue: 64)

    /// What an update can change, other than by content or kind.
    static let shown: NodeFlags = [.hasContent, .hasKind, .isCollapsed]
}

/// What an item shows: ranges of the buffer. The kind's length is that of the JSON string at its start.
struct Payload {
    var contentStart: UInt32 = 0
    var contentCount: UInt32 = 0
    /// Where the kind's quote stands.
    var kindStart: UInt32 = 0
}

extension Payload {
    @inline(__always)
    mutating func setContent(_ start: Int, _ count: Int) {
        contentStart = UInt32(truncatingIfNeeded: start)
        contentCount = UInt32(truncatingIfNeeded: count)
    }
}

extension Payload {
    /// Has what is there start `shift` bytes further on.
    @inline(__always)
    mutating func shift(by shift: Int, _ flags: NodeFlags) {
        if flags.contains(.hasContent) { contentStart = UInt32(truncatingIfNeeded: Int(contentStart) + shift) }
        if flags.contains(.hasKind) { kindStart = UInt32(truncatingIfNeeded: Int(kindStart) + shift) }
    }
}

/// One section.
struct SectionNode: IdentifiedRecord {
    var idStart: UInt32 = 0
    var idCount: UInt16 = 0
    var flags: NodeFlags = []
    var hash: UInt32 = 0
    var contentStart: UInt32 = 0
    var contentCount: UInt32 = 0
    var firstItem: UInt32 = 0
    var endItem: UInt32 = 0
    var firstRow: UInt32 = 0
    var endRow: UInt32 = 0
}

extension SectionNode {
    /// A section with the id, the flags and the content of an item.
    init(_ item: (node: Node, payload: Payload)) {
        (flags, idStart, idCount, hash) = (item.node.flags, item.node.idStart, item.node.idCount, item.node.hash)
        (contentStart, contentCount) = (item.payload.contentStart, item.payload.contentCount)
    }

    /// The section as an item, so that what both have is changed in one way.
    var asItem: (node: Node, payload: Payload) {
        (
            Node(idStart: idStart, idCount: idCount, flags: flags, hash: hash),
            Payload(contentStart: contentStart, contentCount: contentCount)
        )
    }
}

extension BidirectionalCollection where Element == SectionNode {
    /// Rows of all of them.
    var rowCount: Int { last.map { Int($0.endRow) } ?? 0 }
}

/// Where the list's own content stands in the text; empty where it has none.
struct ListContent: Equatable {
    var start: UInt32 = 0
    var count: UInt32 = 0
}

extension ListContent {
    init(_ range: Range<Int>) {
        self.init(
            start: UInt32(truncatingIfNeeded: range.lowerBound), count: UInt32(truncatingIfNeeded: range.count))
    }
}

/// Hashes in place of an item's content and kind; zero where there is none.
struct Fingerprint: Equatable {
    /// Two halves, so that the record has no gap.
    var contentLow: UInt32 = 0
    var contentHigh: UInt32 = 0
    var kind: UInt32 = 0

    var content: UInt64 {
        get { UInt64(contentHigh) << 32 | UInt64(contentLow) }
        set { (contentLow, contentHigh) = (UInt32(truncatingIfNeeded: newValue), UInt32(newValue >> 32)) }
    }
}

/// Where the items of the top level stood in the document that a state was read from: in two that stood at the same
/// place the same bytes mean the same.
struct ElementPlace: Sendable, Equatable {
    /// Arrays and objects that may still be nested in an item, by the limits of its reading.
    var room: Int
    /// How an element is read that is an item's content, if it is.
    var shape = StateShape.native
    /// Whether kinds stand behind the document, which has them as numbers.
    var hasStoredKinds = false
    /// Whether some of what the document says nothing of is as it was in the state before, see `SaidExpanded`.
    var hasKept = false

    /// Of a state that was not read from one document.
    static let nowhere = ElementPlace(room: .max)
}

/// The columns of one state, immutable.
final class Columns: Sendable {
    let text: StateText
    let list: ListContent
    let nodes: [Node]
    let sections: [SectionNode]
    /// Empty where no item has a content or a kind.
    let payloads: [Payload]
    /// Both empty in a past state that was made again: a base is looked up from, seldom in.
    let itemTable: IDTable
    let sectionTable: IDTable
    /// Row of each item or -1, and item of each row. Both empty where every item is a row.
    let rowOfItem: [Int32]
    let itemOfRow: [UInt32]
    /// Of each item, its children, where a window shows some of them only; else empty: the nodes say it.
    let childCounts: [UInt32]
    /// Items at the start that are no rows, since they stand before a window: ancestors of its first row.
    let outsiders: Int
    let place: ElementPlace
    /// Whether no item is below another and each id stands in the text as it was written, so that ids that were read
    /// stand in ascending order.
    let isFlat: Bool
    let structure: StructureID

    init(
        text: StateText, list: ListContent = ListContent(), nodes: [Node], sections: [SectionNode],
        payloads: [Payload] = [],
        itemTable: IDTable = .empty, sectionTable: IDTable = .empty, rowOfItem: [Int32] = [], itemOfRow: [UInt32] = [],
        childCounts: [UInt32] = [], outsiders: Int = 0,
        place: ElementPlace = .nowhere, isFlat: Bool = false, structure: StructureID = StructureID()
    ) {
        self.text = text
        self.list = list
        self.nodes = nodes
        self.sections = sections
        self.payloads = payloads
        self.itemTable = itemTable
        self.sectionTable = sectionTable
        self.rowOfItem = rowOfItem
        self.itemOfRow = itemOfRow
        self.childCounts = childCounts
        self.outsiders = outsiders
        self.place = place
        self.isFlat = isFlat
        self.structure = structure
    }

    var rowCount: Int { sections.rowCount }

    /// Whether any item or section is collapsed. O(1), and O(sections) where all items are rows.
    var hasCollapsed: Bool { !rowOfItem.isEmpty || sections.contains { $0.flags.contains(.isCollapsed) } }

    /// Memory held, in bytes.
    var footprint: Int {
        text.footprint + nodes.capacity * MemoryLayout<Node>.stride
            + payloads.capacity * MemoryLayout<Payload>.stride
            + sections.capacity * MemoryLayout<SectionNode>.stride + itemTable.footprint + sectionTable.footprint
            + (rowOfItem.capacity + itemOfRow.capacity + childCounts.capacity) * 4
    }

    /// Calls `body` with the columns as memory, which is valid for that long.
    @inline(__always)
    func withView<Result, Failure: Error>(_ body: (ColumnsView) throws(Failure) -> Result) throws(Failure) -> Result {
        try text.withView { (text) throws(Failure) in
            try nodes.withUnsafeBufferPointer { (nodes) throws(Failure) in
                try sections.withUnsafeBufferPointer { (sections) throws(Failure) in
                    try payloads.withUnsafeBufferPointer { (payloads) throws(Failure) in
                        try rowOfItem.withUnsafeBufferPointer { (rowOfItem) throws(Failure) in
                            try itemOfRow.withUnsafeBufferPointer { (itemOfRow) throws(Failure) in
                                try body(
                                    ColumnsView(
                                        columns: self, text: text, nodes: nodes,
                                        sections: sections, payloads: payloads, rowOfItem: rowOfItem,
                                        itemOfRow: itemOfRow))
                            }
                        }
                    }
                }
            }
        }
    }
}
