/// Which items a state took over, text and all, from the one that it was read upon; so that whoever compares the two
/// need not look at them again.
public final class Likeness: Sendable {
    /// Items in a row that show the same in both states: whole subtrees.
    struct Run {
        /// The first one, in either state.
        let old: Int
        let new: Int
        let count: Int
    }

    private let old: Columns
    private let new: Columns
    private let runs: [Run]

    init(_ runs: [Run], from old: Columns, to new: Columns) { (self.old, self.new, self.runs) = (old, new, runs) }

    /// The runs between two states, by their places in the new one; none if these are others.
    func runs(from old: Columns, to new: Columns) -> [Run] { self.old === old && self.new === new ? runs : [] }
}

/// Walks the runs of items that are alike, in ascending order of the new state.
struct AlikeItems {
    private let runs: [Likeness.Run]
    private var next = 0

    init(_ runs: [Likeness.Run]) { self.runs = runs }

    /// The end of the run that a new item is in, if it is in one.
    @inline(__always)
    mutating func end(of item: Int) -> Int? {
        while next < runs.count, runs[next].new + runs[next].count <= item { next += 1 }
        guard next < runs.count, runs[next].new <= item else { return nil }
        return runs[next].new + runs[next].count
    }

    /// The same, if the item is at `oldItem` in the old state.
    @inline(__always)
    mutating func end(of item: Int, at oldItem: Int) -> Int? {
        guard let end = end(of: item), runs[next].old - runs[next].new == oldItem - item else { return nil }
        return end
    }
}
