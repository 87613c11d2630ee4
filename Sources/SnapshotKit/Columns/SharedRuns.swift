// Successive states are the same almost everywhere. What they share is found once, by the code that makes one from the
// other, for all code that compares the two: ids in a run are neither hashed nor paired, contents are neither compared
// nor hashed again, and a delta between the states only refers to them.
//
// Reading with a known state finds runs as equal text (`IncrementalParse`); making a state from another one
// (`PieceTable`) knows what it took over. Both look up the rest once in the old state's table of ids, which gives all
// pairs, the new table, and often the news that only contents changed. For two states read independently,
// `init(comparing:_:)` finds the runs at equal indexes.

/// What two states share, as far as known. A class, since it is passed on often.
public final class SharedRuns: Sendable {
    /// Consecutive items, hidden ones included, that have the same bytes, parents and number of children in two states.
    package struct Run: Equatable {
        /// The index of the first item in the old state, and in the new one.
        package var old: Int
        package var new: Int
        package var count: Int

        @inline(__always)
        package var keepsIndexes: Bool { old == new }

        package init(old: Int, new: Int, count: Int) { (self.old, self.new, self.count) = (old, new, count) }
    }

    let old: Columns
    let new: Columns
    /// In ascending order of the new state; disjoint in both, and none is empty.
    package let runs: [Run]
    /// The same runs in ascending order of the old state.
    let runsByOld: [Run]
    /// All items with the same ids; nil if they have not been looked for, or if `hasSameStructure`.
    let pairs: Pairing?
    /// Whether both states have the same ids of sections and items, in the same order and nesting, with the same
    /// members written in the same way: then only contents and kinds may differ.
    let hasSameStructure: Bool
    /// Texts that have grown, while all else of their item's content is the same; by item, if `hasSameStructure`.
    let grown: [Int: GrownText]

    /// O(runs), and O(runs log runs) if items have moved.
    init(
        _ runs: [Run], pairs: Pairing? = nil, hasSameStructure: Bool = false, grown: [Int: GrownText] = [:],
        from old: Columns, to new: Columns
    ) {
        assert(runs.allSatisfy { $0.count > 0 })
        (self.runs, runsByOld, self.pairs, self.hasSameStructure) = (runs, runs.sortedByOld, pairs, hasSameStructure)
        (self.old, self.new, self.grown) = (old, new, grown)
    }

    /// The same, from the new state to the old one. O(runs), and O(runs log runs) if items have moved.
    public var reversed: SharedRuns {
        let runs = Array(reversedRuns)
        return SharedRuns(runs, pairs: pairs?.reversed, hasSameStructure: hasSameStructure, from: new, to: old)
    }

    /// The runs of `reversed`.
    var reversedRuns: some Sequence<Run> { runsByOld.lazy.map { Run(old: $0.new, new: $0.old, count: $0.count) } }

    /// The items that two states have at the same indexes with the same bytes, up to the first whose id or position
    /// differs; all items if the states are the same one. O(n).
    convenience init(comparing old: ColumnsView, _ new: ColumnsView) {
        let isSame = old.columns === new.columns
        let all = new.nodes.isEmpty ? [] : [Run(old: 0, new: 0, count: new.nodes.count)]
        let runs = isSame ? all : Self.runs(comparing: old, new)
        self.init(runs, hasSameStructure: isSame, from: old.columns, to: new.columns)
    }

    private static func runs(comparing old: ColumnsView, _ new: ColumnsView) -> [Run] {
        var runs: [Run] = []
        // In windows, equal items may still have different numbers of children.
        guard old.hasAllChildren, new.hasAllChildren else { return [] }
        let limit = min(old.nodes.count, new.nodes.count)
        var item = 0
        while item < limit, Node.haveSameFields(old.nodes.baseAddress! + item, new.nodes.baseAddress! + item),
            old.nodes[item].hasSameID(as: new.nodes[item], old.text, new.text)
        {
            if old.hasSameBytes(item, as: new, item) { runs.append(joining: Run(old: item, new: item, count: 1)) }
            item += 1
        }
        guard item < old.nodes.count else { return runs }
        // The ancestors of what follows may have other children than before: leave out everything from the topmost on.
        while old.nodes[item].parent >= 0 { item = Int(old.nodes[item].parent) }
        while let last = runs.last, last.new + last.count > item {
            runs.removeLast()
            if last.new < item { runs.append(Run(old: last.old, new: last.new, count: item - last.new)) }
        }
        return runs
    }
}

