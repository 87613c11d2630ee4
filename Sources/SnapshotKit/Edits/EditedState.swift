/// A state being edited: both sources as memory, and the tree.
///
/// The sections and items of the state and of the batch are vertices of one tree, numbered once. So each operation is
/// written once for both, a move costs the same however large the subtree, and a batch costs O(edits) to work on; only
/// the columns of the resulting state are copied, as memory. Ids are found in the tables that the state and the batch
/// have already: a vertex counts only while it is in the tree.
///
/// Rejected: applying edits to the columns directly, which is O(n) per edit; laying the whole tree out, which is O(n)
/// at a hundred times the cost of copying it.
struct EditedState {
    let old: ColumnsView
    let batch: EditBatch
    let bytes: UnsafeRawPointer
    let limits: StateLimits
    var tree: EditedTree
    /// For the batch's sections or nodes with one id, the vertex last put into the tree, by `EditBatch.firsts`; -1 for
    /// none.
    private var current: [Int32]
    private(set) var overrides: [Int: Override] = [:]
    /// Bytes of the contents that intents made.
    var madeBytes = 0
    /// Bytes of contents that intents have read more than once, or in vain.
    var repeated = 0
    /// Whether intents were refused because they cost too much, which is reported once.
    var isExhausted = false
    /// The edit that put a vertex where it is.
    private var putBy: [Int: Int] = [:]
    /// Parents filled since everything was last cleared, so that clearing again costs only those; nil before that.
    private var filledSinceEmptied: [Int]?
    var index = 0
    var marks: [(subject: Edit.Subject, id: EditID, redraw: Marks.Redraw)] = []
    /// Vertices with a violation noted.
    var reported: Set<Int> = []
    /// What is not known since an edit was refused.
    var doubts = EditDoubts()

    /// Reads the contents of the list, which follows its shape; nil if it has none, or one for each section.
    let listReader: ShapeReader?
    let sectionReaders: SectionReaders
    /// Reads elements, unless those of sections do.
    let requestReader: ShapeReader?
    /// Edits whose elements were not read by the shape of their section, with that.
    var misread: [Int: [UInt8]] = [:]
    let keepsExpanded: Bool
    /// What was read in contents as they are now.
    var fields: [Int: (reader: ShapeReader, fields: ShapeFields)] = [:]
    /// Sections that groups have made, and ids given by them or to scoped elements.
    var madeSections = 0
    var givenIDs = GivenIDs()
    /// Those of elements without one.
    var newIDs: ElementIDs

    /// What edits replaced about a section or an item; nil for what they did not.
    struct Override {
        /// Where the content is in the batch.
        var content: Range<UInt32>?
        /// The content made of that, or of the state's; if the state's has only grown, how.
        var made: (text: JSONText, grown: GrownText?)?
        var kind: Kind?
        var isCollapsed: Bool?
    }

    /// The kind of an item, as a JSON string.
    enum Kind {
        case inBatch(UInt32)
        /// What a shape reads in the content; nil for none.
        case inContent([UInt8]?)
    }

    init(
        _ old: ColumnsView, _ batch: EditBatch, _ bytes: UnsafeRawPointer, _ limits: StateLimits, _ shape: StateShape?,
        keepsExpanded: Bool, _ sequence: UInt64
    ) {
        (self.keepsExpanded, newIDs) = (keepsExpanded, ElementIDs(sequence))
        (self.old, self.batch, self.bytes, self.limits) = (old, batch, bytes, limits)
        listReader = batch.shapes.sections.isEmpty ? ShapeReader(shape) : nil
        sectionReaders = SectionReaders(batch.shapes.sections)
        requestReader = batch.shapes.all == shape ? listReader : ShapeReader(batch.shapes.all)
        tree = EditedTree(old)
        current = [Int32](repeating: -1, count: batch.firsts.count)
    }

    var edit: Edit { batch.edits[index] }

    // MARK: Vertices

    /// What a vertex stands for: an index into the state, or into the batch.
    enum Vertex { case oldSection(Int), oldItem(Int), newSection(Int), newItem(Int), madeSection(Int) }

    func vertex(_ vertex: Vertex) -> Int {
        switch vertex {
        case .oldSection(let section): 1 + section
        case .oldItem(let item): 1 + old.sections.count + item
        case .newSection(let section): firstNew + section
        case .newItem(let node): firstNew + batch.sections.count + node
        case .madeSection(let section): firstMade + section
        }
    }

