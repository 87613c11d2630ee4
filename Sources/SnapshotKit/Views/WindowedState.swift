/// A part of a state: the rows of a window, in their sections.
public struct WindowedState: Sendable {
    /// The rows, and their sections, as a state: rows have their levels, parents and numbers of children as in the
    /// whole. Empty sections between them are included, and at either end if nothing is outside.
    ///
    /// Use it for its rows: changesets from one to another in any dialect but `json-patch`, `Snapshot.writeRows` and
    /// `sections`. As a document it would show less than there is.
    public let state: Snapshot
    /// The id of the anchor, which is one of the rows; nil if there are none.
    public let anchor: ElementID?
    /// The rows' place in the whole.
    public let place: WindowPlace
    /// The number of rows after the last.
    public let below: Int

    /// The number of rows before the first.
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

/// What a reader showed before: tells where an anchor was that is gone.
public struct WindowBase: Sendable {
    /// What the window was a part of; nil if that is forgotten.
    public let seen: ViewedState?
    /// The window's place in it; nil if it showed all.
    public let place: WindowPlace?

    /// What a reader shows: a window, or all.
    public init(_ seen: ViewedState?, at place: WindowPlace?) { (self.seen, self.place) = (seen, place) }
}

extension Snapshot {
    /// The rows of a window, as `ViewedState.window(_:since:)` finds them in all of this state. O(rows + log n).
    public func window(_ window: StateWindow, since base: WindowBase? = nil) -> WindowedState {
        ViewedState(.all, of: self).window(window, since: base)
    }
}
