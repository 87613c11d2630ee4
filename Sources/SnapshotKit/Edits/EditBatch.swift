/// Edits, applied in order, all or none.
///
/// A batch is read without a state, so that a malformed one is refused before a state is looked up.
/// `Snapshot.applying(_:limits:)` applies it.
public struct EditBatch: Sendable {
    /// The document that the batch was in; all ranges are ranges of it.
    let bytes: [UInt8]
    /// Where the batch starts in that document, and the pointer to it.
    let start: Int
    let pointer: String
    let origins: IDOrigins
    let edits: [Edit]
    /// Inserted items with their subtrees, including those of inserted sections.
    let nodes: [Node]
    let payloads: [Payload]
    /// Inserted sections. For items that any other edit inserts, a section without an id.
    let sections: [SectionNode]
    let ids: [EditID]
    let updates: [EditUpdate]
    let additions: [EditAddition]
    /// Finds the first node, or section, with an id.
    let nodeTable: IDTable
    let sectionTable: IDTable
    /// For each section, then each node, the index in this list of the first one with the same id.
    let firsts: [Int32]

    /// The number of edits.
    public var count: Int { edits.count }

    /// The operations among them. O(edits).
    public var operations: Set<EditOperation> { Set(edits.map(\.operation)) }

    /// Whether an edit adds to what is there, so that the batch applied twice does more than once.
    public var accumulates: Bool { !additions.isEmpty }

    /// Reads the value of a body's `edits`. O(bytes).
    ///
    /// - Parameter pointer: where the value is in the body; violations point below it.
    /// - Throws: `EditError.wrongShape`, and `.limitExceeded` for too many edits.
    public init(_ slice: JSONSlice, limits: StateLimits = StateLimits(), pointer: String = "/edits") throws(EditError) {
        try self.init(
            bytes: slice.bytes, range: slice.range, depth: pointer.isEmpty ? 0 : 1, limits: limits, pointer: pointer)
    }

    /// Reads an array of edits. O(bytes).
    ///
    /// - Throws: `EditError.json`, `.wrongShape`, and `.limitExceeded` for too many edits.
    public init(json: consuming [UInt8], limits: StateLimits = StateLimits()) throws(EditError) {
        let count = json.count
        json.append(contentsOf: JSONScanner.zeros)
        try self.init(bytes: json, range: 0..<count, depth: 0, limits: limits, pointer: "")
    }

    /// Reads an array of edits from JSON text.
    public init(json: String, limits: StateLimits = StateLimits()) throws(EditError) {
        try self.init(json: Array(json.utf8), limits: limits)
    }

    private init(
        bytes: [UInt8], range: Range<Int>, depth: Int, limits: StateLimits, pointer: String
    ) throws(EditError) {
        let read = try bytes.withUnsafeBufferPointer { (text) throws(EditError) -> EditParser in
            let reader = try EditParser(text, range, depth: depth, limits: limits, pointer: pointer)
            try reader.check()
            return reader
        }
        self.init(read, bytes, range, pointer)
    }

    /// The batch that was read.
    private init(_ read: EditParser, _ bytes: [UInt8], _ range: Range<Int>, _ pointer: String) {
        var builder = read.reader.builder
        let tail = read.reader.store.bytes
        let bytes = tail.isEmpty ? bytes : bytes + tail + JSONScanner.zeros
        let sectionCount = builder.sections.count
        var firsts = Array(0..<Int32(truncatingIfNeeded: sectionCount + builder.nodes.count))
        (nodeTable, sectionTable) = builder.tables(StateText(bytes)) { duplicate in
            let start = duplicate.isSection ? 0 : sectionCount
            firsts[start + duplicate.later] = Int32(truncatingIfNeeded: start + duplicate.first)
        }
        (self.bytes, start, self.pointer, self.firsts) = (bytes, range.lowerBound, pointer, firsts)
        origins = read.reader.origins
        (edits, ids, updates, additions) = (read.edits, read.ids, read.updates, read.additions)
        (nodes, sections, payloads) = (builder.nodes, builder.sections, builder.payloads)
    }
}

extension EditBatch {
    /// Where an id is written.
    func place(of id: EditID, levelsUp: Int = 0) -> DocumentPlace {
        DocumentPlace(origins[Int(id.start)], levelsUp: levelsUp)
    }

    /// The pointer to an edit.
    func pointer(toEdit index: Int) -> String {
        bytes.withUnsafeBytes {
            DocumentPointers.pointers(
                to: [DocumentPlace(edits[index].offset)], in: $0.baseAddress!, from: start, root: pointer)[0] ?? ""
        }
    }
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
    /// `cycle`, `not-a-number`, `limit-exceeded`.
    case refused([Violation])
    /// The batch, or the state it would make, is larger than the limit. `what` is a phrase such as "items".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)
}

// MARK: - Edits
//
// An edit as read: what to do, to what, and where. Ids, contents and kinds are ranges of the batch's bytes.

/// What an edit does.
public enum EditOperation: String, CaseIterable, Sendable {
    case insert, delete, move, update, reload, reconfigure, expand, collapse, clear