    func vertex(numbered number: Int) -> Vertex {
        if number >= firstMade { return .madeSection(number - firstMade) }
        if number >= firstNew + batch.sections.count { return .newItem(number - firstNew - batch.sections.count) }
        if number >= firstNew { return .newSection(number - firstNew) }
        return number > old.sections.count ? .oldItem(number - 1 - old.sections.count) : .oldSection(number - 1)
    }

    var firstNew: Int { 1 + old.sections.count + old.nodes.count }

    /// The first vertex of neither: sections that groups make.
    fileprivate var firstMade: Int { firstNew + batch.firsts.count }

    /// A section or an item as the state or the batch has it; the texts of those from `firstNew` on are in the batch.
    func record(of vertex: Int) -> (node: Node, payload: Payload) {
        switch self.vertex(numbered: vertex) {
        case .oldSection(let section): old.sections[section].asItem
        case .oldItem(let item): (old.nodes[item], old.payload(ofItem: item))
        case .newSection(let section): batch.sections[section].asItem
        case .newItem(let node): (batch.nodes[node], batch.payloads[node])
        case .madeSection: (Node(), Payload())
        }
    }

    /// The last edit that put a vertex, or one of its ancestors, where it is.
    func editPutting(_ vertex: Int) -> Int { tree.lineage(of: vertex).compactMap { putBy[$0] }.max() ?? 0 }

    // MARK: Ids

    func text(_ id: EditID) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(id.start), count: Int(id.count))
    }

    func shown(_ id: EditID) -> String { Violations.shown(text(id)) }

    /// The vertex that has an id now. O(levels).
    func find(_ subject: Edit.Subject, _ id: EditID) -> Int? { find(subject, text(id), id.hash) }

    func find(_ subject: Edit.Subject, _ id: UnsafeRawBufferPointer, _ hash: UInt32) -> Int? {
        let (new, old) = vertices(subject, id, hash)
        return ifThere(new) ?? ifThere(old) ?? givenIDs.vertex(subject, id).flatMap(ifThere)
    }

    /// The vertices of the batch and of the state that have or had an id; -1 for none.
    func vertices(_ subject: Edit.Subject, _ id: UnsafeRawBufferPointer, _ hash: UInt32) -> (new: Int, old: Int) {
        let (new, known): (Int?, Int?)
        switch subject {
        case .items:
            new = batch.nodeTable.first(hash) { isText(id, hash, of: batch.nodes[$0]) }
                .map { batch.sections.count + $0 }
            known = old.item(withID: id, hash: hash).map { vertex(.oldItem($0)) }
        case .sections:
            new = batch.sectionTable.first(hash) { isText(id, hash, of: batch.sections[$0]) }
            known = old.section(withID: id, hash: hash).map { vertex(.oldSection($0)) }
        }
        return (new.map { Int(current[$0]) } ?? -1, known ?? -1)
    }

    private func ifThere(_ vertex: Int) -> Int? { vertex >= 0 && tree.contains(vertex) ? vertex : nil }

    func inserts(_ id: EditID) -> Bool {
        edit.subject == .sections
            ? batch.sections[edit.operands].contains { isText(text(id), id.hash, of: $0) }
            : batch.nodes[edit.operands].contains { isText(text(id), id.hash, of: $0) }
    }

    @inline(__always)
    func isText(_ id: UnsafeRawBufferPointer, _ hash: UInt32, of record: some IdentifiedRecord) -> Bool {
        hash == record.hash && id.count == record.idCount
            && sameBytes(id.baseAddress!, bytes + Int(record.idStart), id.count)
    }

    // MARK: Changes

    /// Makes a vertex of the batch the one with its id.
    mutating func enter(_ vertex: Int) {
        current[Int(batch.firsts[vertex - firstNew])] = Int32(truncatingIfNeeded: vertex)
    }

    mutating func put(_ vertex: Int, in gap: Gap) {
        tree.insert(vertex, below: gap.parent, before: gap.next)
        if gap.parent != EditedTree.root { filledSinceEmptied?.append(gap.parent) }
        putBy[vertex] = index
    }

    mutating func change(_ vertex: Int, _ body: (inout Override) -> Void) {
        tree.touch(vertex)
        body(&overrides[vertex, default: Override()])
    }

    /// The marks of whatever is still there.
    func finalMarks() -> Marks {
        var result = Marks.none
        for mark in marks {
            guard let vertex = find(mark.subject, mark.id),
                mark.subject == .items || !tree.isTouched || !ungroups(vertex)
            else { continue }
            let id = Array(text(mark.id))
            if mark.subject == .items {
                result.mark(item: id, mark.redraw)
            } else {
                result.mark(section: id, mark.redraw)
            }
        }
        return result
    }
}

