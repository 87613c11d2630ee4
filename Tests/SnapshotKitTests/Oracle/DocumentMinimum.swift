// The fewest operations of `json-patch`: units are sections and items with everything below them; a unit that stays
// with its parent need not move if it is on the longest increasing subsequence there; one whose parent changed moves
// once.

/// The least that a patch between two documents can do.
struct DocumentMinimum {
    let items: Counts
    let sections: Counts

    private struct Unit {
        var parent: Text
        var parentIsSection: Bool
        var index: Int
        var item: Model.Item
    }

    init(from old: Model, to new: Model) {
        let (oldUnits, newUnits) = (Self.units(old), Self.units(new))
        let common = newUnits.keys.filter { oldUnits[$0] != nil }
        var kept: [String: [(old: Int, new: Int)]] = [:]
        var updates = 0
        for id in common {
            guard let before = oldUnits[id], let after = newUnits[id] else { continue }
            if !before.item.isSameUnit(as: after.item) { updates += 1 }
            guard before.parent == after.parent, before.parentIsSection == after.parentIsSection else { continue }
            kept["\(after.parentIsSection) \(after.parent.bytes)", default: []].append((before.index, after.index))
        }
        let staying = kept.values.reduce(0) { $0 + Keeping.best(of: $1.sorted { $0.new < $1.new }).count }
        items = Counts(
            deletions: oldUnits.count - common.count, insertions: newUnits.count - common.count,
            moves: common.count - staying, updates: updates)
        sections = RowMinimum(from: old.rows, to: new.rows).sections
    }

    private static func units(_ model: Model) -> [Text: Unit] {
        var units: [Text: Unit] = [:]
        for section in model.sections { add(section.items, below: section.id, isSection: true, to: &units) }
        return units
    }

    private static func add(_ items: [Model.Item], below parent: Text, isSection: Bool, to units: inout [Text: Unit]) {
        for (index, item) in items.enumerated() {
            units[item.id] = Unit(parent: parent, parentIsSection: isSection, index: index, item: item)
            add(item.items, below: item.id, isSection: false, to: &units)
        }
    }
}

extension Model.Item {
    /// Whether everything except the children is the same.
    fileprivate func isSameUnit(as other: Model.Item) -> Bool {
        content == other.content && kind == other.kind && expanded == other.expanded
    }
}
