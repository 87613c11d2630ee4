import SnapshotKit

/// The order that items of a state have in a view.
struct ItemOrder {
    private let columns: ColumnsView
    private let orders: [StateView.Order]
    /// Whether the items of all sections are one list.
    private let isOneList: Bool

    init(_ columns: ColumnsView, _ parts: StateView.Parts) {
        (self.columns, orders, isOneList) = (columns, parts.orders, parts.group != nil)
    }

    /// Whether one item comes before another. O(1), or O(levels + bytes) if the view has orders.
    @inline(__always)
    func precedes(_ one: Int, _ other: Int) -> Bool { orders.isEmpty ? one < other : comesBefore(one, other) }

    /// Where an item is, or belongs, in a range of ordered items of its section. O(log n).
    func index(of item: Int, in items: [UInt32], _ range: Range<Int>) -> Int {
        let pivot = orders.first.map { ($0, OrderKey(columns.value(ofItem: item, at: $0.place)).bits) }
        let parent = columns.nodes[item].parent
        return range.partitionPoint {
            let other = Int(items[$0])
            // Nearly always, the keys of two siblings decide which comes first.
            if let (order, key) = pivot, columns.nodes[other].parent == parent,
                case let otherKey = OrderKey(columns.value(ofItem: other, at: order.place)).bits, otherKey != key
            {
                return (otherKey < key) != order.isDescending
            }
            return precedes(other, item)
        }
    }

    private func comesBefore(_ one: Int, _ other: Int) -> Bool {
        let nodes = columns.nodes
        if !isOneList, nodes[one].section != nodes[other].section { return one < other }
        // Climb to two siblings; an item comes before what is below it.
        var (left, right) = (one, other)
        while nodes[left].level > nodes[right].level { left = Int(nodes[left].parent) }
        while nodes[right].level > nodes[left].level { right = Int(nodes[right].parent) }
        if left == right { return nodes[one].level < nodes[other].level }
        while nodes[left].parent != nodes[right].parent {
            (left, right) = (Int(nodes[left].parent), Int(nodes[right].parent))
        }
        let order = compare(left, columns, right, columns)
        return order == 0 ? left < right : order < 0
    }

    /// Below, at or above zero as the orders put one sibling before, with or after another, perhaps of another state.
    private func compare(_ one: Int, _ columns: ColumnsView, _ other: Int, _ others: ColumnsView) -> Int {
        for order in orders {
            let (left, right) = (
                columns.value(ofItem: one, at: order.place), others.value(ofItem: other, at: order.place)
            )
            let sign = OrderedValue.compare(left, right)
            if sign != 0 { return order.isDescending ? -sign : sign }
        }
        return 0
    }

    func areEqual(_ one: Int, _ other: Int, in others: ColumnsView) -> Bool {
        compare(one, columns, other, others) == 0
    }
}

// MARK: - Sorting
//
// Items are sorted by 64-bit keys that are computed once. Those with the same key are sorted among themselves: by the
// next bytes of their strings, by the exact values of their numbers or, if they are equal, by the next order. So the
// common prefix of dates is not compared again and again. Equal items keep their order.

/// An item among its siblings.
struct Sibling {
    let item: UInt32
    let index: UInt32
}

/// Sorts siblings of one state.
struct SiblingSort {
    private struct Entry {
        var key: UInt64
        var value: OrderedValue
        let sibling: Sibling
    }

    /// Entries that are equal in all previous orders, and share their first `offset` bytes in this one.
    private struct Task {
        let range: Range<Int>
        let order: Int
        let offset: Int
    }

    private let view: ColumnsView
    private let orders: [StateView.Order]

    /// - Parameter orders: at least one.
    init(_ view: ColumnsView, by orders: [StateView.Order]) { (self.view, self.orders) = (view, orders) }

    /// Sorts siblings that are in the order of their state. O(n log n + bytes).
    func sort(_ siblings: inout [Sibling]) {
        guard siblings.count > 1 else { return }
        // Strings with escapes are resolved while they are compared.
        var resolved: [TextRoom] = []
        defer { withExtendedLifetime(resolved) {} }
        var entries = siblings.map { Entry(key: 0, value: .absent, sibling: $0) }
        var tasks = [Task(range: entries.indices, order: 0, offset: 0)]
        while let task = tasks.popLast() {
            if task.offset == 0 {
                for index in task.range {
                    let value = view.value(ofItem: Int(entries[index].sibling.item), at: orders[task.order].place)
                    if value.isEscaped { resolved.append(TextRoom()) }
                    entries[index].value = resolved.last.map(value.withoutEscapes) ?? value
                }
            }
            let turned: UInt64 = orders[task.order].isDescending ? .max : 0
            for index in task.range {
                entries[index].key = OrderKey(entries[index].value, from: task.offset).bits ^ turned
            }
            entries[task.range].sort { $0.key < $1.key || $0.key == $1.key && $0.sibling.item < $1.sibling.item }
            var start = task.range.lowerBound
            while start < task.range.upperBound {
                var end = start + 1
                while end < task.range.upperBound, entries[end].key == entries[start].key { end += 1 }
                if end - start > 1 {
                    let key = OrderKey(bits: entries[start].key ^ turned)
                    settle(start..<end, key, task, &entries, &tasks)
                }
                start = end
            }
        }
        for index in siblings.indices { siblings[index] = entries[index].sibling }
    }

    private func settle(
        _ range: Range<Int>, _ key: OrderKey, _ task: Task, _ entries: inout [Entry], _ tasks: inout [Task]
    ) {
        guard key.isPrefix else { return settle(equal: range, task.order, &tasks) }
        if key.isString {
            let first = entries[range.lowerBound].value.text
            var common = first.count
            for index in range.dropFirst() {
                let text = entries[index].value.text
                common = commonPrefix(first.baseAddress!, text.baseAddress!, min(common, text.count))
            }
            tasks.append(Task(range: range, order: task.order, offset: common))
            return
        }
        let sign = orders[task.order].isDescending ? -1 : 1
        entries[range].sort {
            let order = OrderedValue.compare($0.value, $1.value) * sign
            return order < 0 || order == 0 && $0.sibling.item < $1.sibling.item
        }
        var start = range.lowerBound
        for end in range.dropFirst() where OrderedValue.compare(entries[start].value, entries[end].value) != 0 {
            settle(equal: start..<end, task.order, &tasks)
            start = end
        }
        settle(equal: start..<range.upperBound, task.order, &tasks)
    }

    private func settle(equal range: Range<Int>, _ order: Int, _ tasks: inout [Task]) {
        if range.count > 1, order + 1 < orders.count { tasks.append(Task(range: range, order: order + 1, offset: 0)) }
    }
}