// MARK: - Applying an edit
//
// Its operands and their destination are looked up first; only then is anything changed. All that is wrong is reported:
// after an edit that does not fit, the others go on with as much of it as could be done, and nothing is reported of
// what that leaves in doubt.

extension EditedState {
    /// Applies all edits; returns what is wrong with them. If anything is, the state must not be used any more.
    mutating func applyAll() -> Violations {
        var violations = Violations(limit: limits.maxViolations)
        for index in batch.edits.indices {
            self.index = index
            if !edit.isUnclear || edit.subject != nil { apply(&violations) }
            if edit.isUnclear { doubtAll() }
        }
        return violations
    }

    private mutating func apply(_ violations: inout Violations) {
        switch edit.operation {
        case .insert: insert(&violations)
        case .move: move(&violations)
        case .delete:
            // An id that does not exist is no violation: it is deleted already.
            let vertices = edit.subject.map { subject in batch.ids[edit.operands].compactMap { find(subject, $0) } }
            for vertex in vertices ?? [] where tree.contains(vertex) { tree.detach(vertex) }
        case .clear: clear(&violations)
        case .update: update(&violations)
        case .expand: expand(true, &violations)
        case .collapse: expand(false, &violations)
        case .reload: mark(.reload, &violations)
        case .reconfigure: mark(.reconfigure, &violations)
        }
    }

    // MARK: Operations

    private mutating func insert(_ violations: inout Violations) {
        // Rows may go to the sections of their groups.
        if goesByGroup { return enter(nodes: edit.operands, nil, &violations) }
        // Without a target they go anywhere, so that duplicates are found all the same.
        let target = target(moved: [], &violations)
        let gap = target.map(gap) ?? Gap(parent: EditedTree.root)
        if let target, !areElementsRead(below: target.parent, &violations) { return doubts.isOfAll = true }
        defer { if target == nil { doubtInserted() } }
        if edit.subject == .sections {
            for section in edit.operands { enter(section: section, gap, &violations) }
        } else {
            enter(nodes: edit.operands, gap, &violations)
        }
    }

    private mutating func enter(section: Int, _ gap: Gap, _ violations: inout Violations) {
        let (record, new) = (batch.sections[section], vertex(.newSection(section)))
        if record.idCount == 0 { return }
        let existing = find(.sections, EditID(record))
        if let existing {
            noteDuplicate(new, existing, &violations)
        } else {
            enter(new)
            put(new, in: gap)
            followInsertion(of: new, &violations)
        }
        enter(nodes: Int(record.firstItem)..<Int(record.endItem), Gap(parent: existing ?? new), &violations)
    }

    /// Puts in whole subtrees of the batch; without a gap, each to the end of its group's section.
    private mutating func enter(nodes: Range<Int>, _ gap: Gap?, _ violations: inout Violations) {
        // What has the id of a node already, and takes its children.
        var existing: [Int: Int] = [:]
        // Elements may have no ids; what else has none was refused.
        let hasIDs = !edit.isOfElements || elementReader?.matchesElements != true
        for node in nodes where batch.nodes[node].idCount > 0 || !hasIDs {
            let (record, new) = (batch.nodes[node], vertex(.newItem(node)))
            let parent = Int(record.parent)
            let target =
                parent < 0 ? gap ?? groupGap(of: new) : Gap(parent: existing[parent] ?? vertex(.newItem(parent)))
            let given = givenID(of: new, in: target, &violations)
            if let found = given.map({ find(.items, $0) }) ?? find(.items, EditID(record)) {
                noteDuplicate(new, found, &violations)
                existing[node] = found
                continue
            }
            if let given { givenIDs.give(given, to: new, .items) } else { enter(new) }
            put(new, in: target)
            followInsertion(of: new, &violations)
        }
    }

