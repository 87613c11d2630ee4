// A state while it is edited.
//
// Sections and items, those that were there and those that the batch brings, are numbered once: vertices of one tree.
// So each operation is written once for both, a move costs the same however large the subtree, and a batch costs
// O(edits) to work on; only the columns of the state that comes out are copied, as memory.
//
// Ids are found in the tables that the state and the batch have already: a vertex counts only while it is in the tree.
// Of several nodes in a batch with one id, at most one is in the tree; `current` says which.
//
// Rejected: applying edits to the columns directly, which is O(n) an edit; laying the whole tree out, which is O(n)
// with a hundred times the factor of copying it.

/// A state being edited: both sources as memory, and the tree.
struct EditedState {
    let old: ColumnsView
    let batch: EditBatch
    /// The batch's bytes.
    let bytes: UnsafeRawPointer
    private(set) var tree: EditedTree
    /// Vertex of each of the batch's nodes and sections that was put into the tree last, by the first one with its id;
    /// -1 for none.
    private var currentNode: [Int32]
    private var currentSection: [Int32]
    /// What edits changed about vertices.
    private var overrides: [Int: Override] = [:]
    /// The edit that put a vertex where it is.
    private var placedBy: [Int: Int] = [:]
    private var marks: [(subject: Edit.Subject, id: EditID, redraw: Marks.Redraw)] = []
    /// Vertices that a violation was noted about, and where those of the batch stood in it: both for errors only.
    var told: Set<Int> = []
    var ordinals: SiblingOrdinals?
    /// Whether the state that comes out may differ.
    private(set) var isTouched = false

    /// What an edit says in place of what stood there; nil where nothing.
    struct Override {
        var content: Range<UInt32>?
        var kindStart: UInt32?
        var isCollapsed: Bool?
    }

    init(_ old: ColumnsView, _ batch: EditBatch, _ bytes: UnsafeRawPointer) {
        (self.old, self.batch, self.bytes) = (old, batch, bytes)
        tree = EditedTree(old, firstItem: 1 + old.sections.count + batch.sections.count)
        currentNode = [Int32](repeating: -1, count: batch.nodes.count)
        currentSection = [Int32](repeating: -1, count: batch.sections.count)
    }

    // MARK: Vertices

    /// What a vertex stands for: an index into the state, or into the batch.
    enum Vertex {
        case oldSection(Int), newSection(Int), oldItem(Int), newItem(Int)
    }

    func vertex(_ vertex: Vertex) -> Int {
        switch vertex {
        case .oldSection(let section): 1 + section
        case .newSection(let section): 1 + old.sections.count + section
        case .oldItem(let item): firstItem + item
        case .newItem(let node): firstItem + old.nodes.count + node
        }
    }

    func vertex(numbered number: Int) -> Vertex {
        if number >= firstItem + old.nodes.count { return .newItem(number - firstItem - old.nodes.count) }
        if number >= firstItem { return .oldItem(number - firstItem) }
        return number > old.sections.count ? .newSection(number - 1 - old.sections.count) : .oldSection(number - 1)
    }

    private var firstItem: Int { 1 + old.sections.count + batch.sections.count }

    func override(of vertex: Int) -> Override? { overrides[vertex] }

    /// The last edit that put a vertex, or one of its ancestors, where it is.
    func placingEdit(of vertex: Int) -> Int {
        var (edit, ancestor) = (0, vertex)
        while ancestor > 0 {
            edit = max(edit, placedBy[ancestor] ?? 0)
            ancestor = tree.parent(of: ancestor)
        }
        return edit
    }

    // MARK: Ids

    func text(_ id: EditID) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(id.start), count: Int(id.count))
    }

    func shown(_ id: EditID) -> String { Violations.shown(text(id)) }

    /// The vertex that has an id now. O(levels).
    func find(_ subject: Edit.Subject, _ id: EditID) -> Int? {
        switch subject {
        case .items:
            if let node = firstNode(id), let vertex = ifThere(Int(currentNode[node])) { return vertex }
            return old.item(withID: text(id), hash: id.hash).map { vertex(.oldItem($0)) }.flatMap(ifThere)
        case .sections:
            if let section = firstSection(id), let vertex = ifThere(Int(currentSection[section])) { return vertex }
            return old.section(withID: text(id), hash: id.hash).map { vertex(.oldSection($0)) }.flatMap(ifThere)
        }
    }

    private func ifThere(_ vertex: Int) -> Int? { vertex >= 0 && tree.contains(vertex) ? vertex : nil }

    /// The batch's first node with an id.
    private func firstNode(_ id: EditID) -> Int? {
        batch.nodeTable.first(id.hash) { isText(of: id, batch.nodes[$0]) }
    }

    private func firstSection(_ id: EditID) -> Int? {
        batch.sectionTable.first(id.hash) { isText(of: id, batch.sections[$0]) }
    }

    /// Whether an edit inserts a node, or a section, with the id.
    func brings(_ id: EditID, _ edit: Edit) -> Bool {
        switch edit.subject {
        case .sections: batch.sections[edit.operands].contains { isText(of: id, $0) }
        default: batch.nodes[edit.operands].contains { isText(of: id, $0) }
        }
    }

    @inline(__always)
    private func isText<Record: IdentifiedRecord>(of id: EditID, _ record: Record) -> Bool {
        id.hash == record.hash && id.count == record.idCount
            && sameBytes(bytes + Int(id.start), bytes + Int(record.idStart), Int(id.count))
    }

    // MARK: Changes

    /// Enters an item or a section of the batch, or says which vertex has its id already.
    mutating func enter(_ vertex: Vertex) -> Int? {
        switch vertex {
        case .newItem(let node):
            let record = batch.nodes[node]
            if let taken = find(.items, EditID(record)) {
                return taken
            }
            currentNode[Int(batch.firstNode[node])] = Int32(truncatingIfNeeded: self.vertex(vertex))
        case .newSection(let section):
            let record = batch.sections[section]
            if let taken = find(.sections, EditID(record)) {
                return taken
            }
            currentSection[Int(batch.firstSection[section])] = Int32(truncatingIfNeeded: self.vertex(vertex))
        case .oldItem, .oldSection: break
        }
        return nil
    }

    mutating func place(_ vertex: Int, in gap: Gap, by edit: Int) {
        tree.insert(vertex, below: gap.parent, before: gap.next)
        placedBy[vertex] = edit
        isTouched = true
    }

    /// Takes a vertex away, with all that is below it: for good, or to be put in elsewhere.
    mutating func detach(_ vertex: Int) {
        tree.detach(vertex)
        isTouched = true
    }

    /// Takes away all that is below a vertex.
    mutating func empty(_ vertex: Int) {
        tree.clear(vertex)
        isTouched = true
    }

    /// Changes what is said in place of what a vertex shows.
    mutating func change(_ vertex: Int, _ body: (inout Override) -> Void) {
        isTouched = true
        tree.touch(vertex)
        body(&overrides[vertex, default: Override()])
    }

    mutating func mark(_ subject: Edit.Subject, _ id: EditID, _ redraw: Marks.Redraw) {
        marks.append((subject, id, redraw))
    }

    /// The marks of what is still there.
    func finalMarks() -> Marks {
        var result = Marks.none
        for mark in marks where find(mark.subject, mark.id) != nil {
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
