/// The smallest change that leads from one state to another.
///
/// Deletions are the rows only in the old state, insertions those only in the new one. Moves are minimal: within each
/// kept section, and over the list of kept sections, the longest increasing subsequence stays; an item whose section
/// changed is one move. Updates are the common rows that look different. `docs/diff.md` has the proof.
///
/// ```swift
/// let old = try Snapshot(json: #"[{"id":"a","content":1},"b","c"]"#)
/// let new = try Snapshot(json: #"["c",{"id":"a","content":2},"d"]"#)
/// let change = Changeset(from: old, to: new)
/// let counts = change.counts  // 1 deletion, 1 insertion, 1 move, 1 update
/// let forTheBrowser = change.json(.keyed)  // bytes; as a String: change.text(.keyed)
/// ```
public final class Changeset: Sendable {
    /// What becomes of a row or a section of the new state.
    package struct RowChange: OptionSet {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// In both states, and need not move.
        static let stays = RowChange(rawValue: 1)
        /// In both states, and looks different or is marked.
        package static let updated = RowChange(rawValue: 2)
        /// To be redrawn with a new cell.
        static let reload = RowChange(rawValue: 4)
    }

    package let old: Columns
    package let new: Columns
    /// Places that are not compared: `json-patch` compares hidden items itself.
    let ignored: PointerSet
    /// Whether contents of items may be patched.
    let patchesItems: Bool
    /// Whether the list's own content has changed.
    public let changesList: Bool
    private let draft: ChangesetDraft
    /// The number of operations of each kind.
    public var counts: OperationCounts {
        let (sections, items) = (draft.sectionCounts, draft.itemCounts)
        return OperationCounts(
            deletions: sections.deletions + items.deletions, insertions: sections.insertions + items.insertions,
            moves: sections.moves + items.moves, updates: sections.updates + items.updates)
    }
    var sectionCounts: OperationCounts { draft.sectionCounts }
    var itemCounts: OperationCounts { draft.itemCounts }

    /// Compares two states. O(n log n) in the worst case, O(n) if rows keep their order.
    ///
    /// - Parameters:
    ///   - marks: rows and sections to redraw though nothing changed.
    ///   - ignored: places inside items' contents that are not compared.
    ///   - patchesItems: false if readers of the old state may have other contents beyond what is ignored: then those
    ///     of items are replaced as a whole.
    ///   - shared: items already known to be the same in both; affects only speed.
    public init(
        from old: Snapshot, to new: Snapshot, marks: Marks = .none, ignoring ignored: [JSONPointer] = [],
        patchesItems: Bool = true, shared: SharedRuns? = nil
    ) {
        (self.old, self.new, self.patchesItems) = (old.columns, new.columns, patchesItems)
        self.ignored = PointerSet(ignored)
        let known = shared.flatMap { $0.old === old.columns && $0.new === new.columns ? $0 : nil }
        var draft: ChangesetDraft?
        changesList = self.old.withViews(of: self.new) { [ignored = self.ignored] old, new in
            draft = ChangesetDraft(old, new, ignoring: ignored, marks, known ?? SharedRuns(comparing: old, new))
            return !sameValue(old.listContent, new.listContent, ignoring: .none)
        }
        self.draft = draft.take()!
    }

    /// Whether it was computed between these very states, not just equal ones.
    public func leads(from old: Snapshot, to new: Snapshot) -> Bool {
        self.old === old.columns && self.new === new.columns
    }

    /// The state that it leads from.
    public var oldState: Snapshot { Snapshot(old) }

    /// Items that are the same in both states, as far as they were compared: hidden ones only if known before.
    public var shared: SharedRuns { draft.shared }

    package var items: Pairing { draft.items }
    package var sections: Pairing { draft.sections }
    /// Of rows: both visible. Shares memory with `items` where every item is a row.
    var oldRowOfNew: [Int32] { draft.oldRowOfNew }
    var newRowOfOld: [Int32] { draft.newRowOfOld }
    var rowChanges: [RowChange] { draft.rowChanges }
    package var sectionChanges: [RowChange] { draft.sectionChanges }

    /// Memory held besides the new state, in bytes.
    public var footprint: Int {
        old.footprint - old.text.footprint(sharedWith: new.text)
            + (items.oldOfNew.capacity + items.newOfOld.capacity + oldRowOfNew.capacity + newRowOfOld.capacity) * 4
            + rowChanges.capacity
    }

    /// Whether a reader may lack, or still have, something in an item's new content: changes may be ignored.
    func mayBeUnknown(_ new: UnsafeRawBufferPointer) -> Bool { !patchesItems || ignored.mayLead(into: new) }

    /// Whether nothing changed at all.
    public var isEmpty: Bool { counts.total == 0 && !changesList }
}

/// Numbers of operations, as the dialect `indexed` lists them.
public struct OperationCounts: Sendable, Equatable {
    /// Rows and sections only in the old state.
    public var deletions = 0
    /// Rows and sections only in the new state.
    public var insertions = 0
    /// Common ones that move.
    public var moves = 0
    /// Common ones that look different.
    public var updates = 0

    /// Counts by kind; zero by default.
    public init(deletions: Int = 0, insertions: Int = 0, moves: Int = 0, updates: Int = 0) {
        (self.deletions, self.insertions, self.moves, self.updates) = (deletions, insertions, moves, updates)
    }

    /// All of them.
    public var total: Int { deletions + insertions + moves + updates }
}

extension Changeset {
    /// Whether more than half of the new rows have new ids but known content: ids generated each time a list is decoded
    /// turn every refresh into a replacement. Contents are compared without the ids that the shape takes out of them.
    /// O(1) if few rows are new, else O(bytes).
    public var showsIdentityChurn: Bool {
        guard counts.insertions * 2 > oldRowOfNew.count else { return false }
        guard oldRowOfNew.count(where: { $0 < 0 }) * 2 > oldRowOfNew.count else { return false }
        // An element that is nothing but its id is compared whole, and never known.
        let ids =
            new.settings.shape.mapping.map { $0.element.isMap ? [] : $0.element.idAt.filter { $0 != .root } } ?? []
        let ignored = PointerSet(ignored.pointers + ids)
        let gone = Set(old.withView { contentMarks(newRowOfOld, $0, ignored) })
        guard !gone.isEmpty else { return false }
        return new.withView { contentMarks(oldRowOfNew, $0, ignored) }.count(where: gone.contains) * 2
            > oldRowOfNew.count
    }

    /// Hashes of the contents of the rows without a partner in the other state, unless all of it is ignored.
    private func contentMarks(_ partners: [Int32], _ view: ColumnsView, _ ignored: PointerSet) -> [UInt64] {
        partners.indices.filter { partners[$0] < 0 }.map(view.item(ofRow:))
            .filter { view.nodes[$0].flags.contains(.hasContent) }.map { view.content(ofItem: $0) }
            .filter { ignored.leaveValue(of: $0) }
            .map { fingerprint(of: $0, by: .process, ignoring: ignored) }
    }
}
