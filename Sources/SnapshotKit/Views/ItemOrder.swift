/// The order that items of a state have in a view.
struct ItemOrder {
    private let columns: ColumnsView
    private let orders: [StateView.Order]

    init(_ columns: ColumnsView, _ orders: [StateView.Order]) { (self.columns, self.orders) = (columns, orders) }

    /// Whether one item comes before another. O(1), or O(levels + bytes) if the view has orders.
    @inline(__always)
    func precedes(_ one: Int, _ other: Int) -> Bool { orders.isEmpty ? one < other : comesBefore(one, other) }

    /// The first position, in a range of ordered items of its section, whose item this one does not come after: where
    /// it is, or belongs. O(log n).
    func place(of item: Int, in items: [UInt32], _ range: Range<Int>) -> Int {
        let pivot = orders.first.map { ($0, OrderKey(columns.value(ofItem: item, at: $0.place)).bits) }
        let parent = columns.nodes[item].parent
        return range.border {
            let other = Int(items[$0])
            // Nearly always, the keys of two siblings tell which comes first.
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
        if nodes[one].section != nodes[other].section { return one < other }
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

    /// Below, at or above zero as the orders put one sibling before, with or after another, which may be of another
    /// state.
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

    /// Whether an item and one of another state are equal in all orders.
    func areEqual(_ one: Int, _ other: Int, in others: ColumnsView) -> Bool {
        compare(one, columns, other, others) == 0
    }
}
