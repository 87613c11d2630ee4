/// Edits, applied in order, all or none.
///
/// A batch is read without a state, so that a malformed one is refused before a state is looked up.
/// `Snapshot.applying(_:limits:)` applies it.
public struct EditBatch: Sendable {
    /// The document that the batch stood in; all ranges are ranges of it.
    let bytes: [UInt8]
    /// Pointer to the batch in that document.
    let pointer: String
    let edits: [Edit]
    /// What is to be inserted: items with their subtrees, those of inserted sections among them.
    let nodes: [Node]
    let payloads: [Payload]
    /// Inserted sections are elements of this; so is a nameless one for the items of each other edit that inserts.
    let sections: [SectionNode]
    let ids: [EditID]
    let updates: [EditUpdate]
    /// Finds, of all nodes with an id, the first.
    let nodeTable: IDTable
    let sectionTable: IDTable
    /// Of each node, and each section, the first one with the same id.
    let firstNode: [Int32]
    let firstSection: [Int32]

    /// The number of edits.
    public var count: Int { edits.count }

    /// The operations among them. O(edits).
    public var operations: Set<EditOperation> { Set(edits.map(\.operation)) }

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
        var read = try bytes.withUnsafeBufferPointer { (text) throws(EditError) -> EditReader.Batch in
            var reader = EditReader(
                base: UnsafeRawPointer(text.baseAddress!), range: range, tail: text.count, limits: limits,
                pointer: pointer)
            do throws(JSONError) { try reader.read(depth: depth) } catch { throw .json(error) }
            try reader.check()
            return reader.result()
        }
        let bytes = read.tail.isEmpty ? bytes : bytes + read.tail + JSONScanner.zeros
        var firstNode = (0..<Int32(truncatingIfNeeded: read.builder.nodes.count)).map { $0 }
        var firstSection = (0..<Int32(truncatingIfNeeded: read.builder.sections.count)).map { $0 }
        (nodeTable, sectionTable) = read.builder.tables(StateText(bytes)) { duplicate in
            let first = Int32(truncatingIfNeeded: duplicate.first)
            if duplicate.isSection {
                firstSection[duplicate.later] = first
            } else {
                firstNode[duplicate.later] = first
            }
        }
        (self.bytes, self.pointer, self.firstNode, self.firstSection) = (bytes, pointer, firstNode, firstSection)
        (edits, ids, updates) = (read.edits, read.ids, read.updates)
        (nodes, sections, payloads) = (read.builder.nodes, read.builder.sections, read.builder.payloads)
    }
}

// MARK: Pointers

extension EditBatch {
    /// Pointer to an edit.
    func pointer(toEdit index: Int) -> String { "\(pointer)/\(index)" }

    /// Pointer to the id at the given place of an edit's operands.
    func pointer(toOperand ordinal: Int, ofEdit index: Int) -> String {
        let edit = edits[index]
        let member = edit.operation == .update ? "/id" : ""
        return "\(pointer(toEdit: index))/\((edit.subject ?? .items).rawValue)/\(ordinal)\(member)"
    }

    /// Pointer to the id of a section that an edit inserts.
    func pointer(toSection section: Int, ofEdit index: Int) -> String {
        "\(pointer(toEdit: index))/sections/\(section - edits[index].operands.lowerBound)/id"
    }

    /// Pointer to the id of an item that an edit inserts, at any depth; `ordinals` are those of the batch's nodes.
    /// O(levels).
    func pointer(toNode node: Int, ofEdit index: Int, _ ordinals: SiblingOrdinals) -> String {
        let edit = edits[index]
        var path = DocumentPointers(root: pointer(toEdit: index), items: "/items")
        if edit.subject == .sections {
            path.sections = "/sections"
            path.firstSection = edit.operands.lowerBound
        }
        return path.id(ofItem: node, nodes) { "\(ordinals[$0])" }
    }
}

/// Why a batch of edits was refused. In any case, nothing of the batch was applied.
public enum EditError: Error, Equatable, Sendable {
    /// The text is not JSON.
    case json(JSONError)
    /// The batch is JSON, but breaks a rule that can be checked without a state: every violation found.
    case wrongShape([Violation])
    /// An edit does not fit the state that the previous edits left: every violation of the first such edit.
    ///
    /// Codes: `duplicate-id`, `unknown-id`, `ambiguous-id`, `anchor-not-found`, `anchor-in-batch`, `no-section`,
    /// `cycle`.
    case refused([Violation])
    /// The batch, or the state it would make, is larger than the limit. `what` is a phrase such as "items".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)
}