    private mutating func move(_ violations: inout Violations) {
        var moved: Set<Int> = []
        var operands = operands(&violations)
        operands.removeAll { id, vertex in
            if moved.insert(vertex).inserted { return false }
            note("duplicate-id", "is moved twice by one edit", id, &violations)
            return true
        }
        guard let target = target(moved: moved, &violations) else { return doubts.note(operands.map(\.id)) }
        let lineage = tree.lineage(of: target.parent)
        let cycles = operands.filter { lineage.contains($0.vertex) }
        guard cycles.isEmpty else {
            for (id, _) in cycles { note("cycle", "cannot be moved into itself", id, &violations) }
            return doubts.note(operands.map(\.id))
        }
        for (_, vertex) in operands { tree.detach(vertex) }
        let gap = gap(target)
        for (id, vertex) in operands {
            put(vertex, in: gap)
            sayGroup(of: vertex, at: batch.place(of: id), &violations)
        }
    }

    /// Removes what is below the operands, or below all sections: O(sections) the first time, then O(put since).
    private mutating func clear(_ violations: inout Violations) {
        if edit.subject != nil { return tree.clear(operands(&violations).map(\.vertex)) }
        tree.clear(filledSinceEmptied ?? tree.children(of: EditedTree.root))
        filledSinceEmptied = []
    }

    private mutating func update(_ violations: inout Violations) {
        guard let subject = edit.subject else { return }
        for update in batch.updates[edit.operands] {
            guard let vertex = find(subject, update.id) else {
                noteUnknown(subject, update.id, &violations)
                continue
            }
            let before = reads(vertex) ? readFields(of: vertex) : nil
            change(vertex) {
                if let content = update.content { ($0.content, $0.made) = (content, nil) }
                if let kind = update.kindStart { $0.kind = .inBatch(kind) }
                if let isExpanded = update.isExpanded { $0.isCollapsed = !isExpanded }
            }
            if update.hasIntents { carryOut(update, on: vertex, &violations) }
            if let before { follow(update, on: vertex, from: before, &violations) }
        }
    }

    private mutating func expand(_ isExpanded: Bool, _ violations: inout Violations) {
        for (id, vertex) in operands(&violations) {
            change(vertex) { $0.isCollapsed = !isExpanded }
            guard reads(vertex) else { continue }
            let before = readFields(of: vertex)
            follow(Said(isExpanded: isExpanded), on: vertex, from: before, at: batch.place(of: id), &violations)
        }
    }

    private mutating func mark(_ redraw: Marks.Redraw, _ violations: inout Violations) {
        for (id, _) in operands(&violations) { marks.append((edit.subject!, id, redraw)) }
    }

    /// The vertices that the edit's ids name; an id that does not exist is a violation.
    private func operands(_ violations: inout Violations) -> [(id: EditID, vertex: Int)] {
        guard let subject = edit.subject else { return [] }
        var vertices: [(id: EditID, vertex: Int)] = []
        for id in batch.ids[edit.operands] {
            if let vertex = find(subject, id) {
                vertices.append((id, vertex))
            } else {
                noteUnknown(subject, id, &violations)
            }
        }
        return vertices
    }

    private func note(_ code: String, _ detail: String, _ id: EditID, _ violations: inout Violations) {
        violations.note(code, "\"\(shown(id))\" \(detail)", at: batch.place(of: id))
    }

    private func noteUnknown(_ subject: Edit.Subject, _ id: EditID, _ violations: inout Violations) {
        if isDoubtful(id, subject) { return }
        violations.note(
            "unknown-id", "none of the \(subject.rawValue) has the id \"\(shown(id))\"", at: batch.place(of: id))
    }

    /// Notes an id that exists already and, if the batch itself inserted it, where.
    private mutating func noteDuplicate(_ new: Int, _ existing: Int, _ violations: inout Violations) {
        guard !violations.isFull, !isDoubtful(existing) else { return }
        let isInserted = (firstNew..<firstMade).contains(existing)
        let detail = isInserted ? "is inserted more than once" : "already exists; move or update it"
        for vertex in (isInserted ? [existing] : []) + [new] where reported.insert(vertex).inserted {
            let what = vertex < firstNew + batch.sections.count ? "section" : "item"
            let id = EditID(record(of: vertex).node)
            violations.note("duplicate-id", "the \(what) \"\(shown(id))\" \(detail)", at: batch.place(of: id))
        }
    }
}