    /// Whether the operands are put somewhere, so that an edit may say where.
    var places: Bool { self == .insert || self == .move }
}

/// One edit of a batch.
struct Edit {
    typealias Operation = EditOperation

    /// What the operands are.
    enum Subject: String {
        case items, sections
    }

    /// A value of `at`.
    enum End: String, CaseIterable {
        case start, end
    }

    /// Where it is in the batch's document.
    let offset: Int
    var operation: Operation
    /// Whether part of it was not understood. Such a batch is only applied to find what else is wrong.
    var isUnclear = false
    /// Nil for a `clear` without operands, which means all sections.
    var subject: Subject?
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

    /// The siblings to choose from: the first one that exists gives the place.
    struct Anchors {
        enum Side: String {
            case before, after
        }

        let side: Side
        /// Indexes into the batch's ids.
        let ids: Range<Int>
        /// Whether they are a list, in which those that the edit itself places are skipped.
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
    var start: UInt32
    var count: UInt16
    var hash: UInt32
}

extension EditID {
    /// The id of a record of the batch.
    init(_ record: some IdentifiedRecord) {
        self.init(start: record.idStart, count: record.idCount, hash: record.hash)
    }
}

/// What an `update` changes about one item or section; nil for what stays as it is.
struct EditUpdate {
    var id: EditID
    var content: Range<UInt32>?
    /// A merge patch of the content (RFC 7396).
    var patch: Range<UInt32>?
    /// Indexes into the batch: what is added to numbers in the content, after the patch.
    var additions = 0..<0
    /// The position of the kind's quote.
    var kindStart: UInt32?
    var isExpanded: Bool?
}

/// What an `update` adds to a number.
struct EditAddition {
    /// Where the addition is in the batch's document.
    let offset: Int
    /// Where the number's pointer is, as an array of its reference tokens.
    let path: UInt32
    let amount: ExactDecimal
}

// MARK: - Applying a batch

extension Snapshot {
    /// The state after a batch of edits, applied in order, all or none.
    ///
    /// The remaining ids, contents and kinds stay as written. O(edits + their bytes), O(its bytes) each time that a
    /// content is patched or added to, and O(items) to copy about 36 bytes each.
    ///
    /// - Parameter limits: bounds on the resulting state; intermediate states may be larger.
    /// - Returns: the new state, what to redraw though nothing changed, and what is known to be the same in both
    ///   states. Marks of rows that a later edit deleted are left out.
    /// - Throws: `EditError.refused` with all that is wrong, or `.limitExceeded`.
    public func applying(
        _ batch: EditBatch, limits: StateLimits = StateLimits()
    ) throws(EditError) -> (snapshot: Snapshot, marks: Marks, reused: Kinship?) {
        try columns.withView { (view) throws(EditError) in
            try batch.bytes.withUnsafeBufferPointer { (bytes) throws(EditError) in
                var state = EditedState(view, batch, UnsafeRawPointer(bytes.baseAddress!), limits)
                let violations = state.applyAll(limit: limits.maxViolations)
                guard violations.isEmpty else {
                    throw .refused(violations.reported(in: state.bytes, from: batch.start, root: batch.pointer))
                }
                guard state.isTouched else { return (self, state.finalMarks(), nil) }
                var writer = EditedStateWriter(state, limits: limits)
                let (snapshot, reused) = try writer.write()
                return (snapshot, state.finalMarks(), reused)
            }
        }
    }
}

// MARK: - All that is wrong

extension EditBatch {
    /// What is wrong with a batch that was refused without a state, in the order of its edits: also what a state
    /// refuses. O(bytes), and as much as applying it.
    ///
    /// - Parameter permitted: operations; if the batch has another, the state is not asked. Nil for all.
    package static func violations(
        in slice: JSONSlice, on snapshot: Snapshot, limits: StateLimits, permitted: Set<EditOperation>?,
        pointer: String = "/edits"
    ) throws(EditError) -> [Violation] {
        let (batch, unread) = try slice.bytes.withUnsafeBufferPointer { (text) throws(EditError) in
            let reader = try EditParser(text, slice.range, depth: 1, limits: limits, pointer: pointer)
            return (EditBatch(reader, slice.bytes, slice.range, pointer), reader.violations)
        }
        if let permitted, !batch.operations.isSubset(of: permitted) { return unread }
        let refused = snapshot.columns.withView { view in
            batch.bytes.withUnsafeBufferPointer { bytes in
                var state = EditedState(view, batch, UnsafeRawPointer(bytes.baseAddress!), limits)
                let violations = state.applyAll(limit: limits.maxViolations)
                return violations.reported(in: state.bytes, from: batch.start, root: pointer)
            }
        }
        let edit = { (violation: Violation) in
            Int(violation.pointer.dropFirst(pointer.count + 1).prefix { $0 != "/" }) ?? -1
        }
        // The sort is stable.
        let all = (unread + refused).map { (edit: edit($0), $0) }.sorted { $0.edit < $1.edit }.map(\.1)
        return Array(all.prefix(limits.maxViolations))
    }
}
