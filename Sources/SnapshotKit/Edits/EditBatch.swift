/// Edits, applied in order, all or none, by `Snapshot.applying(_:limits:)`. A batch is read without a state, so that a
/// malformed one is refused before a state is looked up.
public struct EditBatch: Sendable {
    /// The document that the batch was in; all ranges are ranges of it.
    let bytes: [UInt8]
    private let range: Range<Int>
    let pointer: String
    let idOffsets: IDOffsets
    let edits: [Edit]
    /// Inserted items with their subtrees, including those of inserted sections.
    let nodes: [Node]
    let payloads: [Payload]
    /// Inserted sections. For items that any other edit inserts, a section without an id.
    let sections: [SectionNode]
    /// Which of them the batch says are expanded; known if a shape is, which contents may contradict.
    let mentioned: Set<RecordIndex>
    let shapes: ElementShapes
    /// What is wrong with the batch by itself.
    fileprivate var faults: [Violation] = []
    let ids: [EditID]
    let updates: [EditUpdate]
    let additions: [EditAddition]
    /// Find the first node, or section, with an id.
    let nodeTable: IDTable
    let sectionTable: IDTable
    /// For each section, then each node, the index in this list of the first one with the same id.
    let firsts: [Int32]

    /// The number of edits.
    public var count: Int { edits.count }

    /// The operations among them. O(edits).
    public var operations: Set<EditOperation> { Set(edits.map(\.operation)) }

    /// Whether an edit adds or appends to what is there, so that the batch applied twice does more than once.
    public var accumulates: Bool { !additions.isEmpty }

    /// Reads the value of a body's `edits`. O(bytes).
    ///
    /// - Parameters:
    ///   - shape: reads `elements`; nil or native if there is none.
    ///   - pointer: where the value is in the body; violations point below it.
    /// - Throws: `EditError.wrongShape`, and `.limitExceeded` for too many edits.
    public init(
        _ slice: JSONSlice, shape: StateShape? = nil, limits: StateLimits = StateLimits(), pointer: String = "/edits"
    ) throws(EditError) {
        try self.init(slice.bytes, slice.range, ElementShapes(all: shape), limits: limits, pointer: pointer)
    }

    /// The same for a list whose sections have shapes of their own. Without `shape`, elements are read by that of the
    /// section that they go into.
    package init(
        _ slice: JSONSlice, shape: StateShape?, ofSections sections: SectionShapes, limits: StateLimits
    ) throws(EditError) {
        let shapes = ElementShapes(all: shape, sections: sections)
        try self.init(slice.bytes, slice.range, shapes, limits: limits, pointer: "/edits")
    }

    /// Reads an array of edits. O(bytes).
    ///
    /// - Parameter shape: reads `elements`; nil or native if there is none.
    /// - Throws: `EditError.json`, `.wrongShape`, and `.limitExceeded` for too many edits.
    public init(
        json: consuming [UInt8], shape: StateShape? = nil, limits: StateLimits = StateLimits()
    ) throws(EditError) {
        let count = json.count
        json.append(contentsOf: JSONScanner.zeros)
        try self.init(json, 0..<count, ElementShapes(all: shape), limits: limits, pointer: "")
    }

    /// Reads an array of edits from JSON text.
    public init(json: String, shape: StateShape? = nil, limits: StateLimits = StateLimits()) throws(EditError) {
        try self.init(json: Array(json.utf8), shape: shape, limits: limits)
    }

    private init(
        _ bytes: [UInt8], _ range: Range<Int>, _ shapes: ElementShapes, limits: StateLimits, pointer: String
    ) throws(EditError) {
        try self.init(reading: bytes, range, shapes, limits: limits, pointer: pointer)
        if !faults.isEmpty { throw .wrongShape(faults) }
    }

    /// The batch, whatever is wrong with it.
    private init(
        reading bytes: [UInt8], _ range: Range<Int>, _ shapes: ElementShapes, limits: StateLimits, pointer: String
    ) throws(EditError) {
        let (read, faults) = try bytes.withUnsafeBufferPointer { (text) throws(EditError) in
            let read = try EditParser(text, range, shapes, limits: limits, pointer: pointer)
            try read.checkLimits()
            return (read, read.violations)
        }
        var builder = read.reader.builder
        let tail = read.reader.store.bytes
        let bytes = tail.isEmpty ? bytes : bytes + tail + JSONScanner.zeros
        let sectionCount = builder.sections.count
        var firsts = Array(0..<Int32(truncatingIfNeeded: sectionCount + builder.nodes.count))
        let tables = builder.tables(TextRope(bytes))
        for duplicate in tables.duplicates {
            let start = duplicate.isSection ? 0 : sectionCount
            firsts[start + duplicate.later] = Int32(truncatingIfNeeded: start + duplicate.first)
        }
        (nodeTable, sectionTable) = (tables.items, tables.sections)
        (self.bytes, self.range, self.pointer, self.firsts) = (bytes, range, pointer, firsts)
        (idOffsets, mentioned, self.shapes) = (read.reader.idOffsets, read.reader.mentioned ?? [], read.shapes)
        (edits, ids, updates, additions) = (read.edits, read.ids, read.updates, read.additions)
        (nodes, sections, payloads) = (builder.nodes, builder.sections, builder.payloads)
        self.faults = faults
    }

