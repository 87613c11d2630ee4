/// A part of a state: the rows of a window, in their sections.
public struct WindowedState: Sendable {
    /// The rows, and the sections that they stand in, as a state: rows say their levels, parents and numbers of
    /// children as they are in the whole. Those without rows that stand between are there, too, and at either end where
    /// nothing is outside.
    ///
    /// It is there for its rows: changesets from one to another in any dialect but `json-patch`, `Snapshot.writeRows`
    /// and `sections`. As a document it would show less than there is.
    public let state: Snapshot
    /// The id of the anchor, which is one of the rows; nil where there is none.
    public let anchor: ElementID?
    /// Where the rows stand in the whole.
    public let place: WindowPlace
    /// Rows behind the last.
    public let below: Int

    /// Rows before the first.
    public var above: Int { place.above }

    /// Writes `{"anchor":id,"above":n,"below":m}`; without an anchor it is null.
    public func write(into writer: inout JSONWriter) {
        writer.append("{\"anchor\":")
        if let anchor { writer.append(id: anchor) } else { writer.append("null") }
        writer.emit(",\"above\":", above, ",\"below\":")
        writer.append(below)
        writer.append("}")
    }
}

/// What a reader showed before: what a window's anchor is looked for in once it is gone.
public struct WindowBase: Sendable {
    /// What it showed a part of; nil where that is forgotten.
    public let seen: ViewedState?
    /// Which part.
    public let place: WindowPlace

    /// A window that a reader shows.
    public init(_ seen: ViewedState?, at place: WindowPlace) { (self.seen, self.place) = (seen, place) }
}

extension Snapshot {
    /// The rows of a window, as `ViewedState.window(_:since:)` finds them in all of this state. O(rows + log n).
    public func window(_ window: StateWindow, since base: WindowBase? = nil) -> WindowedState {
        ViewedState(.all, of: self).window(window, since: base)
    }
}
