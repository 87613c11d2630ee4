import SnapshotKit

// CONTRACT §10 on windows, on nested values.

/// A window as the tests carry it out.
struct NaiveWindow: Equatable {
    var rows: Rows
    var anchor: Text?
    var above: Int
    var below: Int
    /// Which of all rows is the anchor.
    var anchorRow: Int

    init(_ window: StateWindow, of model: Model, since base: (model: Model, anchorRow: Int)?) {
        let all = model.rows
        let ids = all.flatMap(\.rows).map(\.id)
        let row: Int
        switch window.anchor {
        case .start: row = 0
        case .end: row = max(0, ids.count - 1)
        case .row(let number): row = max(0, min(number, ids.count - 1))
        case .around(let id): row = Self.row(of: Text(id.text), model, ids, base)
        }
        let (start, end) = (max(0, row - window.before), min(ids.count, row + window.after + 1))
        (anchor, anchorRow, above, below) = (ids.isEmpty ? nil : ids[row], row, start, ids.count - end)
        rows = []
        var next = 0
        for section in all {
            var section = section
            let first = next
            next += section.rows.count
            section.rows = section.rows.enumerated().filter { (start..<end).contains(first + $0.offset) }.map(\.element)
            // A section with rows outside only is outside; one without any is inside between rows, and at an open end.
            let isEmpty = first == next
            let isBetween = (start == 0 || first > start) && (end == ids.count || first < end)
            if isEmpty ? isBetween : !section.rows.isEmpty { rows.append(section) }
        }
    }

    private static func row(
        of id: Text, _ model: Model, _ ids: [Text], _ base: (model: Model, anchorRow: Int)?
    ) -> Int {
        if let row = Self.row(of: id, model, ids) { return row }
        guard let base else { return 0 }
        let old = base.model.rows.flatMap(\.rows).map(\.id)
        let start = Self.row(of: id, base.model, old) ?? base.anchorRow
        for other in old.dropFirst(start) + old.prefix(start).reversed() {
            if let row = ids.firstIndex(of: other) { return row }
        }
        return max(0, min(base.anchorRow, ids.count - 1))
    }

    /// The row of an item or of its nearest visible ancestor.
    private static func row(of id: Text, _ model: Model, _ ids: [Text]) -> Int? {
        for section in model.sections {
            for item in section.items {
                for ancestor in item.lineage(of: id) {
                    if let row = ids.firstIndex(of: ancestor) { return row }
                }
            }
        }
        return nil
    }
}

extension Model.Item {
    /// An item below this one and its ancestors up to this one; none if it is not below.
    fileprivate func lineage(of other: Text) -> [Text] {
        if id == other { return [id] }
        for item in items {
            let lineage = item.lineage(of: other)
            if !lineage.isEmpty { return lineage + [id] }
        }
        return []
    }
}