    func place(of id: EditID, levelsUp: Int = 0) -> DocumentPlace {
        DocumentPlace(idOffsets[Int(id.start)], levelsUp: levelsUp)
    }

    func pointer(toEdit index: Int) -> String {
        let place = DocumentPlace(edits[index].offset)
        return bytes.withUnsafeBytes {
            DocumentPointers.pointer(to: place, in: $0.baseAddress!, from: range.lowerBound, root: pointer)
        }
    }
}

/// The shapes that read the elements of a batch.
struct ElementShapes: Sendable {
    /// Reads all of them; nil if sections have their own, or if there is none.
    var all: StateShape?
    var sections: SectionShapes = [:]
    /// By which section's shape the elements of an edit are read, and how often it has turned out to be another one.
    var targets: [Int: [UInt8]] = [:]
    fileprivate var corrections = 0

    /// Whether elements are read by the shape of the section that they go into.
    var areOfSections: Bool { all == nil && !sections.isEmpty }
    /// Whether the sections may be corrected once more: each time, the batch is read again.
    var areCorrectable: Bool { corrections < 8 }
}

/// Why a batch of edits was refused. In any case, nothing of the batch was applied.
public enum EditError: Error, Equatable, Sendable {
    /// The text is not JSON.
    case json(JSONError)
    /// The batch is JSON, but breaks a rule that can be checked without a state: every violation found.
    case wrongShape([Violation])
    /// Edits do not fit the state left by the previous edits: every violation, but for those that may only follow from
    /// another.
    ///
    /// Codes: `duplicate-id`, `unknown-id`, `ambiguous-id`, `anchor-not-found`, `anchor-in-batch`, `no-section`,
    /// `cycle`, `not-a-number`, `not-a-string`, `limit-exceeded`; and where a shape is followed `id-changed`,
    /// `wrong-shape`.
    case refused([Violation])
    /// The batch, or the state it would make, is larger than the limit. `what` is a phrase such as "items".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)
}

/// What an edit does.
public enum EditOperation: String, CaseIterable, Sendable {
    case insert, delete, move, update, reload, reconfigure, expand, collapse, clear

    /// Whether the operands are put somewhere, so that an edit may say where.
    var takesPosition: Bool { self == .insert || self == .move }
}

/// One edit of a batch, as read. Ids, contents and kinds are ranges of the batch's bytes.
struct Edit {
    /// What the operands are.
    enum Subject: String { case items, sections }

    /// A value of `at`.
    enum End: String, CaseIterable { case start, end }

    /// Where it is in the batch's document.
    let offset: Int
    var operation: EditOperation
    /// Whether part of it was not understood. Such a batch is only applied to find what else is wrong.
    var isUnclear = false
    /// Nil for a `clear` without operands, which means all sections.
    var subject: Subject?
    /// Whether the operands were read by a shape.
    var isOfElements = false
    /// Whether it says where the operands are put; the end of all is no more than the default.
    var hasTarget = false
    /// Indexes into the batch: into its nodes or sections for `insert`, its updates for `update`, else its ids.
    var operands = 0..<0
    var destination = Destination.at(.end)

    /// Where the operands are put.
    enum Destination {
        /// The start or the end: of the sections; for items, of the first or the last section.
        case at(End)
        case beside(Anchors)
        case into(Parent, End)
    }

    /// The siblings to choose from: the first one that exists gives the position.
    struct Anchors {
        enum Side: String { case before, after }

        let side: Side
        /// Indexes into the batch's ids.
        let ids: Range<Int>
        /// Whether they are a list, in which those that the edit itself puts are skipped.
        var isList = false
        /// Whether the list ends with null: the end for `before`, the start for `after`.
        var endsOpen = false
    }

    /// The parent that items are put into.
    struct Parent {
        let id: EditID
        /// Whether a section or an item has the id; nil if either may.
        let subject: Subject?
    }
}

/// An id in the batch's bytes.
struct EditID {
    var start: UInt32 = 0
    var count: UInt16 = 0
    var hash: UInt32 = 0
}

extension EditID {
    init(_ record: some IdentifiedRecord) { self.init(start: record.idStart, count: record.idCount, hash: record.hash) }
}

/// What an `update` changes about one item or section; nil for what stays as it is.
struct EditUpdate {
    var id = EditID()
    var content: Range<UInt32>?
    /// A merge patch of the content (RFC 7396).
    var patch: Range<UInt32>?
    /// Indexes into the batch: what is added to numbers in the content, after the patch.
    var additions = 0..<0
    /// The same: what is put behind strings in it, after those.
    var appends = 0..<0
    /// The position of the kind's quote.
    var kindStart: UInt32?
    var isExpanded: Bool?

    /// Whether the content is changed by what it is then.
    var hasIntents: Bool { patch != nil || !additions.isEmpty || !appends.isEmpty }
}

