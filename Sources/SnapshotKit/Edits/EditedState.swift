// A state while it is edited.
//
// The sections and items of the state and of the batch are vertices of one tree, numbered once. So each operation is
// written once for both, a move costs the same however large the subtree, and a batch costs O(edits) to work on; only
// the columns of the resulting state are copied, as memory.
//
// Ids are found in the tables that the state and the batch have already: a vertex counts only while it is in the tree.
// Of several nodes in a batch with one id, at most one is in the tree; `current` says which.
//
// Rejected: applying edits to the columns directly, which is O(n) per edit; laying the whole tree out, which is O(n) at
// a hundred times the cost of copying it.

/// A state being edited: both sources as memory, and the tree.
struct EditedState {
    let old: ColumnsView
    let batch: EditBatch
    /// The batch's bytes.
    let bytes: UnsafeRawPointer
    private(set) var tree: EditedTree
    /// Of the batch's sections or nodes with one id, the vertex that was put into the tree last, by `EditBatch.firsts`;
    /// -1 for none.
    private var current: [Int32]
    /// What edits changed about vertices.
    private var overrides: [Int: Override] = [:]
    /// The edit that put a vertex where it is.
    private var placedBy: [Int: Int] = [:]
    /// Since all sections were emptied, the vertices below which something was put; nil if they were not.
    private var filledSinceEmptied: [Int]?
    /// The index of the edit that is being applied.
    var index = 0
    var marks: [(subject: Edit.Subject, id: EditID, redraw: Marks.Redraw)] = []
    /// Vertices that a violation was noted about, and the places of the batch's nodes: both for errors only.
    var told: Set<Int> = []
    var ordinals: SiblingOrdinals?
    /// Whether the resulting state may differ.
    private(set) var isTouched = false

    /// What edits replaced about a section or an item; nil for what they left.
    struct Override {
        var content: Range<UInt32>?
        var kindStart: UInt32?
        var isCollapsed: Bool?
    }

    init(_ old: ColumnsView, _ batch: EditBatch, _ bytes: UnsafeRawPointer) {
        (self.old, self.batch, self.bytes) = (old, batch, bytes)
        tree = EditedTree(old)
        current = [Int32](repeating: -1, count: batch.firsts.count)
    }

    var edit: Edit { batch.edits[index] }

    // MARK: Vertices

    /// What a vertex stands for: an index into the state, or into the batch.
    enum Vertex {
        case oldSection(Int), oldItem(Int), newSection(Int), newItem(Int)
    }

    func vertex(_ vertex: Vertex) -> Int {
        switch vertex {
        case .oldSection(let section): 1 + section
        case .oldItem(let item): 1 + old.sections.count + item
        case .newSection(let section): firstNew + section
        case .newItem(let node): firstNew + batch.sections.count + node
        }
    }

    func vertex(numbered number: Int) -> Vertex {
        if number >= firstNew + batch.sections.count { return .newItem(number - firstNew - batch.sections.count) }
        if number >= firstNew { return .newSection(number - firstNew) }
        return number > old.sections.count ? .oldItem(number - 1 - old.sections.count) : .oldSection(number - 1)
    }

    /// The first vertex of the batch.
    var firstNew: Int { 1 + old.sections.count + old.nodes.count }

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
            let new = batch.nodeTable.first(id.hash) { isText(of: id, batch.nodes[$0]) }
            return new.flatMap { ifThere(Int(current[batch.sections.count + $0])) }
                ?? old.item(withID: text(id), hash: id.hash).flatMap { ifThere(vertex(.oldItem($0))) }
        case .sections:
            let new = batch.sectionTable.first(id.hash) { isText(of: id, batch.sections[$0]) }
            return new.flatMap { ifThere(Int(current[$0])) }
                ?? old.section(withID: text(id), hash: id.hash).flatMap { ifThere(vertex(.oldSection($0))) }
        }
    }

    private func ifThere(_ vertex: Int) -> Int? { vertex >= 0 && tree.contains(vertex) ? vertex : nil }

    /// Whether the edit, which inserts, has an operand with the id.
    func inserts(_ id: EditID) -> Bool {
        edit.subject == .sections
            ? batch.sections[edit.operands].contains { isText(of: id, $0) }
            : batch.nodes[edit.operands].contains { isText(of: id, $0) }
    }

    @inline(__always)
    private func isText<Record: IdentifiedRecord>(of id: EditID, _ record: Record) -> Bool {
        id.hash == record.hash && id.count == record.idCount
            && sameBytes(bytes + Int(id.start), bytes + Int(record.idStart), Int(id.count))
    }

    // MARK: Changes

    /// Has a vertex of the batch be the one with its id.
    mutating func enter(_ vertex: Int) {
        current[Int(batch.firsts[vertex - firstNew])] = Int32(truncatingIfNeeded: vertex)
    }

    mutating func place(_ vertex: Int, in gap: Gap) {
        tree.insert(vertex, below: gap.parent, before: gap.next)
        if gap.parent != EditedTree.root { filledSinceEmptied?.append(gap.parent) }
        placedBy[vertex] = index
        isTouched = true
    }

    /// Takes a vertex out, with all that is below it: for good, or to be put in elsewhere.
    mutating func detach(_ vertex: Int) {
        tree.detach(vertex)
        isTouched = true
    }

    /// Takes all that is below some vertices out.
    mutating func empty(_ vertices: [Int]) {
        tree.clear(vertices)
        isTouched = true
    }

    /// Empties all sections. O(sections) the first time, and O(placed since) then.
    mutating func emptyAll() {
        var vertices = filledSinceEmptied ?? []
        if filledSinceEmptied == nil {
            var section = tree.first(in: EditedTree.root)
            while section >= 0 {
                vertices.append(section)
                section = tree.next(after: section)
            }
        }
        empty(vertices)
        filledSinceEmptied = []
    }

    /// Changes what a section or an item shows.
    mutating func change(_ vertex: Int, _ body: (inout Override) -> Void) {
        isTouched = true
        tree.touch(vertex)
        body(&overrides[vertex, default: Override()])
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
