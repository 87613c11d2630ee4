import SnapshotKit

/// Where the rows of a window stand among all that it shows a part of, to lay out what is not there.
public struct WindowBounds: Sendable, Equatable {
    /// The row that the window is around; nil where there are no rows. If the one that was asked for is gone, this is
    /// the row that took its place.
    public let anchor: ElementID?
    /// Rows before the first.
    public let above: Int
    /// Rows behind the last.
    public let below: Int

    /// Bounds, for previews and tests.
    public init(anchor: ElementID?, above: Int, below: Int) {
        (self.anchor, self.above, self.below) = (anchor, above, below)
    }

    init(_ bounds: JSONSlice) throws(ApplyError) {
        guard let members = bounds.members, let anchor = members["anchor"], let above = members["above"]?.integer,
            let below = members["below"]?.integer
        else { throw bounds.wrong("a window has an anchor and how many rows are above and below") }
        let isNone = anchor.text.elementsEqual("null".utf8)
        self.init(anchor: isNone ? nil : try anchor.asID(), above: above, below: below)
    }
}
