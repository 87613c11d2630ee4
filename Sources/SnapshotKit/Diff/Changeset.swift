// What changed between two states: pairs, what stays, what looks different. Computed once; a dialect only writes it.

/// The smallest change that leads from one state to another.
///
/// Deletions are the rows only in the old state, insertions the rows only in the new one. Moves are minimal: within
/// each kept section, and over the list of kept sections, the longest increasing subsequence stays; an item whose
/// section changed is always one move. Updates are the common rows that look different. `docs/diff.md` proves the
/// minimum.
///
/// ```swift
/// let old = try Snapshot(json: #"[{"id":"a","content":1},"b","c"]"#)
/// let new = try Snapshot(json: #"["c",{"id":"a","content":2},"d"]"#)
/// let change = Changeset(from: old, to: new)
/// let counts = change.counts  // 1 deletion, 1 insertion, 1 move, 1 update
/// let forTheBrowser = change.json(.keyed)
/// ```
public final class Changeset: Sendable {
    /// What becomes of a record of the new state.
    struct RowChange: OptionSet {
        let rawValue: UInt8
        /// In both states, and need not move.
        static let stays = RowChange(rawValue: 1)
        /// In both states, and looks different or is marked.
        static let updated = RowChange(rawValue: 2)
        /// To be redrawn with a new cell.
        static let reload = RowChange(rawValue: 4)
    }

    let old: Columns
    let new: Columns
    /// Places that are not compared: `json-patch` compares hidden items itself.
    let ignored: PlaceSet
    /// Whether the list's own content has changed.
    public let changesList: Bool
    private let draft: ChangesetDraft
    /// The number of operations of each kind.
    public var counts: OperationCounts { draft.sectionCounts + draft.itemCounts }
    var sectionCounts: OperationCounts { draft.sectionCounts }
    var itemCounts: OperationCounts { draft.itemCounts }

    /// Compares two states. O(n log n) in the worst case, O(n) if rows keep their order.
    ///
    /// - Parameters:
    ///   - marks: rows and sections to redraw though nothing changed.
    ///   - ignored: places inside items' contents that are not compared.
    ///   - reused: items already known to be the same in both; affects only speed.
    public init(
        from old: Snapshot, to new: Snapshot, marks: Marks = .none, ignoring ignored: [JSONPointer] = [],
        reused: ReusedRuns? = nil
    ) {
        (self.old, self.new) = (old.columns, new.columns)
        self.ignored = PlaceSet(ignored)
        let known = reused?.runs(from: old.columns, to: new.columns) ?? []
        changesList = self.old.withView { old in
            new.columns.withView { !sameValue(old.listContent, $0.listContent, ignoring: .none) }
        }
        draft = self.old.withView { [ignored = self.ignored] oldView in
            new.columns.withView { newView in
                let runs = known.isEmpty ? [ReusedRun](comparing: oldView, newView) : known
                return ChangesetDraft(oldView, newView, ignoring: ignored, marks, reused: runs)
            }
        }
    }

    /// Whether it was computed between these very states, not just equal ones.
    public func leads(from old: Snapshot, to new: Snapshot) -> Bool {
        self.old === old.columns && self.new === new.columns
    }

    /// Items that are the same in both states, as far as they were compared: hidden ones only if known before.
    public var reused: ReusedRuns { ReusedRuns(unchanged, from: old, to: new) }
    var unchanged: [ReusedRun] { draft.unchanged }

    /// Of all items, hidden ones included.
    var items: Pairing { draft.items }
    var sections: Pairing { draft.sections }
    /// Of rows: both visible. Shares memory with `items` where every item is a row.
    var oldRowOfNew: [Int32] { draft.oldRowOfNew }
    var newRowOfOld: [Int32] { draft.newRowOfOld }
    /// By new row, and by new section.
    var rowChanges: [RowChange] { draft.rowChanges }
    var sectionChanges: [RowChange] { draft.sectionChanges }

    /// Memory held besides the new state, in bytes.
    public var footprint: Int {
        old.footprint - old.text.footprint(sharedWith: new.text)
            + (items.oldOfNew.capacity + items.newOfOld.capacity + oldRowOfNew.capacity + newRowOfOld.capacity) * 4
            + rowChanges.capacity
    }

    /// Whether nothing changed at all.
    public var isEmpty: Bool { counts.total == 0 && !changesList }
}

/// Numbers of operations, on items and sections together, as the dialect `indexed` lists them.
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

    static func + (one: OperationCounts, other: OperationCounts) -> OperationCounts {
        OperationCounts(
            deletions: one.deletions + other.deletions, insertions: one.insertions + other.insertions,
            moves: one.moves + other.moves, updates: one.updates + other.updates)
    }
}