/// What an `update` adds to a value in a content.
struct EditAddition {
    enum Addend {
        /// Added to a number.
        case amount(ExactDecimal)
        /// Put behind a string: where that text's quote is in the batch's bytes.
        case text(UInt32)
    }

    /// Where the addition is in the batch's document.
    let offset: Int
    /// Where the value's pointer is, as an array of its reference tokens.
    let path: UInt32
    let addend: Addend
}

extension Snapshot {
    /// The state after a batch of edits, applied in order, all or none.
    ///
    /// The remaining ids, contents and kinds stay as written. O(edits + their bytes), O(its bytes) each time that a
    /// content is patched, added to or appended to, and O(items) to copy about 36 bytes each.
    ///
    /// - Parameters:
    ///   - shape: that of the list's documents, if what it reads in contents follows the edits.
    ///   - keepsExpanded: whether what no longer says whether it is expanded stays as it is.
    ///   - sequence: of the write, with which the ids of elements without one begin.
    ///   - limits: bounds on the resulting state; intermediate states may be larger.
    /// - Returns: the new state, what to redraw though nothing changed, and what is known to be the same in both
    ///   states. Marks of rows that a later edit deleted are left out.
    /// - Throws: `EditError.refused` with all that is wrong, or `.limitExceeded`.
    public func applying(
        _ batch: EditBatch, following shape: StateShape? = nil, keepsExpanded: Bool = false, sequence: UInt64 = 0,
        limits: StateLimits = StateLimits()
    ) throws(EditError) -> (snapshot: Snapshot, marks: Marks, shared: SharedRuns?) {
        try columns.withView { (view) throws(EditError) in
            try batch.applied(to: view, shape, keepsExpanded, sequence, limits) { (state, faults) throws(EditError) in
                guard faults.isEmpty else { throw state.batch.faults.isEmpty ? .refused(faults) : .wrongShape(faults) }
                guard state.tree.isTouched || state.ungroupsSections else { return (self, state.finalMarks(), nil) }
                var writer = EditedStateWriter(state)
                let shared = try writer.write()
                return (Snapshot(shared.new), state.finalMarks(), shared)
            }
        }
    }
}

extension EditBatch {
    /// Applies all edits, and hands over the result with all that is wrong. Where a section's elements go may depend
    /// on other edits; if they were read by another section's shape, the batch is read again.
    fileprivate func applied<Result>(
        to view: ColumnsView, _ shape: StateShape?, _ keepsExpanded: Bool, _ sequence: UInt64, _ limits: StateLimits,
        _ body: (EditedState, [Violation]) throws(EditError) -> Result
    ) throws(EditError) -> Result {
        try bytes.withUnsafeBufferPointer { (bytes) throws(EditError) in
            var state = EditedState(
                view, self, UnsafeRawPointer(bytes.baseAddress!), limits, shape, keepsExpanded: keepsExpanded, sequence)
            let violations = state.applyAll()
            guard state.misread.isEmpty else {
                var shapes = shapes
                shapes.targets.merge(state.misread) { $1 }
                shapes.corrections += 1
                return try EditBatch(reading: self.bytes, range, shapes, limits: limits, pointer: pointer)
                    .applied(to: view, shape, keepsExpanded, sequence, limits, body)
            }
            let refused = violations.reported(in: state.bytes, from: range.lowerBound, root: pointer)
            return try body(state, faults.isEmpty ? refused : inOrder(faults + refused, limits))
        }
    }

    private func inOrder(_ violations: [Violation], _ limits: StateLimits) -> [Violation] {
        let edit = { (violation: Violation) in
            Int(violation.pointer.dropFirst(pointer.count + 1).prefix { $0 != "/" }) ?? -1
        }
        // The sort is stable.
        let all = violations.map { (edit: edit($0), $0) }.sorted { $0.edit < $1.edit }.map(\.1)
        return Array(all.prefix(limits.maxViolations))
    }

    /// What is wrong with a batch that was refused without a state, in the order of its edits: also what a state
    /// refuses. O(bytes), and as much as applying it.
    ///
    /// - Parameter permitted: operations; if the batch has another, the state is not asked. Nil for all.
    package static func violations(
        in slice: JSONSlice, on snapshot: Snapshot, shape: StateShape? = nil, ofSections sections: SectionShapes = [:],
        following followed: StateShape? = nil, keepsExpanded: Bool = false, sequence: UInt64 = 0, limits: StateLimits,
        permitted: Set<EditOperation>?, pointer: String = "/edits"
    ) throws(EditError) -> [Violation] {
        let shapes = ElementShapes(all: shape, sections: sections)
        let batch = try EditBatch(reading: slice.bytes, slice.range, shapes, limits: limits, pointer: pointer)
        if let permitted, !batch.operations.isSubset(of: permitted) { return batch.faults }
        return try snapshot.columns.withView { (view) throws(EditError) in
            try batch.applied(to: view, followed, keepsExpanded, sequence, limits) { $1 }
        }
    }
}
