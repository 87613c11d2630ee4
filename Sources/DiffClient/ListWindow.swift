// A window moves while its rows are followed: the stream or poll for the previous rows is abandoned, and the next one
// starts from the revision shown. A late answer needs no special rule: it is applied or asked for again like any other.

import Foundation
import SnapshotKit

/// The rows of a list that a client follows, counted over all sections. A scroll view may move it at any time.
///
/// ```swift
/// let window = ListWindow(StateWindow(.start, after: 100))
/// client.window = window
/// for try await update in client.updates { … }
/// // meanwhile
/// window.show(StateWindow(.around(row.id), before: 50, after: 100))
/// ```
public final class ListWindow: Sendable {
    let wanted: Watched<StateWindow>

    /// A window with its first rows.
    public init(_ rows: StateWindow) { wanted = Watched(rows) }

    /// The rows to follow.
    public var rows: StateWindow { wanted.value }

    /// Moves to other rows at once. Rows that stay are not sent again, and the list stays until the next update.
    public func show(_ rows: StateWindow) { wanted.change { $0 = rows } }
}

extension StateWindow {
    var query: ListClient.Query {
        let parameter: (String, String) =
            switch anchor {
            case .start: ("at", "start")
            case .end: ("at", "end")
            case .row(let row): ("at", "\(row)")
            case .around(let id): ("around", id.text)
            }
        return [parameter, ("before", "\(before)"), ("after", "\(after)")]
    }
}

// MARK: - Bounds

/// The position of a window among all rows, to lay out the missing ones.
public struct WindowBounds: Sendable, Equatable {
    /// The row that the window is around, or the row in place of one that is gone; nil if there are no rows.
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
        else { throw bounds.wrong("a window must have anchor, above and below") }
        self.init(anchor: anchor.isNull ? nil : try anchor.asID(), above: above, below: below)
    }
}
