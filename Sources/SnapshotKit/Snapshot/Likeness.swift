/// Which items a state took over, text and all, from the one that it was read upon; so that whoever compares the two need not look at them again.
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
