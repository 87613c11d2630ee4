import SnapshotKit

/// A part of a state: the rows of a window, in their sections.
public struct WindowedState: Sendable {
    /// The rows, and their sections, as a state: rows have the levels, parents and numbers of children that they have
    /// in the whole. Empty sections between them are included, and at either end if nothing is outside.
    ///
    /// Use it for its rows: changesets in any dialect but `json-patch`, `Snapshot.writeRows` and `sections`. As a
    /// document it would show less than there is.
    public let state: Snapshot
    /// The id of the anchor, which is one of the rows; nil if there are none.
    public let anchor: ElementID?
    /// The rows' position in the whole.
    public let position: WindowPosition
    /// The number of rows after the last.
    public let below: Int

    /// The number of rows before the first.
    public var above: Int { position.above }

    /// Writes `{"anchor":id,"above":n,"below":m}`; without an anchor it is null.
    public func write(into writer: inout JSONWriter) {
        writer.append("{\"anchor\":")
        if let anchor { writer.append(id: anchor) } else { writer.append("null") }
        writer.emit(",\"above\":", above)
        writer.emit(",\"below\":", below, "}")
    }
}

/// What a reader showed before: tells where a missing anchor was.
public struct WindowBase: Sendable {
    /// What the window was a part of; nil if that has been forgotten.
    public let seen: ViewedState?
    /// The window's position in it; nil if it showed all.
    public let position: WindowPosition?

    /// What a reader shows: a window, or all.
    public init(_ seen: ViewedState?, at position: WindowPosition?) { (self.seen, self.position) = (seen, position) }
}

extension Snapshot {
    /// The rows of a window, as `ViewedState.window(_:since:)` finds them in all of this state. O(rows + log n).
    public func window(_ window: StateWindow, since base: @autoclosure () -> WindowBase? = nil) -> WindowedState {
        ViewedState(.all, of: self).window(window, since: base())
    }
}

// A window's rows, with those ancestors of the first that lie outside, so that all find their parents. Its cost is that
// of what it shows, however long the list is.

extension ViewedState {
    /// The rows of a window.
    ///
    /// The anchor of `.around` is its item's row, or its nearest visible ancestor's. If there is none, it is the next
    /// row after it in the base that still exists, else the nearest one before it, else the row at its old position,
    /// else the first.
    ///
    /// O(rows + log n), and with a view's orders the bytes of O(log n) contents; if the anchor is gone, as much for
    /// each row that is gone with it.
    ///
    /// - Parameter base: what the reader has shown so far. Its anchor is used if neither state has the window's.
    public func window(_ window: StateWindow, since base: @autoclosure () -> WindowBase? = nil) -> WindowedState {
        let count = rowCount
        guard count > 0 else { return windowed(0..<0, anchor: 0) }
        let anchor: Int =
            switch window.anchor {
            case .start: 0
            case .end: count - 1
            case .row(let row): min(row, count - 1)
            case .around(let id):
                source.columns.withView { columns in
                    Array(id.text.utf8).withUnsafeBytes {
                        row(ofAnchor: $0, in: columns) ?? row(inPlaceOf: $0, base(), columns)
                    }
                }
            }
        return windowed(max(0, anchor - window.before)..<min(count, anchor + window.after + 1), anchor: anchor)
    }

    /// The rows at a position recorded earlier; nil if there are fewer. O(rows + log n).
    public func window(at position: WindowPosition) -> WindowedState? {
        let count = rowCount
        guard position.above + position.rows <= count, position.rows > 0 || count == 0 else { return nil }
        return windowed(position.above..<position.above + position.rows, anchor: position.anchor)
    }

    private func windowed(_ rows: Range<Int>, anchor: Int) -> WindowedState {
        guard let position = WindowPosition(above: rows.lowerBound, rows: rows.count, anchor: anchor) else {
            preconditionFailure("the anchor is one of the rows")
        }
        return source.columns.withView { columns in
            WindowedState(
                state: Snapshot(self.columns(ofRows: rows, of: columns)),
                anchor: rows.isEmpty ? nil : ElementID(columns.id(ofItem: item(at: self.position(ofRow: anchor)))),
                position: position, below: rowCount - rows.upperBound)
        }
    }

