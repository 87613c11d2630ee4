import SnapshotKit

/// The position of a window among all rows, to lay out the missing ones.
public struct WindowBounds: Sendable, Equatable {
    /// The row that the window is around; nil if there are no rows. If the requested one is gone, the row in its place.
    public let anchor: ElementID?
    /// How many rows precede the window.
    public let above: Int
    /// How many rows follow it.
    public let below: Int

    /// Bounds; public for previews and tests.
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