extension [SharedRuns.Run] {
    /// The runs in ascending order of the old state, which they are in already unless items have moved.
    fileprivate var sortedByOld: [SharedRuns.Run] {
        zip(self, dropFirst()).allSatisfy { $0.old < $1.old } ? self : sorted { $0.old < $1.old }
    }

    /// Appends a run, joined to the last one if it continues it.
    @inline(__always)
    package mutating func append(joining run: SharedRuns.Run) {
        if let last, last.old + last.count == run.old, last.new + last.count == run.new {
            self[count - 1].count += run.count
        } else {
            append(run)
        }
    }

    /// How many leading items both states share.
    var start: Int {
        var start = 0
        for run in self {
            guard run.keepsIndexes, run.new == start else { break }
            start += run.count
        }
        return start
    }
}

extension Sequence<SharedRuns.Run> {
    /// Calls `body` with each item of a new state of `count` that is in no run.
    @inline(__always)
    package func forOthers(of count: Int, _ body: (Int) -> Void) {
        _ = allOthers(of: count) {
            body($0)
            return true
        }
    }

    /// Calls `body` with each such item until it returns false; returns whether it never does.
    @inline(__always)
    func allOthers(of count: Int, satisfy body: (Int) -> Bool) -> Bool {
        var item = 0
        for run in self {
            while item < run.new {
                guard body(item) else { return false }
                item += 1
            }
            item = run.new + run.count
        }
        while item < count {
            guard body(item) else { return false }
            item += 1
        }
        return true
    }
}

// MARK: - Pairs

extension ColumnsView {
    /// The items of a state made from this one, hashed, that have the same ids as items here; nil if most are new, or
    /// if two have the same id. Also its table of ids, unless a new one is cheaper, or needed to find which ids occur
    /// twice. O(n log n), where n counts the runs and the items in none of them, and O(items) as memory.
    ///
    /// - Parameter runs: items with the same ids, in ascending order of the new state.
    func pairs(
        with nodes: UnsafeBufferPointer<Node>, in text: TextView, runs: [SharedRuns.Run]
    ) -> (pairs: Pairing, table: IDTable?)? {
        guard runs.reduce(0, { $0 + $1.count }) * 2 > nodes.count, !columns.itemTable.isEmpty else { return nil }
        var (kept, insertions, next) = ([SharedRuns.Run](), [IndexRemap.Insertion](), 0)
        kept.reserveCapacity(runs.count)
        func lookUp(upTo end: Int) {
            for item in next..<end {
                let node = nodes[item]
                if let old = self.item(withID: text.bytes(ofID: node), hash: node.hash) {
                    kept.append(joining: SharedRuns.Run(old: old, new: item, count: 1))
                } else {
                    insertions.append(IndexRemap.Insertion(hash: node.hash, item: item))
                }
            }
        }
        for run in runs {
            lookUp(upTo: run.new)
            kept.append(joining: run)
            next = run.new + run.count
        }
        lookUp(upTo: nodes.count)
        let byOld = kept.sortedByOld
        guard byOld.areDisjoint else { return nil }
        return (
            Pairing(kept, self.nodes.count, nodes.count),
            columns.itemTable.remapped(byOld, insertions, to: nodes, in: text)
        )
    }

    /// Whether an item is written like one of another state whose id has the same text: the same flags and level, and
    /// the same bytes of id, content and kind.
    @inline(__always)
    func hasSameBytes(_ item: Int, as other: ColumnsView, _ otherItem: Int) -> Bool {
        let (one, two) = (nodes[item], other.nodes[otherItem])
        let flags = one.flags
        guard flags.subtracting(.isHidden) == two.flags.subtracting(.isHidden), one.level == two.level else {
            return false
        }
        if flags.isDisjoint(with: [.hasContent, .hasKind, .escapedID]) { return true }
        return content(ofItem: item).hasSameBytes(as: other.content(ofItem: otherItem))
            && (!flags.contains(.hasKind) || kind(ofItem: item).hasSameBytes(as: other.kind(ofItem: otherItem)))
            && (!flags.contains(.escapedID)
                || id(ofItem: item).token.hasSameBytes(as: other.id(ofItem: otherItem).token))
    }
}

extension Node {
    /// Whether two nodes are the same except for where the text of their ids is: all fields after the first, as words.
    @inline(__always)
    fileprivate static func haveSameFields(_ one: UnsafePointer<Node>, _ other: UnsafePointer<Node>) -> Bool {
        let (left, right) = (UnsafeRawPointer(one) + 4, UnsafeRawPointer(other) + 4)
        return (load64(left) ^ load64(right)) | (load64(left + 8) ^ load64(right + 8))
            | (load32(left + 16) ^ load32(right + 16)) == 0
    }
}