    /// Whether an anchor stands at its own row or an ancestor's. O(depth); under a view's orders, what `window` costs.
    public func hasRow(forAnchor id: ElementID) -> Bool {
        source.columns.withView { columns in
            Array(id.text.utf8).withUnsafeBytes { row(ofAnchor: $0, in: columns) } != nil
        }
    }

    private func row(ofAnchor id: UnsafeRawBufferPointer, in columns: ColumnsView) -> Int? {
        guard var item = columns.item(withID: id), position(ofItem: item, in: columns) != nil else { return nil }
        while true {
            if let row = row(ofItem: item, in: columns) { return row }
            guard columns.nodes[item].parent >= 0 else { return nil }
            item = Int(columns.nodes[item].parent)
        }
    }

    /// The row that is the anchor now that the one with this id is gone.
    private func row(inPlaceOf id: UnsafeRawBufferPointer, _ base: WindowBase?, _ columns: ColumnsView) -> Int {
        guard let base else { return 0 }
        let survivor = base.seen.flatMap { seen in
            seen.source.columns.withView { others -> Int? in
                let count = seen.rowCount
                guard let old = seen.row(ofAnchor: id, in: others) ?? base.position?.anchor else { return nil }
                let start = min(old, count)
                let survivor = { (row: Int) -> Int? in
                    let other = others.id(ofItem: seen.item(at: seen.position(ofRow: row)))
                    return columns.item(withID: other.text).flatMap { self.row(ofItem: $0, in: columns) }
                }
                for row in start..<count { if let found = survivor(row) { return found } }
                for row in (0..<start).reversed() { if let found = survivor(row) { return found } }
                return nil
            }
        }
        return survivor ?? min(base.position?.anchor ?? 0, rowCount - 1)
    }

    private func columns(ofRows rows: Range<Int>, of source: ColumnsView) -> Columns {
        let positions = rows.map(position(ofRow:))
        var items = positions.map { UInt32(truncatingIfNeeded: item(at: $0)) }
        var contextAncestors = 0
        while let first = items.first, case let parent = source.nodes[Int(first)].parent, parent >= 0 {
            items.insert(UInt32(truncatingIfNeeded: parent), at: 0)
            contextAncestors += 1
        }
        var (next, start) = (0, 0)
        let sections = sections(around: rows, positions).map { index in
            let end = self.positions(ofSection: index).upperBound
            while next < positions.count, positions[next] < end { next += 1 }
            defer { start = next == 0 ? 0 : next + contextAncestors }
            return section(at: index).holding(start..<(next == 0 ? 0 : next + contextAncestors))
        }
        let children = positions.map { UInt32(truncatingIfNeeded: childCount(at: $0, source)) }
        return columns(
            of: items, in: sections, source, hasCollapsed: false, contextAncestors: contextAncestors,
            childCounts: contextAncestors > 0 || children.contains { $0 > 0 }
                ? [UInt32](repeating: 0, count: contextAncestors) + children : [])
    }

    /// From the section of the first row to that of the last, and the empty ones at an end without rows outside.
    private func sections(around rows: Range<Int>, _ positions: [Int]) -> Range<Int> {
        let first = rows.lowerBound == 0 ? 0 : section(ofPosition: positions[0])
        return first..<(rows.upperBound == rowCount ? sectionCount : section(ofPosition: positions.last!) + 1)
    }

    private func childCount(at position: Int, _ source: ColumnsView) -> Int {
        if picked == nil, arrangement == nil { return source.childCount(ofItem: position) }
        let level = source.nodes[item(at: position)].level
        var (count, next) = (0, position + 1)
        // The last item of a section is followed by a top-level one.
        while next < shownCount, case let below = source.nodes[item(at: next)].level, below > level {
            if below == level + 1 { count += 1 }
            next += 1
        }
        return count
    }
}
