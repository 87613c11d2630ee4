// Successive states are the same almost everywhere. What they share is recorded once, as runs of items, for all code
// that compares the two: ids in a run are neither hashed nor paired, contents are neither compared nor hashed again,
// and a delta between the states only refers to them.
//
// Reading with a known state finds runs as equal text (`KnownState`); making a state from another one
// (`ColumnsAssembly`) knows what it took over. For two states that were read independently, `init(comparing:_:)` finds
// the runs at equal indexes. A changeset adds what it has compared itself.

/// Consecutive items, hidden ones included, that are the same in two states, byte by byte, and need no update: they
/// also have the same parents and as many children.
package struct ReusedRun: Equatable {
    /// The index of the first one in either state.
    package var old: Int
    package var new: Int
    package var count: Int

    /// Whether the items have the same indexes in both states.
    @inline(__always)
    package var isInPlace: Bool { old == new }

    package init(old: Int, new: Int, count: Int) { (self.old, self.new, self.count) = (old, new, count) }
}

/// Which items of two states are the same, as far as known. A class, since it is passed through many hands.
public final class ReusedRuns: Sendable {
    let old: Columns
    let new: Columns
    /// In ascending order of the new state; disjoint in both.
    let runs: [ReusedRun]

    init(_ runs: [ReusedRun], from old: Columns, to new: Columns) { (self.runs, self.old, self.new) = (runs, old, new) }

    /// The same runs, from the new state to the old one. O(runs log runs).
    public var reversed: ReusedRuns { ReusedRuns(Array(runs.reversedDirection), from: new, to: old) }

    /// The runs between two states; none if those are not the two compared.
    package func runs(from old: Columns, to new: Columns) -> [ReusedRun] {
        self.old === old && self.new === new ? runs : []
    }
}

extension [ReusedRun] {
    /// The same runs, from the new state to the old one.
    var reversedDirection: some Sequence<ReusedRun> {
        sortedByOld.lazy.map { ReusedRun(old: $0.new, new: $0.old, count: $0.count) }
    }

    /// The runs in ascending order of the old state, as they are already unless items have moved.
    var sortedByOld: [ReusedRun] {
        zip(self, dropFirst()).allSatisfy { $0.old < $1.old } ? self : sorted { $0.old < $1.old }
    }

    /// Appends a run, joined to the last one if it continues that.
    @inline(__always)
    package mutating func append(joining run: ReusedRun) {
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
            guard run.isInPlace, run.new == start else { break }
            start += run.count
        }
        return start
    }

    /// How many trailing items both states share, given their numbers of items.
    func end(_ oldCount: Int, _ newCount: Int) -> Int {
        guard let last, last.old + last.count == oldCount, last.new + last.count == newCount else { return 0 }
        return last.count
    }

    /// The items that two states have at the same indexes with the same bytes, up to the first whose id or place
    /// differs. O(n).
    init(comparing old: ColumnsView, _ new: ColumnsView) {
        self = []
        // In windows, equal items may still have different numbers of children.
        guard old.hasAllChildren, new.hasAllChildren else { return }
        let limit = Swift.min(old.nodes.count, new.nodes.count)
        var item = 0
        while item < limit, Node.haveSamePlace(old.nodes.baseAddress! + item, new.nodes.baseAddress! + item),
            old.nodes[item].hasSameID(as: new.nodes[item], old.text, new.text)
        {
            if old.hasSameBytes(item, as: new, item) { append(joining: ReusedRun(old: item, new: item, count: 1)) }
            item += 1
        }
        guard item < old.nodes.count else { return }
        // The ancestors of what follows may have other children than before: leave out from the topmost one on.
        while old.nodes[item].parent >= 0 { item = Int(old.nodes[item].parent) }
        while let last, last.new + last.count > item {
            removeLast()
            if last.new < item { append(ReusedRun(old: last.old, new: last.new, count: item - last.new)) }
        }
    }
}

extension Sequence<ReusedRun> {
    /// Calls `body` with each item of a new state of `count` that is in no run.
    @inline(__always)
    package func forOthers(of count: Int, _ body: (Int) -> Void) {
        _ = allOthers(of: count) {
            body($0)
            return true
        }
    }

    /// Calls `body` with each such item until it returns false; whether it never does.
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

extension Node {
    /// Whether two nodes are the same apart from where the text of their ids is: all fields after the first, as words.
    @inline(__always)
    fileprivate static func haveSamePlace(_ one: UnsafePointer<Node>, _ other: UnsafePointer<Node>) -> Bool {
        let (left, right) = (UnsafeRawPointer(one) + 4, UnsafeRawPointer(other) + 4)
        return (load64(left) ^ load64(right)) | (load64(left + 8) ^ load64(right + 8))
            | (load32(left + 16) ^ load32(right + 16)) == 0
    }
}

extension ColumnsView {
    /// Whether an item is written like one of another state whose id has the same text: the same flags and level, and
    /// byte by byte the same id, content and kind.
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
